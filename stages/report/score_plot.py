"""The signal of every question, one dot each: answerable ones above the line, unanswerable ones below it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from stages.report.frame import LEFT, RIGHT, WIDTH, signal_axis, threshold_line
from stages.report.svg import Scale, document, legend, line, node, words
from stages.report.text import figure

RADIUS = 2.5
GAP = 1.5
"""Between the line and the dots next to it."""
TOP = 50.0
HEAD = 40.0
"""Above and below the dots of a panel, the legend's place."""
TALLEST = 170.0
"""All dots of a panel, above and below; higher stacks are pressed together, in all panels alike."""
NOWHERE = LEFT - 30
"""Where a question without a signal stands: left of the axis."""


class Point(NamedTuple):
    """One question; `signal` is None when it had no candidate."""

    id: str
    signal: float | None
    answerable: bool


class Dot(NamedTuple):
    """One question in its stack: `x` in pixels, `level` how many lie beneath."""

    point: Point
    x: float
    level: int


class Panel(NamedTuple):
    """One named set."""

    name: str
    above: list[Dot]
    below: list[Dot]


class Measure(NamedTuple):
    """What all panels share: dots above and below, pixels from dot to dot."""

    above: int
    below: int
    rise: float

    @property
    def height(self) -> float:
        """Height of a panel in pixels."""
        return (self.above + self.below) * self.rise + HEAD


def score_plot(system: str, sets: Mapping[str, Sequence[Point]], threshold: float | None, scale: Scale) -> str:
    """Draw one panel for each named set, all dots at their exact signal and all stacks to the same measure."""
    panels = [
        Panel(
            name,
            stack((p for p in points if p.answerable), scale),
            stack((p for p in points if not p.answerable), scale),
        )
        for name, points in sets.items()
    ]
    measure = _measure(panels)
    bottom = TOP + measure.height * len(panels)
    drawn = [
        part for place, panel in enumerate(panels) for part in _panel(panel, TOP + measure.height * place, measure)
    ]
    return document(
        f"{system}: signal of every question",
        WIDTH,
        bottom + 40,
        *threshold_line(scale, threshold, TOP - 22, bottom),
        *drawn,
        *signal_axis(scale, bottom, "signal"),
    )


def stack(points: Iterable[Point], scale: Scale) -> list[Dot]:
    """Place the points by rising signal, those without one first; equal signals by id."""
    placed = sorted((NOWHERE if p.signal is None else scale.at(p.signal), p.id, p) for p in points)
    heights = levels([x for x, _, _ in placed], 2 * RADIUS)
    return [Dot(point, x, level) for (x, _, point), level in zip(placed, heights, strict=True)]


def levels(places: Sequence[float], gap: float) -> list[int]:
    """Give each of the ascending places the lowest level on which the one before is at least `gap` away."""
    last: list[float] = []
    found = []
    for place in places:
        level = next((n for n, before in enumerate(last) if place - before >= gap), len(last))
        last[level : level + 1] = [place]
        found.append(level)
    return found


def _measure(panels: Sequence[Panel]) -> Measure:
    above = max((dot.level + 1 for panel in panels for dot in panel.above), default=0)
    below = max((dot.level + 1 for panel in panels for dot in panel.below), default=0)
    return Measure(above, below, min(2 * RADIUS, TALLEST / max(1, above + below)))


def _panel(panel: Panel, top: float, measure: Measure) -> list[Element]:
    base = top + HEAD / 2 + measure.above * measure.rise
    missing = any(dot.point.signal is None for dot in (*panel.above, *panel.below))
    return [
        line("grid", LEFT, base, RIGHT, base),
        legend(
            LEFT,
            top,
            ("strong", panel.name),
            ("answerable", f"above: {len(panel.above)} answerable"),
            ("unanswerable", f"below: {len(panel.below)} unanswerable"),
        ),
        *([words("tick", "no signal", NOWHERE, top + measure.height - HEAD / 2, "middle")] if missing else []),
        *_dots("answerable", panel.above, base - RADIUS - GAP, -measure.rise),
        *_dots("unanswerable", panel.below, base + RADIUS + GAP, measure.rise),
    ]


def _dots(kind: str, dots: Sequence[Dot], base: float, rise: float) -> list[Element]:
    return [
        node("circle", f"dot {kind}", _title(dot.point), cx=dot.x, cy=base + rise * dot.level, r=RADIUS) for dot in dots
    ]


def _title(point: Point) -> Element:
    return node("title", text=f"{point.id}: {figure(point.signal)}")
