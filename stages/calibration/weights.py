"""The frontier: the weights at which another threshold would be chosen than at the frozen one.

The weighted error FN + w FP of a boundary is a line in the weight w. A choice therefore holds on one interval of
weights, whose ends are crossings with the lines of other boundaries. Weights and crossings are exact.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from stages.calibration.bykind import Signalled, split_by_kind
from stages.calibration.sweep import Row, choose, preference, sweep

BELOW, ABOVE = -1, 1


class End(NamedTuple):
    """One end of the interval: `holds` says whether the same is still chosen at `weight` itself.

    beyond: what is chosen right beyond it, keys as in `best_rows`.
    """

    weight: Fraction
    holds: bool
    beyond: dict[str, Row]


class Frontier(NamedTuple):
    """The ends of the interval; None where no weight above 0 moves a threshold on that side."""

    below: End | None
    above: End | None


def frontier(records: Sequence[Signalled], answerable: Sequence[bool], fp_weight: Fraction, by_kind: bool) -> Frontier:
    """Give the largest interval of weights around `fp_weight` in which every best row stays the same.

    Arguments as in `best_rows`; fp_weight above 0. Where each kind has a threshold, it ends where the first one moves.
    """
    parts = split_by_kind(records, answerable, by_kind)
    swept = {kind: sweep(signals, known, fp_weight) for kind, (signals, known) in parts.items()}
    return Frontier(_end(swept, BELOW), _end(swept, ABOVE))


def _end(swept: dict[str, list[Row]], side: int) -> End | None:
    crossings = [crossing for rows in swept.values() for crossing in _crossings(rows, side)]
    if not crossings:
        return None
    weight, holds = min(crossings, key=lambda crossing: (crossing[0] * side, crossing[1]))
    return End(weight, holds, {kind: _beyond(rows, weight, side) for kind, rows in swept.items()})


def _crossings(rows: Sequence[Row], side: int) -> Iterator[tuple[Fraction, bool]]:
    """Yield the weights on one side at which another row costs as much as the best, and whether that wins the tie.

    A row with fewer false accepts takes over above, one with more below; at weight 0, which is none, nothing does.
    """
    best = choose(rows)
    for row in rows:
        if (best.fp - row.fp) * side > 0 and row.fn != best.fn:
            yield Fraction(row.fn - best.fn, best.fp - row.fp), preference(best) > preference(row)


def _beyond(rows: Sequence[Row], weight: Fraction, side: int) -> Row:
    """Choose right beyond a weight: of lines that meet there the one with the least error on that side."""
    return max(rows, key=lambda row: (-row.fn - weight * row.fp, -side * row.fp, *preference(row)))
