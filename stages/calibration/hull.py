"""Every threshold that is the choice at some weight above 0, each with the weights at which it is.

The weighted error FN + w FP of a boundary is a line in the weight w; the least over all boundaries is concave in w, and
its pieces are the vertices of the lower convex hull of the points (FP, FN): of the ROC curve's hull (Provost & Fawcett
2001, "Robust Classification for Imprecise Environments"). Counts, weights and crossings are exact.
"""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stages.calibration.sweep import (
    Answerable,
    Floats,
    Row,
    Scores,
    Signals,
    accepted_at,
    by_label,
    cells,
    preference,
    rows_at,
)

COLUMNS = (
    *("weight_from", "from_holds", "weight_to", "to_holds"),
    *("threshold", "refuse_all", "fp", "fn", "answer_f1"),
)
"""Of the CSV that holds the frontier, one row an `Optimum`; an empty `weight_to` is no end."""


class Optimum(NamedTuple):
    """A choice and its interval of weights; `low_holds` and `high_holds` say whether an end belongs to it.

    low   0 for the first, where it does not belong: a weight is above 0.
    high  None for the last, which is chosen at every greater weight.
    """

    row: Row
    low: Fraction
    low_holds: bool
    high: Fraction | None
    high_holds: bool


def hull(signals: Signals, answerable: Answerable, fp_weight: Fraction) -> list[Optimum]:
    """Give every row that `choose` takes at some weight, by rising weight: thresholds rise, FP falls, FN rises.

    The intervals are disjoint and cover all weights above 0. fp_weight is the weight of the rows' own weighted errors
    and moves nothing else; arguments and errors as in `sweep`. Where more than two lines meet, the tie rule takes the
    highest or the lowest threshold (see `optimal`), so that no boundary between two vertices is ever chosen.
    """
    scores = by_label(signals, answerable)
    thresholds = _candidates(scores)
    tp, fp = (accepted_at(part, thresholds).tolist() for part in (scores.positives, scores.negatives))
    rows = rows_at(scores, thresholds[_vertices([*tp, 0], [*fp, 0])[:-1]], fp_weight)
    # "Refuse all" closes the chain, but a threshold without a false accept is better at every weight.
    return _optima(rows[:-1] if len(rows) > 1 and rows[-2].fp == 0 else rows)


def frontier_cells(one: Optimum) -> tuple[object, ...]:
    """One line of the CSV, in the order of `COLUMNS`; written as in `cells`."""
    row = one.row
    return cells((*one[1:], row.threshold, row.refuse_all, row.fp, row.fn, row.answer_f1))


def _candidates(scores: Scores) -> Floats:
    """Give for each number of false accepts the lowest threshold, which has the fewest false refusals, ascending."""
    thresholds = np.unique(scores.positives)
    lowest = np.flatnonzero(np.diff(accepted_at(scores.negatives, thresholds), prepend=-1))
    return thresholds[lowest]


def _vertices(tp: list[int], fp: list[int]) -> list[int]:
    """Give the places at which the hull bends, by falling counts: Andrew's monotone chain. The last is among them."""
    kept: list[int] = []
    for new in range(len(tp)):
        while len(kept) > 1:
            first, last = kept[-2:]
            if (tp[first] - tp[last]) * (fp[last] - fp[new]) < (tp[last] - tp[new]) * (fp[first] - fp[last]):
                break
            kept.pop()
        kept.append(new)
    return kept


def _optima(rows: list[Row]) -> list[Optimum]:
    crossings = [_crossing(below, above) for below, above in pairwise(rows)]
    lows = [(Fraction(0), False), *crossings]
    highs = [*((weight, not wins) for weight, wins in crossings), (None, False)]
    return [Optimum(row, *low, *high) for row, low, high in zip(rows, lows, highs, strict=True)]


def _crossing(below: Row, above: Row) -> tuple[Fraction, bool]:
    """The weight at which both cost the same, and whether the one chosen above it wins there."""
    return Fraction(above.fn - below.fn, below.fp - above.fp), preference(above) > preference(below)
