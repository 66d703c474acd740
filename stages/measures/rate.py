"""A rate never travels without its numerator and denominator."""

from fractions import Fraction
from typing import Any


def rate(name: str, numerator: int | Fraction, denominator: int) -> dict[str, Any]:
    """Give {name: numerator / denominator, name_of: [numerator, denominator]}; the rate is None where there is no n.

    The division is exact and rounded to a float once.
    """
    value = float(Fraction(numerator) / denominator) if denominator else None
    return {name: value, f"{name}_of": [number(numerator), denominator]}


def number(value: int | Fraction) -> int | float:
    """Give an exact value as JSON holds it: an int when it is whole, else the nearest float."""
    return int(value) if value.denominator == 1 else float(value)
