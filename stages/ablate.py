"""Stage: the dev questions again, with one factor of the base run changed at a time: what each part is good for.

Checkpoint, originals, questions and the frozen thresholds, which are verified first, stay. This process answers and
holds labels: what it finds decides nothing, for every threshold is frozen by then.
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from stages import artifacts, files, results
from stages.answering.answer import Answerer
from stages.assemble import derived_threshold, every, read_answerer, uses_encoder
from stages.calibration.gate import Gate
from stages.errors import BadInputError
from stages.measures.ablation import Ablated, Compared, compare, decide
from stages.measures.evaluate import Judged, judge_all
from stages.measures.relevance import Indexed
from stages.originals import read_index
from stages.params import (
    SWITCHES,
    Ablation,
    CalibrateParams,
    SwitchParams,
    load_ablations,
    load_systems,
    of_params,
)
from stages.rebuild import remembering
from stages.records import Caption, Label, Question
from stages.stage.progress import progress
from stages.stage.run import run_stage
from stages.variant import switches, varied

PATHS = (
    *("corpus", "index", "lexical", "checkpoint", "vectors", "hnsw", "embedding", "captions"),
    *("dev_questions", "dev_labels", "records", "judged", "threshold", "results"),
)
ALL_ON = SwitchParams(**SWITCHES)


@dataclass(frozen=True)
class Dev:
    """The training captions, the development set, and how the base run did on it: judged questions by system."""

    captions: Sequence[Caption]
    questions: Sequence[Question]
    labels: Sequence[Label]
    judged: Mapping[str, Sequence[Judged]]


def ask(dev: Dev, answerer: Answerer, system: str) -> list[Judged]:
    """Ask all questions of one system and judge the records; no quote is compared here."""
    records = [answerer.answer(question, system) for question in dev.questions]
    return judge_all(
        records, dev.labels, Indexed(answerer.library.entries), dict.fromkeys([one.id for one in records], False)
    )


def ablated(
    ablation: Ablation, paths: Namespace, base: Answerer, gates: Mapping[str, Gate], dev: Dev, weight: Fraction
) -> list[Compared]:
    """One ablation of every system beside the base run. Where it cannot be run, a note says why."""
    switched, judged, note = switches(ablation), dev.judged, None
    if switched.support and switched.gate:  # else the records stay
        try:
            answerer = varied(ablation, paths, dev.captions, base)
            judged = {system: ask(dev, answerer, system) for system in gates}
        except BadInputError as error:
            note, switched = str(error), ALL_ON
    about = ablation._asdict()
    del about["params"]
    return [
        compare(
            about,
            system,
            (dev.judged[system], decide(dev.judged[system], gate, ALL_ON)),
            (judged[system], decide(judged[system], gate, switched)),
            weight,
            note,
        )
        for system, gate in gates.items()
    ]


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write results.json."""
    systems, index = load_systems(params), read_index(paths.index)
    gates = every(systems, lambda system: Gate(derived_threshold(params, paths, system)))
    base = remembering(read_answerer(params, paths, index, systems))
    dev = Dev(
        files.read_captions(paths.captions) if uses_encoder(systems) else [],
        files.read_questions(paths.dev_questions),
        files.read_labels(paths.dev_labels),
        {system: results.read_judged(paths.judged, system) for system in systems},
    )
    for system, judged in dev.judged.items():
        records = artifacts.read_scored(paths.records, system).records
        results.refuse_others(paths.judged, system, judged, records)
    weight = of_params(CalibrateParams, "calibrate", params).weight
    listed = load_ablations(params)
    asked = progress(listed, len(listed), "ablations")
    found = [one for item in asked for one in ablated(item, paths, base, gates, dev, weight)]
    files.write_rows(paths.results, Ablated(tuple(found)))


if __name__ == "__main__":
    run_stage("ablate", __doc__, PATHS, main)
