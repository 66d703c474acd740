"""The cost frontier of a system: what each weight would choose on the development set, and the frozen weight in it."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from stages.calibration.bykind import ANY, split_by_kind
from stages.calibration.hull import Optimum, hull
from stages.calibration.sweep import choose
from stages.report.frame import LEFT, RIGHT, WIDTH, Flat, axis, frozen_line, grid, stairs
from stages.report.inputs import Sheet
from stages.report.svg import Scale, document, legend
from stages.report.text import figure

TOP, BOTTOM = 28.0, 148.0
HEIGHT = 188.0
BESIDE = 3
"""Choices in the table on either side of the one at the frozen weight."""
MARKS = 11


class Frontier(NamedTuple):
    """The frontier of one threshold; `kind` as in `best_rows`.

    near    `here`, the choice at the frozen weight, with at most `BESIDE` on either side, by rising weight.
    chosen  how many choices there are in all.
    """

    kind: str
    plot: Markup
    near: list[Optimum]
    here: Optimum
    chosen: int


def frontiers(sheet: Sheet) -> list[Frontier]:
    """Give one for the system, or one for each kind of best candidate that has a threshold of its own."""
    weight = Fraction(repr(sheet.threshold.fp_weight))
    by_kind = sheet.threshold.by_kind is not None
    parts = split_by_kind(sheet.judged, [one.answerable for one in sheet.judged], by_kind)
    return [_frontier(sheet.system, kind, hull(*part, weight), weight) for kind, part in parts.items()]


def _frontier(system: str, kind: str, optima: list[Optimum], weight: Fraction) -> Frontier:
    rows = [one.row for one in optima]
    place = rows.index(choose(rows))
    near = optima[max(place - BESIDE, 0) : place + BESIDE + 1]
    return Frontier(kind, Markup(frontier_plot(system, kind, optima, weight)), near, optima[place], len(optima))


def frontier_plot(system: str, kind: str, optima: Sequence[Optimum], weight: Fraction) -> str:
    """Draw false accepts and false refusals of every choice as steps over the weight, whose axis is logarithmic.

    The first step begins at weight 0, left of the axis, and the last one has no end.
    """
    bends = [one.low for one in optima[1:]]
    x = weight_scale([*bends, weight])
    edges = [LEFT, *(x.at(_log(bend)) for bend in bends), RIGHT]
    y = Scale(0, max(max(one.row.fp, one.row.fn) for one in optima) * 1.05 or 1, BOTTOM, TOP)
    sides = {"unanswerable": [one.row.fp for one in optima], "answerable": [one.row.fn for one in optima]}
    of_kind, title = ("", ()) if kind == ANY else (f", best candidate: {kind}", (("strong", kind),))
    steps = {side: map(_flat, pairwise(edges), counts) for side, counts in sides.items()}
    return document(
        f"{system}{of_kind}: false accepts and false refusals on dev of what each weight would choose",
        WIDTH,
        HEIGHT,
        *frozen_line(f"frozen weight {figure(float(weight))}", x.at(_log(weight)), TOP, BOTTOM),
        *grid(y),
        legend(LEFT, TOP - 10, *title, ("unanswerable", "false accepts (dev)"), ("answerable", "false refusals (dev)")),
        *(part for side, flats in steps.items() for part in stairs(side, flats, y)),
        *axis(((mark, x.at(math.log10(mark))) for mark in log_marks(x)), BOTTOM, "fp_weight"),
    )


def weight_scale(weights: Sequence[Fraction]) -> Scale:
    """Give the axis of log10(weight) that holds all weights, with a factor of two free on either side."""
    return Scale(_log(min(weights)) - _log(2), _log(max(weights)) + _log(2), LEFT, RIGHT)


def log_marks(x: Scale) -> list[float]:
    """Give at most `MARKS` weights within the axis: 1, 2 and 5 times the powers of ten, or every so many of these."""
    tens = [10.0**power for power in range(math.floor(x.low), math.ceil(x.high) + 1)]
    fine, coarse = (
        [ten * mark for ten in tens for mark in marks if x.low <= math.log10(ten * mark) <= x.high]
        for marks in ((1, 2, 5), (1,))
    )
    return fine if len(fine) <= MARKS else coarse[:: math.ceil(len(coarse) / MARKS)]


def _flat(ends: tuple[float, float], count: int) -> Flat:
    return Flat(*ends, count)


def _log(weight: Fraction | int) -> float:
    return math.log10(weight)
