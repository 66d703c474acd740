"""Whether two sets of signals come from one distribution: the two-sample Kolmogorov-Smirnov test, ties and all."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import comb, inf
from typing import Any, NamedTuple

import numpy as np

EXACT = 4 * 10**6
"""Steps that the exact distribution may take."""


class Gap(NamedTuple):
    """The distribution functions F of two samples at the ends of their ties; all in units of 1 / (n * m).

    ends   (k,) pooled values at or below each distinct value.
    widest the largest |F_first - F_second|; `rose`: there the first one's F is higher, so that the second's values are.
    """

    ends: list[int]
    widest: int
    rose: bool


def shift_test(first: Sequence[float | None], second: Sequence[float | None]) -> dict[str, Any] | None:
    """Give {n, statistic, p, direction}: whether signals moved from the first sample to the second; None without both.

    n          [how many in first, in second].
    statistic  the largest difference of their distribution functions (Smirnov 1939). None is below every signal.
    p          of a statistic this large, exact given the ties (Schröer & Trenkler 1995); above EXACT steps scipy's
               asymptotic one to six decimals, too large where signals tie.
    direction  "higher" or "lower": where the second sample's signals lie at the widest gap, None without a gap.
    """
    n, m = len(first), len(second)
    if not (n and m):
        return None
    gap = widest_gap(first, second)
    p = _exact(n, m, gap) if n * (n + m) <= EXACT else _asymptotic(first, second)
    moved = ("higher" if gap.rose else "lower") if gap.widest else None
    return {"n": [n, m], "statistic": gap.widest / (n * m), "p": p, "direction": moved}


def widest_gap(first: Sequence[float | None], second: Sequence[float | None]) -> Gap:
    """Compare both samples at each distinct value; of equally wide gaps the lowest counts."""
    ours, theirs = _sorted(first), _sorted(second)
    below = [(bisect_right(ours, value), bisect_right(theirs, value)) for value in sorted({*ours, *theirs})]
    gaps = [i * len(theirs) - j * len(ours) for i, j in below]
    widest = max(gaps, key=abs)
    return Gap([i + j for i, j in below], abs(widest), widest > 0)


def _sorted(signals: Sequence[float | None]) -> list[float]:
    return sorted(-inf if signal is None else signal for signal in signals)


def _exact(n: int, m: int, gap: Gap) -> float:
    """Count the orders of the pooled sample whose gap stays narrower: after t values, i of them the first one's."""
    i = np.arange(n + 1)
    ways = np.array([1] + [0] * n, dtype=object)
    for start, end in pairwise([0, *gap.ends]):
        for _ in range(start, end):
            ways[1:] = ways[1:] + ways[:-1]
        ways[np.abs(i * m - (end - i) * n) >= gap.widest] = 0
    orders = comb(n + m, n)
    return (orders - int(ways[n])) / orders


def _asymptotic(first: Sequence[float | None], second: Sequence[float | None]) -> float:
    from scipy.stats import ks_2samp

    return round(float(ks_2samp(_sorted(first), _sorted(second), method="asymp").pvalue), 6)
