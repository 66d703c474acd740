"""Arithmetic that gives the same bits on every processor, BLAS kernel and number of threads.

What differs between machines is the order of additions in a product of matrices, fused multiply-add, and the last bit
of the library's exp, log and pow. What IEEE 754 fixes everywhere: + - * / and sqrt of two float64, rint, frexp, ldexp.
Hence two rules:

- Reductions see only numbers on a grid of 2^-20. Products of two such numbers lie on a grid of 2^-40, and float64 holds
  every multiple of 2^-40 below 2^13 = 8192: as long as the absolute products add up to less, each partial sum is exact
  and their order cannot matter. Rows of length 1 keep that bound for any weights of a sane size.
- exp and log are polynomials of + and *, element by element.

Elsewhere products are of whole numbers, and what is not exact is rounded before it decides or is written:
tests/test_arithmetic.py lists every use of anything else.

Gradients need no grid of their own, Adam's moments would even vanish on it: they are made element by element.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rounding = Callable[[Floats], Floats]

GRID = 2.0**20
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 as the sum of two numbers, the first with 32 bits: products with a small integer are exact (fdlibm, e_exp.c)."""
EXP_TERMS, LOG_TERMS = 14, 12
SMALLEST, LARGEST = -708.0, 709.0


def snap(values: Floats) -> Floats:
    """Round to the nearest multiple of 2^-20; halves go to the even one."""
    return np.rint(values * GRID) / GRID


def keep(values: Floats) -> Floats:
    """Round nothing: in the place of `snap` where derivatives are checked."""
    return values


def exp(values: Floats) -> Floats:
    """e to the power of each value, to within 2 units of the last place; arguments are cut to [-708, 709].

    x = k ln 2 + r with |r| <= ln 2 / 2, the Taylor series of e^r, then 2^k by ldexp.
    """
    values = np.clip(values, SMALLEST, LARGEST)
    power = np.rint(values / (LN2_HIGH + LN2_LOW))
    rest = (values - power * LN2_HIGH) - power * LN2_LOW
    result = np.ones_like(rest)
    for term in range(EXP_TERMS, 0, -1):
        result = 1 + rest * result / term
    return np.asarray(np.ldexp(result, power.astype(np.int32)))


def log(values: Floats) -> Floats:
    """Natural logarithm of each value, all of them positive and normal, to within 2^-50 or relative 2^-50.

    x = 2^k m with m in [sqrt 1/2, sqrt 2), then ln m = 2 artanh s with s = (m - 1) / (m + 1).
    """
    fraction, power = np.frexp(values)
    low = fraction < np.sqrt(0.5)
    fraction, power = np.where(low, 2 * fraction, fraction), (power - low).astype(np.float64)
    ratio = (fraction - 1) / (fraction + 1)
    square, series = ratio * ratio, np.zeros_like(ratio)
    for term in range(LOG_TERMS, 0, -1):
        series = 1 / (2 * term - 1) + square * series
    return np.asarray(power * LN2_HIGH + (2 * ratio * series + power * LN2_LOW))


def matmul(left: Floats, right: Floats, rounding: Rounding = snap) -> Floats:
    """(n, k) times (k, m) -> (n, m) on the grid; both arguments lie on the grid."""
    return rounding(left @ right)


def normalise(rows: Floats, rounding: Rounding = snap) -> tuple[Floats, Floats]:
    """Rows of (n, d) at Euclidean length 1, on the grid, and the lengths (n, 1) that they had; a row of 0 stays 0.

    Rows may have any length and lie on no grid: their squares are added relative to the largest value of each.
    """
    largest = np.abs(rows).max(axis=1, keepdims=True)
    shares = rounding(rows / np.where(largest > 0, largest, 1.0))
    lengths = largest * np.sqrt((shares * shares).sum(axis=1, keepdims=True))
    lengths = np.where(lengths > 0, lengths, 1.0)
    return rounding(rows / lengths), lengths
