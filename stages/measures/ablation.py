"""What one changed factor changes: right answers by category, errors, rankings, and the questions that flipped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any, Literal

from stages.calibration.gate import Gate, settle
from stages.measures.evaluate import Judged, aggregate, outcome
from stages.measures.table import aligned
from stages.records import CATEGORIES, Category, Decision
from stages.variations import SwitchParams

State = Literal["right answer", "wrong answer", "right refusal", "wrong refusal"]


@dataclass(frozen=True, slots=True)
class Side:
    """One run's figures over all dev questions.

    right        right of each category, refusals among them.
    fp, fn       unanswerable questions answered, answerable ones refused: gate and support together.
    hit_at_1, hit_at_5  answerable questions with the first right entry that early, after the reranker.
    visible      evidence groups that reached the answerer.
    """

    right: dict[str, int]
    fp: int
    fn: int
    weighted_error: float
    hit_at_1: int
    hit_at_5: int
    visible: int


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that ended otherwise."""

    id: str
    category: Category
    before: State
    after: State


@dataclass(frozen=True, slots=True)
class Compared:
    """One ablation of one system beside the base run.

    factor     what alone is different, a section and a key; `base` and `value` are what it was and is.
    note       why it could not be run; then both sides are the base run's.
    questions  of each category; answerable: those that the corpus answers; groups: their evidence groups.
    """

    name: str
    factor: str
    base: bool | int | float | str
    value: bool | int | float | str
    system: str
    note: str | None
    questions: dict[str, int]
    answerable: int
    groups: int
    before: Side
    after: Side
    flips: tuple[Flip, ...]


@dataclass(frozen=True, slots=True)
class Ablated:
    """results.json of ablate, by name of the ablation, then by system."""

    compared: tuple[Compared, ...]


def ablation_findings(found: Ablated) -> Iterator[str]:
    """What is wrong with results.json by itself."""
    for one in found.compared:
        counts = (one.questions, one.before.right, one.after.right)
        if any(counted.keys() != set(CATEGORIES) for counted in counts):
            yield f"{one.name}, {one.system}: expected counts of {', '.join(CATEGORIES)}"


def ablation_table(compared: Iterable[Compared]) -> str:
    """A row for each ablation and system: right of all questions, errors of gate and support together, flips."""
    head = ["ablation", "system", "right", "false accepts", "false refusals", "flipped"]
    return aligned([head, *map(_row, compared)])


def _row(one: Compared) -> list[str]:
    before, after = one.before, one.after
    moved = ((sum(before.right.values()), sum(after.right.values())), (before.fp, after.fp), (before.fn, after.fn))
    told = [f"{was} -> {now}" for was, now in moved]
    return [one.name, one.system, *told, str(len(one.flips)) if one.note is None else f"not run: {one.note}"]


Run = tuple[Sequence[Judged], Sequence[Decision]]


def decide(judged: Iterable[Judged], gate: Gate, switches: SwitchParams) -> list[Decision]:
    """Decisions with a part switched off: without support the gate alone, without the gate support alone."""
    met = (one if switches.support else replace(one, support=True) for one in judged)
    return [gate.settle(one) if switches.gate else settle(one, -inf) for one in met]


def compare(
    about: Mapping[str, Any], system: str, base: Run, changed: Run, fp_weight: Fraction, note: str | None = None
) -> Compared:
    """Set one run of a system beside the base run, question by question; ValueError for unequal lengths.

    about: `name`, `factor`, `base` and `value` of the ablation.
    """
    figures, others = aggregate(*base, fp_weight), aggregate(*changed, fp_weight)
    return Compared(
        **about,
        system=system,
        note=note,
        questions={name: figures["answers"][name]["total"] for name in CATEGORIES},
        answerable=figures["retrieval"]["after_rerank"]["n"],
        groups=figures["context"]["recall_of"][1],
        before=_side(figures),
        after=_side(others),
        flips=tuple(_flips(base, changed)),
    )


def _side(figures: Mapping[str, Any]) -> Side:
    decision, ranking = figures["decision"], figures["retrieval"]["after_rerank"]
    return Side(
        right={name: figures["answers"][name]["correct"] for name in CATEGORIES},
        fp=decision["fp"],
        fn=decision["fn"],
        weighted_error=decision["weighted_error"],
        hit_at_1=ranking["hit_at_1_of"][0],
        hit_at_5=ranking["hit_at_5_of"][0],
        visible=figures["context"]["recall_of"][0],
    )


def _flips(base: Run, changed: Run) -> Iterable[Flip]:
    for row, was, new, now in zip(*base, *changed, strict=True):
        before, after = _state(row, was), _state(new, now)
        if before != after:
            yield Flip(row.id, row.category, before, after)


def _state(row: Judged, decision: Decision) -> State:
    found = outcome(row, decision)
    if found.refused:
        return "right refusal" if found.correct else "wrong refusal"
    return "right answer" if found.correct else "wrong answer"
