"""How the signals lie: a histogram of answerable items above the line, of unanswerable ones below it."""

from xml.etree.ElementTree import Element

import numpy as np

from stages.calibration.sweep import Answerable, Floats
from stages.report.frame import LEFT, RIGHT, WIDTH, signal_axis, threshold_line
from stages.report.svg import Scale, document, legend, line, node

BINS = 80
TOP, BASE, BOTTOM = 50.0, 150.0, 250.0
HEIGHT = 290.0


def histogram(name: str, signals: Floats, answerable: Answerable, threshold: float | None, scale: Scale) -> str:
    """Draw both histograms over the axis, to the same measure; signals and answerable are (n,) in the same order."""
    known = np.asarray(answerable, dtype=np.bool_)
    above, below = (np.histogram(part, BINS, (scale.low, scale.high))[0] for part in (signals[known], signals[~known]))
    rise = (BASE - TOP) / max(1, int(above.max()), int(below.max()))
    return document(
        f"{name}: how many items have which signal",
        WIDTH,
        HEIGHT,
        *threshold_line(scale, threshold, TOP - 22, BOTTOM),
        legend(
            LEFT,
            TOP - 8,
            ("answerable", f"above: {int(above.sum())} answerable"),
            ("unanswerable", f"below: {int(below.sum())} unanswerable"),
        ),
        *_bars("answerable", above.tolist(), rise, up=True),
        *_bars("unanswerable", below.tolist(), rise, up=False),
        line("grid", LEFT, BASE, RIGHT, BASE),
        *signal_axis(scale, BOTTOM, "signal"),
    )


def _bars(kind: str, counts: list[int], rise: float, *, up: bool) -> list[Element]:
    width = (RIGHT - LEFT) / BINS
    return [
        node(
            "rect",
            f"dot {kind}",
            x=LEFT + place * width,
            y=BASE - count * rise if up else BASE,
            width=width - 1,
            height=count * rise,
        )
        for place, count in enumerate(counts)
        if count
    ]
