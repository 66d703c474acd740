"""Whether two systems differ on the same questions: paired tests, on exact numbers.

A unit is what is exchanged or drawn whole: a question, or all questions of a group that stand or fall together.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, gcd, lcm
from typing import Any

import numpy as np

RESAMPLES = 10_000
SEED = 0
EXACT = 10**7
"""Steps that the exact distribution may take."""
TAIL = Fraction(25, 1000)


def randomisation_test(differences: Sequence[Fraction], units: Sequence[str]) -> float:
    """Give the two-sided p value of the sum of differences when each unit's sign is as likely as its opposite.

    differences, units  (n,) in the same order. The distribution is exact over all sign flips, by dynamic programming
    over integer sums (Zmigrod, Vieira & Cotterell 2022); where that would take too long, over RESAMPLES seeded flips
    and the observed one (Phipson & Smyth 2010). 1 where nothing differs.
    """
    sizes, observed = _sizes(differences, units)
    return _exact(sizes, observed) if len(sizes) * sum(sizes) <= EXACT else _sampled(sizes, observed)


def _sizes(differences: Sequence[Fraction], units: Sequence[str]) -> tuple[list[int], int]:
    """Absolute differences by unit, sorted, and their absolute sum, as whole multiples of one step."""
    sums = dict.fromkeys(units, Fraction(0))
    for unit, difference in zip(units, differences, strict=True):
        sums[unit] += difference
    scale = lcm(*(one.denominator for one in sums.values()))
    whole = [int(one * scale) for one in sums.values()]
    step = gcd(*whole) or 1
    return sorted(abs(one) // step for one in whole if one), abs(sum(whole)) // step


def _exact(sizes: Sequence[int], observed: int) -> float:
    """Count the sign flips by the sum of what stays positive: a sum of all is at most -observed in the lower tail."""
    total = sum(sizes)
    ways = np.array([1] + [0] * total, dtype=object)
    for size in sizes:
        ways[size:] = ways[size:] + ways[: total + 1 - size]
    tail = int(ways[: (total - observed) // 2 + 1].sum())
    return min(1.0, 2 * tail / (1 << len(sizes)))


def _sampled(sizes: Sequence[int], observed: int) -> float:
    rng, weights = np.random.default_rng(SEED), np.array(sizes, dtype=object)
    flips = (2 * rng.integers(2, size=len(sizes)).astype(object) - 1 for _ in range(RESAMPLES))
    return (1 + sum(abs(int(flip @ weights)) >= observed for flip in flips)) / (RESAMPLES + 1)


def bootstrap_interval(
    differences: Sequence[Fraction], resamples: Iterable[Sequence[int]]
) -> tuple[float, float] | None:
    """Give the 95 % percentile interval of the mean difference (Efron 1979); None where nothing was asked.

    differences  (n,); resamples  places in it, from `stages.calibration.spread.draws`: groups drawn whole.
    """
    scale = lcm(*(one.denominator for one in differences))
    whole = [int(one * scale) for one in differences]
    means = sorted(sum(map(whole.__getitem__, places)) / (scale * len(places)) for places in resamples if places)
    tail = ceil(TAIL * len(means))
    return (means[tail - 1], means[-tail]) if means else None


def holm(p_values: Sequence[float]) -> list[float]:
    """Give each p value corrected for their number, in the same order: Holm's step-down procedure (Holm 1979)."""
    adjusted, worst = [0.0] * len(p_values), 0.0
    for before, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) - before) * p_values[place]))
        adjusted[place] = worst
    return adjusted


def with_holm(tests: Mapping[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """The same tests, each with `p_holm` beside its `p`: its p value corrected over all of them."""
    corrected = holm([one["p"] for one in tests.values()])
    return {name: one | {"p_holm": p} for (name, one), p in zip(tests.items(), corrected, strict=True)}
