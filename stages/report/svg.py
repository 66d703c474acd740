"""Inline SVG: escaped elements, coordinates of two decimals, linear scales with round ticks.

An element carries classes, no colours: the page's style sheet owns them.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Element, tostring

from stages.report.text import decimal


class Scale(NamedTuple):
    """Maps [low, high] to pixels [start, end]; `low` differs from `high`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Give the pixel of a value; values outside lie outside."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def node(tag: str, kind: str = "", *children: Element, text: str | None = None, **attributes: float | str) -> Element:
    """Make an element of class `kind`; numbers get two decimals, `text_anchor` is written `text-anchor`."""
    made = Element(tag, {"class": kind} if kind else {})
    for name, value in attributes.items():
        made.set(name.replace("_", "-"), value if isinstance(value, str) else decimal(value, 2))
    made.text = text
    made.extend(children)
    return made


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Element:
    """A straight line."""
    return node("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def path(kind: str, points: Iterable[tuple[float, float]]) -> Element:
    """Straight lines from point to point."""
    return node("polyline", kind, points=" ".join(f"{decimal(x, 2)},{decimal(y, 2)}" for x, y in points))


def words(kind: str, text: str, x: float, y: float, anchor: str = "start") -> Element:
    """Text on one line; `y` is its base line."""
    return node("text", kind, text=text, x=x, y=y, text_anchor=anchor)


def legend(x: float, y: float, *parts: tuple[str, str]) -> Element:
    """Text on one line in parts of (class, text), one after the other however wide they are."""
    return node("text", "label", *(node("tspan", kind, text=text, dx=12) for kind, text in parts), x=x - 12, y=y)


def document(label: str, width: float, height: float, *children: Element) -> str:
    """Write a drawing, `label` saying what it shows; it shrinks with the page."""
    root = node("svg", "", *children, viewBox=f"0 0 {decimal(width, 2)} {decimal(height, 2)}", role="img")
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("aria-label", label)
    return tostring(root, encoding="unicode")


def ticks(low: float, high: float, most: int = 11) -> list[float]:
    """Give at most `most` round values (steps of 1, 2 or 5 times a power of ten) within [low, high]."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (power * factor) <= most - 1)
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
