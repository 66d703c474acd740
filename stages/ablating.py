"""Questions asked with one factor of the base run changed. Thresholds are frozen; whoever asks holds the labels."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from stages.answering.answer import Answerer
from stages.calibration.gate import Gate
from stages.errors import BadInputError
from stages.measures.ablation import Compared, compare, decide
from stages.measures.evaluate import Judged, judge_all
from stages.measures.relevance import Indexed
from stages.records import Caption, Label, Question
from stages.variant import switches, varied
from stages.variations import SWITCHES, Ablation, SwitchParams

ALL_ON = SwitchParams(**SWITCHES)


@dataclass(frozen=True)
class Base:
    """The training captions, a set of questions with labels, and how the base run did on it: judged, by system."""

    captions: Sequence[Caption]
    questions: Sequence[Question]
    labels: Sequence[Label]
    judged: Mapping[str, Sequence[Judged]]


def judged_again(base: Base, answerer: Answerer, system: str) -> list[Judged]:
    """Ask all questions of one system and judge the records; no quote is compared here."""
    records = [answerer.answer(question, system) for question in base.questions]
    return judge_all(
        records, base.labels, Indexed(answerer.library.entries), dict.fromkeys([one.id for one in records], False)
    )


def ask_ablated(
    ablation: Ablation, paths: Namespace, answerer: Answerer, gates: Mapping[str, Gate], base: Base, weight: Fraction
) -> list[Compared]:
    """One ablation of every system beside the base run. Where it cannot be run, a note says why."""
    switched, judged, note = switches(ablation), base.judged, None
    if switched.support and switched.gate:  # else the records stay
        try:
            changed = varied(ablation, paths, base.captions, answerer)
            judged = {system: judged_again(base, changed, system) for system in gates}
        except BadInputError as error:
            note, switched = str(error), ALL_ON
    about = ablation._asdict()
    del about["params"]
    return [
        compare(
            about,
            system,
            (base.judged[system], decide(base.judged[system], gate, ALL_ON)),
            (judged[system], decide(judged[system], gate, switched)),
            weight,
            note,
        )
        for system, gate in gates.items()
    ]
