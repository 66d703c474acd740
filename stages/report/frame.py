"""What the plots of a system share: the width, axes and grid, steps, and what is frozen as a vertical line."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.etree.ElementTree import Element

from stages.report.svg import Scale, line, path, ticks, words
from stages.report.text import decimal, figure

WIDTH = 960.0
LEFT = 56.0
RIGHT = 944.0
MARGIN = 0.04
"""Share of the range that stays free on either side; on the right it shows "refuse all"."""


def signal_scale(signals: Iterable[float]) -> Scale:
    """Give the axis that holds all `signals` with a margin: [0, 1] for none, half a unit on either side of one."""
    known = sorted(signals) or [0.0, 1.0]
    low, high = (known[0], known[-1]) if known[0] < known[-1] else (known[0] - 0.5, known[0] + 0.5)
    margin = (high - low) * MARGIN
    return Scale(low - margin, high + margin, LEFT, RIGHT)


def signal_axis(scale: Scale, y: float, label: str) -> list[Element]:
    """Draw the axis of signals at height `y`, its label below."""
    return axis(((value, scale.at(value)) for value in ticks(scale.low, scale.high)), y, label)


def axis(marks: Iterable[tuple[float, float]], y: float, label: str) -> list[Element]:
    """Draw an axis at height `y`, its label below; `marks` are values, each with its pixel."""
    numbers = [words("tick", decimal(value, 6), x, y + 15, "middle") for value, x in marks]
    return [line("axis", LEFT, y, RIGHT, y), *numbers, words("label", label, (LEFT + RIGHT) / 2, y + 32, "middle")]


def grid(y: Scale) -> list[Element]:
    """Draw the horizontal grid with its numbers."""
    heights = [(value, y.at(value)) for value in ticks(y.low, y.high, 6)]
    lines = [line("grid", LEFT, height, RIGHT, height) for _, height in heights]
    return [*lines, *(words("tick", decimal(value, 6), LEFT - 8, height + 4, "end") for value, height in heights)]


class Flat(NamedTuple):
    """One step, from pixel to pixel."""

    start: float
    end: float
    value: float | None


def stairs(kind: str, flats: Iterable[Flat], y: Scale) -> list[Element]:
    """Draw steps that join, one line for each stretch in which the value is known."""
    known = [list(run) for there, run in groupby(flats, lambda flat: flat.value is not None) if there]
    return [path(f"step {kind}", _corners(run, y)) for run in known]


def _corners(run: Sequence[Flat], y: Scale) -> list[tuple[float, float]]:
    return [(x, y.at(flat.value or 0.0)) for flat in run for x in (flat.start, flat.end)]


def threshold_line(scale: Scale, threshold: float | None, top: float, bottom: float) -> list[Element]:
    """Draw the frozen threshold, its label on top; "refuse all" (None) stands at the right end."""
    x = RIGHT if threshold is None else scale.at(threshold)
    return frozen_line("refuse all" if threshold is None else f"threshold {figure(threshold)}", x, top, bottom)


def frozen_line(text: str, x: float, top: float, bottom: float) -> list[Element]:
    """Draw what is frozen, at pixel `x`."""
    anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
    return [line("threshold", x, top - 4, x, bottom), words("threshold-label", text, x, top - 8, anchor)]
