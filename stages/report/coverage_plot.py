"""The risk-coverage curves of a system's signal, development set and holdout, and where the frozen threshold stands."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from markupsafe import Markup

from stages.measures.selective import Curve, risk_coverage
from stages.report.frame import LEFT, RIGHT, WIDTH, axis, grid
from stages.report.inputs import Sheet
from stages.report.svg import Scale, document, legend, node, path, ticks
from stages.report.text import ratio

TOP, BOTTOM = 28.0, 208.0
HEIGHT = 248.0
DRAWN = 20_000
APART = 0.5
"""Pixels between points, at least: what is closer cannot be seen."""
RADIUS = 4.5
COUNTS = ("tp", "fp", "fn", "tn")
X = Scale(0, 1, LEFT, RIGHT)


def coverage_plot(sheet: Sheet) -> Markup:
    """Draw both curves over one axis. The frozen point is what the gate does: where each kind of best candidate has a
    threshold of its own, it need not lie on the curve of all signals."""
    dev = risk_coverage([one.signal for one in sheet.judged], [one.answerable for one in sheet.judged])
    holdout = risk_coverage([one.signal for one in sheet.queries], [one.label.answerable for one in sheet.queries])
    curves, figures = {"dev": dev, "holdout": holdout}, {"dev": sheet.dev, "holdout": sheet.holdout}
    return Markup(draw(sheet.system, curves, {name: found["gate"] for name, found in figures.items()}))


def draw(name: str, curves: Mapping[str, Curve], gates: Mapping[str, Mapping[str, Any]]) -> str:
    """Draw named curves and on each the point of its gate, as counts of `refusal_metrics`; none that refuses all."""
    highest = max((risk for curve in curves.values() for _, risk in _points(curve)), default=0.0)
    y = Scale(0, max(highest, 0.1) * 1.05, BOTTOM, TOP)
    return document(
        f"{name}: risk over coverage, {' and '.join(curves)}, with the frozen threshold",
        WIDTH,
        HEIGHT,
        *grid(y),
        legend(LEFT, TOP - 10, *((kind, f"risk ({kind})") for kind in curves), ("label", "● frozen threshold")),
        *(path(f"step {kind}", seen((X.at(a), y.at(b)) for a, b in _points(one))) for kind, one in curves.items()),
        *(dot for kind, gate in gates.items() for dot in _dot(kind, gate, y)),
        *axis(((mark, X.at(mark)) for mark in ticks(0, 1)), BOTTOM, "coverage: share of all questions accepted"),
    )


def _points(curve: Curve) -> list[tuple[float, float]]:
    """Coverage and risk at each distinct signal, of very many at some evenly and at the last."""
    step = len(curve.covered) // DRAWN + 1
    shown = np.unique(np.append(np.arange(0, len(curve.covered), step), np.arange(len(curve.covered))[-1:]))
    covered, wrong = curve.covered[shown], curve.wrong[shown]
    return list(zip((covered / curve.n).tolist(), (wrong / covered).tolist(), strict=True))


def seen(points: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Leave out each point that is less than half a pixel from the last one kept."""
    last = (-APART, -APART)
    for x, y in points:
        if max(abs(x - last[0]), abs(y - last[1])) >= APART:
            last = (x, y)
            yield last


def _dot(kind: str, gate: Mapping[str, Any], y: Scale) -> list[Element]:
    """Nothing accepted has no risk and no place on a curve."""
    wrong, covered, asked = gate["fp"], gate["tp"] + gate["fp"], sum(gate[count] for count in COUNTS)
    if not covered:
        return []
    risk, coverage = wrong / covered, covered / asked
    said = f"{kind}: coverage {ratio(coverage)} ({covered}/{asked}), risk {ratio(risk)} ({wrong}/{covered})"
    return [node("circle", f"dot {kind}", node("title", text=said), cx=X.at(coverage), cy=y.at(risk), r=RADIUS)]
