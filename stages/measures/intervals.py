"""95 % intervals of rates, where the questions are independent draws; over others they would mean nothing.

Only a share of questions has one. MRR and the rates of the context count several things in one question, development
figures belong to a threshold that was chosen on them, and the encoder's pairs are not drawn: none of these is binomial.
"""

from collections.abc import Mapping
from math import sqrt
from typing import Any

Z = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""
SHARES = (
    *("answer_precision", "answer_recall", "refusal_precision", "refusal_recall"),
    *("hit_at_1", "hit_at_5"),
)
F1S = ("answer_f1", "refusal_f1")
COUNTS = (
    *(("correct", "total"), ("refused", "total"), ("reason_fits", "refused")),
    *(("with_citation", "answered"), ("verified", "with_citation")),
)
"""Names of counts with the name of what they are of."""


def wilson(k: int, n: int) -> tuple[float, float] | None:
    """Give the 95 % score interval of the share behind k of n (0 <= k <= n); None where there is no n.

    Wilson 1927, recommended for small n by Brown, Cai & DasGupta 2001; without continuity correction.
    """
    if n == 0:
        return None
    centre, half = k + Z * Z / 2, Z * sqrt(k * (n - k) / n + Z * Z / 4)
    low, high = (centre - half) / (n + Z * Z), (centre + half) / (n + Z * Z)
    return 0.0 if k == 0 else low, 1.0 if k == n else high


def wilson_f1(numerator: int, denominator: int) -> tuple[float, float] | None:
    """Give the 95 % interval of F1 = 2 TP / (2 TP + FP + FN), from its counts; None where they are 0.

    F1 = 2 s / (1 + s) rises with s = TP / (TP + FP + FN), which is a share of questions: the ends are those of its
    Wilson interval (the indirect method of Lam, Gopal & Qian 2023).
    """
    right = numerator // 2
    interval = wilson(right, denominator - right)
    return None if interval is None else (_f1(interval[0]), _f1(interval[1]))


def _f1(share: float) -> float:
    return 2 * share / (1 + share)


def with_intervals(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The same figures, nested alike, with `<rate>_ci95`, [low, high], beside each share of questions."""
    nested = {name: with_intervals(one) if isinstance(one, dict) else one for name, one in figures.items()}
    shares = {name: wilson(*figures[f"{name}_of"]) for name in SHARES if name in figures}
    f1s = {name: wilson_f1(*figures[f"{name}_of"]) for name in F1S if name in figures}
    counts = {name: wilson(figures[name], figures[of]) for name, of in COUNTS if {name, of} <= figures.keys()}
    return nested | {f"{name}_ci95": found for name, found in (shares | f1s | counts).items()}
