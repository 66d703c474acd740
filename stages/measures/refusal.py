"""The confusion of answering with refusing, and its rates."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from stages.measures.rate import number, rate


class Confusion(NamedTuple):
    """Counts with "the system answers" as the positive class.

    tp  answerable and accepted      fn  answerable and refused
    fp  unanswerable and accepted    tn  unanswerable and refused
    """

    tp: int
    fp: int
    fn: int
    tn: int


def confusion(answerable: Sequence[bool], accepted: Sequence[bool]) -> Confusion:
    """Count decisions against truth, both (n,) in the same order; unequal lengths are a ValueError."""
    seen = Counter(zip(answerable, accepted, strict=True))
    return Confusion(tp=seen[True, True], fp=seen[False, True], fn=seen[True, False], tn=seen[False, False])


def cost(answerable: bool, accepted: bool, fp_weight: Fraction) -> Fraction:
    """What one decision adds to FN + fp_weight * FP; whether an answer is right adds nothing."""
    if accepted:
        return Fraction(0) if answerable else fp_weight
    return Fraction(int(answerable))


def refusal_metrics(counts: Confusion, fp_weight: Fraction) -> dict[str, Any]:
    """Give the counts, precision, recall and F1 of both sides (each with its `_of`), and FN + fp_weight * FP.

    F1 = 2PR / (P + R), written in counts: 2TP / (2TP + FP + FN) for answers, 2TN / (2TN + FN + FP) for refusals. It is
    0 where P or R has nothing to count but errors were made, and None where there is nothing to count at all.
    accepts_all and refuses_all flag a side that does not discriminate; both are False over no questions.
    """
    return {
        **counts._asdict(),
        **_side("answer", counts.tp, counts.fp, counts.fn),
        **_side("refusal", counts.tn, counts.fn, counts.fp),
        "weighted_error": number(counts.fn + fp_weight * counts.fp),
        "accepts_all": counts.tp + counts.fp == sum(counts) > 0,
        "refuses_all": counts.tn + counts.fn == sum(counts) > 0,
    }


def _side(name: str, right: int, wrong: int, missed: int) -> dict[str, Any]:
    return {
        **rate(f"{name}_precision", right, right + wrong),
        **rate(f"{name}_recall", right, right + missed),
        **rate(f"{name}_f1", 2 * right, 2 * right + wrong + missed),
    }
