"""Damaged images on the page: curves by change and system, a grid of one image under every change, all mistakes."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from markupsafe import Markup

from stages.corpus.png import Pixels, decode
from stages.measures.damage import CLEAN, OUTCOMES, Case, Condition, Effect, Point, curves
from stages.perturbation.blocks import downscale
from stages.perturbation.png import encode
from stages.report.inputs import Damaged
from stages.report.svg import Scale, document, line, node, path, words
from stages.variations import STRENGTHS

WIDTH, HEIGHT = 300.0, 96.0
X, TOP, BOTTOM = (26.0, 288.0), 8.0, 76.0
RADIUS = 2.5
SIDE = 64
"""Pixels of the longer side of an image in the grid, at most."""
MOST = 2**31
"""Pixels: no bound, for whoever wrote the file kept to one."""
WORDS = {"answered_right": "right", "answered_wrong": "mistaken", "refused": "refused"}


class Row(NamedTuple):
    """A change with its curves, one drawing a system."""

    change: str
    unit: str
    drawings: list[Markup]


def damage_rows(damaged: Damaged) -> list[Row]:
    """The curves of every change."""
    points = curves(damaged.found.effects)
    return [
        Row(change, STRENGTHS[change].unit, [_drawn(change, name, points) for name in damage_systems(damaged)])
        for change in dict.fromkeys(one.change for one in points)
    ]


def damage_systems(damaged: Damaged) -> list[str]:
    """The systems that were asked."""
    return list(dict.fromkeys(one.system for one in damaged.found.effects))


def _drawn(change: str, system: str, points: Iterable[Point]) -> Markup:
    return Markup(draw(change, system, [one for one in points if (one.change, one.system) == (change, system)]))


def draw(change: str, system: str, points: Sequence[Point]) -> str:
    """Draw how many questions were answered rightly, wrongly, refused, over the strengths as they come, evenly spaced.

    A dashed line stands at the clean images.
    """
    x, y = Scale(0, max(len(points) - 1, 1), *X), Scale(0, max(points[0].questions, 1), BOTTOM, TOP)
    marks = [words("tick", str(one.strength), x.at(place), BOTTOM + 15, "middle") for place, one in enumerate(points)]
    clean = [place for place, one in enumerate(points) if one.strength == STRENGTHS[change].none]
    return document(
        f"{change}, {system}: questions answered rightly, mistaken, refused, over the strength",
        WIDTH,
        HEIGHT,
        line("axis", X[0], BOTTOM, X[1], BOTTOM),
        *(words("tick", str(value), X[0] - 4, y.at(value) + 4, "end") for value in (0, points[0].questions)),
        *(line("threshold", x.at(place), TOP, x.at(place), BOTTOM) for place in clean),
        *(part for name in OUTCOMES for part in _curve(name, [getattr(one, name) for one in points], x, y)),
        *marks,
    )


def _curve(name: str, counts: Sequence[int], x: Scale, y: Scale) -> list[Element]:
    at = [(x.at(place), y.at(count)) for place, count in enumerate(counts)]
    dots = (
        node("circle", f"dot {name}", node("title", text=f"{WORDS[name]}: {count}"), cx=left, cy=top, r=RADIUS)
        for (left, top), count in zip(at, counts, strict=True)
    )
    return [path(f"step {name}", at), *dots]


class Cell(NamedTuple):
    """One image of the grid: a data address, and for each system what became of its question, and of all."""

    strength: str
    source: str
    outcomes: list[tuple[str, Case, Effect]]


def damage_grid(damaged: Damaged) -> dict[str, list[Cell]]:
    """The image under every condition, by change; the clean one alone in the first row."""
    effects = {(one.change, one.strength, one.system): one for one in damaged.found.effects}
    grid: dict[str, list[Cell]] = {}
    by_condition: dict[Condition, list[Case]] = {}
    for one in damaged.found.shown:
        by_condition.setdefault(Condition(one.change, one.strength), []).append(one)
    for condition, cases in by_condition.items():
        outcomes = [(WORDS[one.outcome], one, effects[(*condition, one.system)]) for one in cases]
        strength = "" if condition.strength is None else str(condition.strength)
        source = f"data:image/png;base64,{b64encode(small(damaged.files[condition.name])).decode()}"
        grid.setdefault(condition.change, []).append(Cell(strength, source, outcomes))
    return grid


def small(data: bytes) -> bytes:
    """A PNG file with a longer side of at most SIDE pixels, each the mean of a square of the image."""
    pixels = decode(data, MOST)
    factor = -(-max(pixels.opaque.shape) // SIDE)
    rgb = downscale(pixels.rgb, factor)[::factor, ::factor]
    return encode(Pixels(rgb, pixels.opaque[::factor, ::factor]))


def mistakes(damaged: Damaged) -> dict[tuple[str, str], list[Case]]:
    """Every question that was answered wrongly, by condition and system; none is left out."""
    found: dict[tuple[str, str], list[Case]] = {}
    for one in damaged.found.mistaken:
        name = one.change if one.change == CLEAN else f"{one.change} {one.strength}"
        found.setdefault((name, one.system), []).append(one)
    return found
