"""Weights compared on the development set: what each would freeze, its figures, the decisions that change; as text."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from textwrap import fill
from typing import Any, NamedTuple

from stages.calibration.bykind import best_rows, single, thresholds
from stages.calibration.gate import Gate
from stages.calibration.threshold import Threshold, at_weight
from stages.calibration.weights import End, Frontier, frontier
from stages.measures.evaluate import Judged
from stages.measures.rate import number
from stages.measures.refusal import confusion, refusal_metrics
from stages.measures.table import aligned, cell, threshold_cell

HEAD = (
    *("weight", "dev threshold", "gate FP", "gate FN", "gate answer F1", "gate refusal F1"),
    *("decision FP", "decision FN", "decision error", "changed"),
)
COLUMNS = 120


class Compared(NamedTuple):
    """One weight: what it would freeze, and how that does on the development set.

    gate, decision     `refusal_metrics` of the threshold alone, and of threshold and support together.
    refused, answered  ids of questions that the frozen threshold answers and this one refuses, and the other way round.
    """

    threshold: Threshold
    gate: dict[str, Any]
    decision: dict[str, Any]
    refused: tuple[str, ...]
    answered: tuple[str, ...]


def compare(judged: Sequence[Judged], frozen: Threshold, weight: Fraction) -> Compared:
    """Choose again at another weight, over the records that `frozen` was chosen on."""
    known = [one.answerable for one in judged]
    threshold = at_weight(frozen, best_rows(judged, known, weight, frozen.by_kind is not None), weight)
    before, after = ([gate.settle(one) for one in judged] for gate in (Gate(frozen), Gate(threshold)))
    moved = [
        (now.status, one.id) for one, was, now in zip(judged, before, after, strict=True) if was.status != now.status
    ]
    return Compared(
        threshold=threshold,
        gate=refusal_metrics(confusion(known, [now.gate for now in after]), weight),
        decision=refusal_metrics(confusion(known, [now.status == "answered" for now in after]), weight),
        refused=tuple(name for status, name in moved if status == "refused"),
        answered=tuple(name for status, name in moved if status == "answered"),
    )


def weights_text(judged: Sequence[Judged], frozen: Threshold, weights: Iterable[Fraction]) -> str:
    """One row a weight, the frozen one among them and marked; the frontier; the decisions that change.

    By rising weight, whatever their order and number; `judged` are the records that `frozen` was chosen on. Where its
    objective is another, the weight decides nothing: one line says so.
    """
    if frozen.certificate:
        return _wrapped(f"{frozen.system}: the weight decides nothing under this rule: {frozen.rule}")
    at = Fraction(repr(frozen.fp_weight))
    known = [one.answerable for one in judged]
    compared = [compare(judged, frozen, weight) for weight in sorted({at, *weights})]
    stays = frontier(judged, known, at, frozen.by_kind is not None)
    table = aligned([HEAD, *(_row(one, one.threshold.fp_weight == frozen.fp_weight) for one in compared)])
    head = f"{frozen.system}, on {sum(known)} answerable and {len(known) - sum(known)} unanswerable dev questions"
    return "\n".join([f"{head} (* is frozen)", table, _wrapped(frontier_text(stays)), *_changes(compared)])


def frontier_text(stays: Frontier) -> str:
    """For which weights the frozen threshold stays, and what it moves to on each side."""
    below = _bound(stays.below, "{} <", "{} <=")
    above = _bound(stays.above, "< {}", "<= {}")
    if not below and not above:
        return "the frozen threshold stays at every weight"
    moves = [
        f"to {threshold_cell(single(end.beyond), thresholds(end.beyond))} {side}"
        for side, end in (("below", stays.below), ("above", stays.above))
        if end
    ]
    return f"the frozen threshold stays while {' '.join([*below, 'weight', *above])}; it first moves {', '.join(moves)}"


def _bound(end: End | None, without: str, included: str) -> list[str]:
    return [] if end is None else [(included if end.holds else without).format(_exact(end.weight))]


def _exact(weight: Fraction) -> str:
    """A weight in four decimals, as a fraction too where they are not all of it."""
    short = f"{float(weight):.4f}".rstrip("0").rstrip(".")
    return short if Fraction(short) == weight else f"{short} ({weight})"


def _row(one: Compared, frozen: bool) -> tuple[str, ...]:
    return (
        _weight(one) + "*" * frozen,
        threshold_cell(one.threshold.threshold, one.threshold.by_kind),
        *(str(one.gate[count]) for count in ("fp", "fn")),
        *(cell(one.gate[rate]) for rate in ("answer_f1", "refusal_f1")),
        *(str(one.decision[count]) for count in ("fp", "fn")),
        f"{one.decision['weighted_error']:g}",
        str(len(one.refused) + len(one.answered)),
    )


def _weight(one: Compared) -> str:
    return str(number(Fraction(repr(one.threshold.fp_weight))))


def _changes(compared: Iterable[Compared]) -> Iterator[str]:
    for one in compared:
        for change, names in (("answered -> refused", one.refused), ("refused -> answered", one.answered)):
            if names:
                yield _wrapped(f"weight {_weight(one)}, {change}: {' '.join(names)}")


def _wrapped(line: str) -> str:
    return fill(line, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
