"""The page beside a threshold over another system's scores: its figures, its sweep, how the signals lie."""

import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from stages.calibration.sweep import Answerable, Floats, Row
from stages.report.frame import signal_scale
from stages.report.histogram import histogram
from stages.report.inputs import Boundary
from stages.report.svg import Scale
from stages.report.sweep_plot import sweep_plot

DRAWN = 2000
"""Boundaries in the drawing: more than two for each of its pixels."""
UNDRAWN = "<p>The signals lie too close together, or too far apart, to be drawn.</p>"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>Frostline: {title}</title>
<style>
body {{ margin: 0 auto; padding: 24px; max-width: 1060px; color: #1d2733; font: 15px/1.5 system-ui, sans-serif; }}
pre {{ overflow-x: auto; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; }}
svg {{ display: block; width: 100%; height: auto; margin: 12px 0 20px; }}
svg text {{ font-size: 12px; fill: #1d2733; }}
svg .grid {{ stroke: #d9dee3; }}
svg .axis, svg .threshold, svg .step.error {{ stroke: #1d2733; }}
svg .threshold {{ stroke-dasharray: 5 4; }}
svg .step {{ fill: none; stroke-width: 1.75; }}
svg .step.answerable, svg .step.dev {{ stroke: #1f6f8b; }}
svg .step.unanswerable, svg .step.holdout {{ stroke: #b4531c; }}
svg tspan.answerable, svg tspan.dev, svg .dot.answerable, svg .dot.dev {{ fill: #1f6f8b; }}
svg tspan.unanswerable, svg .dot.unanswerable, svg tspan.holdout, svg .dot.holdout {{ fill: #b4531c; }}
</style>
</head>
<body>
<h1>{title}</h1>
<pre>{text}</pre>
{plots}
</body>
</html>
"""


def calibrated_page(
    title: str,
    text: str,
    rows: Sequence[Row],
    threshold: float | None,
    signals: Floats,
    answerable: Answerable,
    more: Sequence[str],
) -> str:
    """One self-contained HTML text, every word escaped: `text`, the sweep, a histogram of the (n,) signals, more plots.

    Signals that are all but equal, or that lie further apart than a number reaches, are not drawn.
    """
    scale = signal_scale((float(signals.min()), float(signals.max())))
    plots = _plots(title, rows, threshold, signals, answerable, scale) if _drawable(scale) else [UNDRAWN]
    return PAGE.format(title=escape(title), text=escape(text), plots="\n".join([*plots, *more]))


def _drawable(scale: Scale) -> bool:
    """True where the axis has room for its bins between two numbers."""
    span = scale.high - scale.low
    return math.isfinite(span) and span > 1000 * math.ulp(max(abs(scale.low), abs(scale.high)))


def _plots(
    title: str, rows: Sequence[Row], threshold: float | None, signals: Floats, answerable: Answerable, scale: Scale
) -> list[str]:
    drawn = [*rows[: -1 : -(-len(rows) // DRAWN)], rows[-1]]
    boundaries = [
        Boundary(row.threshold, float(row.weighted_error), _f1(row.answer_f1), _f1(row.refusal_f1)) for row in drawn
    ]
    return [
        sweep_plot(title, boundaries, threshold, scale),
        histogram(title, signals, answerable, threshold, scale),
    ]


def _f1(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
