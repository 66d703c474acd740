"""The sweep as two panels over the threshold: weighted error, and both F1."""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple
from xml.etree.ElementTree import Element

from stages.report.frame import LEFT, RIGHT, WIDTH, signal_axis, threshold_line
from stages.report.inputs import Boundary
from stages.report.svg import Scale, document, legend, line, node, ticks, words
from stages.report.text import decimal

ERROR_TOP, ERROR_BOTTOM = 28.0, 168.0
F1_TOP, F1_BOTTOM = 206.0, 336.0
HEIGHT = 376.0

Value = Callable[[Boundary], float | None]


class Flat(NamedTuple):
    """One step, from pixel to pixel."""

    start: float
    end: float
    value: float | None


def sweep_plot(system: str, boundaries: Sequence[Boundary], threshold: float | None, scale: Scale) -> str:
    """Draw every boundary as a step: a value holds for all thresholds from the signal before up to its own."""
    highest = max((row.weighted_error or 0.0 for row in boundaries), default=0.0)
    error = Scale(0, highest * 1.05 or 1, ERROR_BOTTOM, ERROR_TOP)
    f1 = Scale(0, 1, F1_BOTTOM, F1_TOP)
    return document(
        f"{system}: weighted error, answer F1 and refusal F1 over the threshold",
        WIDTH,
        HEIGHT,
        *threshold_line(scale, threshold, ERROR_TOP, F1_BOTTOM),
        *_panel(error),
        legend(LEFT, ERROR_TOP - 10, ("error", "weighted error (dev)")),
        *steps("error", boundaries, lambda row: row.weighted_error, scale, error),
        *_panel(f1),
        legend(LEFT, F1_TOP - 10, ("answerable", "answer F1 (dev)"), ("unanswerable", "refusal F1 (dev)")),
        *steps("answerable", boundaries, lambda row: row.answer_f1, scale, f1),
        *steps("unanswerable", boundaries, lambda row: row.refusal_f1, scale, f1),
        *signal_axis(scale, F1_BOTTOM, "threshold"),
    )


def _panel(y: Scale) -> list[Element]:
    """Draw the horizontal grid with its numbers."""
    heights = [(value, y.at(value)) for value in ticks(y.low, y.high, 6)]
    lines = [line("grid", LEFT, height, RIGHT, height) for _, height in heights]
    return [*lines, *(words("tick", decimal(value, 6), LEFT - 8, height + 4, "end") for value, height in heights)]


def steps(kind: str, boundaries: Sequence[Boundary], value: Value, x: Scale, y: Scale) -> list[Element]:
    """Draw one value over the threshold, one line for each stretch in which it is known."""
    edges = [LEFT, *(RIGHT if row.threshold is None else x.at(row.threshold) for row in boundaries)]
    flats = [Flat(*ends, value(row)) for ends, row in zip(pairwise(edges), boundaries, strict=True)]
    known = [list(run) for there, run in groupby(flats, lambda flat: flat.value is not None) if there]
    return [node("polyline", f"step {kind}", points=_points(run, y)) for run in known]


def _points(run: Sequence[Flat], y: Scale) -> str:
    corners = [(x, y.at(flat.value or 0.0)) for flat in run for x in (flat.start, flat.end)]
    return " ".join(f"{decimal(x, 2)},{decimal(height, 2)}" for x, height in corners)
