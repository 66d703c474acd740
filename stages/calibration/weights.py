"""The frontier: the weights at which another threshold would be chosen than at the frozen one.

A choice holds on one interval of weights (`stages.calibration.hull`); where each kind has a threshold, all of them stay
where the intervals meet. Weights and crossings are exact.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from stages.calibration.bykind import Signalled, split_by_kind
from stages.calibration.hull import Optimum, hull
from stages.calibration.sweep import Row, choose


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


class _Around(NamedTuple):
    """What is chosen at the frozen weight, and its neighbours on the hull; at an end of the hull it is its own."""

    below: Row
    here: Optimum
    above: Row


def frontier(records: Sequence[Signalled], answerable: Sequence[bool], fp_weight: Fraction, by_kind: bool) -> Frontier:
    """Give the largest interval of weights around `fp_weight` in which every best row stays the same.

    Arguments as in `best_rows`; fp_weight above 0. Where each kind has a threshold, it ends where the first one moves.
    """
    parts = split_by_kind(records, answerable, by_kind)
    around = {kind: _around(hull(signals, known, fp_weight)) for kind, (signals, known) in parts.items()}
    return Frontier(_below(around), _above(around))


def _around(optima: Sequence[Optimum]) -> _Around:
    rows = [one.row for one in optima]
    at = rows.index(choose(rows))
    return _Around(rows[max(at - 1, 0)], optima[at], rows[min(at + 1, len(rows) - 1)])


def _below(around: dict[str, _Around]) -> End | None:
    weight, moves = max((one.here.low, not one.here.low_holds) for one in around.values())
    beyond = {kind: one.below if one.here.low == weight else one.here.row for kind, one in around.items()}
    return End(weight, not moves, beyond) if weight else None


def _above(around: dict[str, _Around]) -> End | None:
    ends = [(one.here.high, one.here.high_holds) for one in around.values() if one.here.high is not None]
    if not ends:
        return None
    weight, holds = min(ends)
    beyond = {kind: one.above if one.here.high == weight else one.here.row for kind, one in around.items()}
    return End(weight, holds, beyond)
