"""What both plots of a system share: the width, the axis of signals, and the frozen threshold as a vertical line."""

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from stages.report.svg import Scale, line, ticks, words
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
    marks = [
        words("tick", decimal(value, 6), scale.at(value), y + 15, "middle") for value in ticks(scale.low, scale.high)
    ]
    return [line("axis", LEFT, y, RIGHT, y), *marks, words("label", label, (LEFT + RIGHT) / 2, y + 32, "middle")]


def threshold_line(scale: Scale, threshold: float | None, top: float, bottom: float) -> list[Element]:
    """Draw the frozen threshold, its label on top; "refuse all" (None) stands at the right end."""
    x = RIGHT if threshold is None else scale.at(threshold)
    text = "refuse all" if threshold is None else f"threshold {figure(threshold)}"
    anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
    return [line("threshold", x, top - 4, x, bottom), words("threshold-label", text, x, top - 8, anchor)]
