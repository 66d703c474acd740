"""Fewer boundaries than there are distinct signals, without losing one that could be chosen."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stages.calibration.cells import Bools
from stages.calibration.hull import hull
from stages.calibration.sweep import Floats

MOST = 100_000
GRID = 10_000


class Boundaries(NamedTuple):
    """Thresholds to sweep, ascending, and how many distinct signals there are."""

    thresholds: Floats
    distinct: int


def boundaries(
    signals: Floats, answerable: Bools, chosen: float | None, most: int = MOST, grid: int = GRID
) -> Boundaries:
    """Every distinct signal, or, of more than `most`, about `grid` evenly by rank.

    To these come the `chosen` threshold, which some objective may put anywhere, and all that are chosen at some weight:
    the corners of the ROC's convex hull (`stages.calibration.hull`).
    """
    distinct = np.unique(signals)
    if len(distinct) <= most:
        return Boundaries(distinct, len(distinct))
    even = distinct[np.linspace(0, len(distinct) - 1, grid).astype(np.intp)]
    own = np.array([] if chosen is None else [chosen])
    return Boundaries(np.unique(np.concatenate([even, own, corners(signals, answerable)])), len(distinct))


def snapped(signals: Floats, thresholds: Floats) -> Floats:
    """Each signal as the highest threshold that it reaches: a sweep over them counts at these thresholds alone.

    thresholds  ascending, the lowest at most the lowest signal.
    """
    return thresholds[np.searchsorted(thresholds, signals, side="right") - 1]


def corners(signals: Floats, answerable: Bools) -> Floats:
    """The signals at the corners of the hull; none where "refuse all" is the only choice."""
    rows = (one.row for one in hull(signals, answerable, Fraction(1)))
    return np.array([row.threshold for row in rows if row.threshold is not None], dtype=np.float64)
