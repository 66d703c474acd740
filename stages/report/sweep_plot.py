"""The sweep as two panels over the threshold: weighted error, and both F1."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from stages.report.frame import LEFT, RIGHT, WIDTH, Flat, grid, signal_axis, stairs, threshold_line
from stages.report.inputs import Boundary
from stages.report.svg import Scale, document, legend

ERROR_TOP, ERROR_BOTTOM = 28.0, 168.0
F1_TOP, F1_BOTTOM = 206.0, 336.0
HEIGHT = 376.0

Value = Callable[[Boundary], float | None]


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
        *grid(error),
        legend(LEFT, ERROR_TOP - 10, ("error", "weighted error (dev)")),
        *steps("error", boundaries, lambda row: row.weighted_error, scale, error),
        *grid(f1),
        legend(LEFT, F1_TOP - 10, ("answerable", "answer F1 (dev)"), ("unanswerable", "refusal F1 (dev)")),
        *steps("answerable", boundaries, lambda row: row.answer_f1, scale, f1),
        *steps("unanswerable", boundaries, lambda row: row.refusal_f1, scale, f1),
        *signal_axis(scale, F1_BOTTOM, "threshold"),
    )


def steps(kind: str, boundaries: Sequence[Boundary], value: Value, x: Scale, y: Scale) -> list[Element]:
    """Draw one value over the threshold, one line for each stretch in which it is known."""
    edges = [LEFT, *(RIGHT if row.threshold is None else x.at(row.threshold) for row in boundaries)]
    return stairs(kind, [Flat(*ends, value(row)) for ends, row in zip(pairwise(edges), boundaries, strict=True)], y)
