"""Pixels -> what they show, in the canonical words of vocabulary.yaml: colour, shape, size, position and count.

Everything follows from the pixels by fixed geometric rules: the background is the most frequent colour of the border,
each connected foreground area is one shape.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.corpus.colour import dominant_colour
from stages.corpus.components import Component, Mask, components
from stages.corpus.outline import extent, hull, name_outline
from stages.corpus.png import Pixels

Words = Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]

CONTRAST = 28
"""Levels by which a channel must differ from the background; light noise stays below."""
BIN = 32
"""Levels of a channel that count as one when the most frequent colour of the border is looked for."""
SPECK_PIXELS, SPECK_SHARE = 16, 0.001
"""A component smaller than either is ignored."""
SMALL_BELOW, LARGE_FROM = 0.30, 0.43
"""Largest extent of a shape in any direction, as a share of the image's shorter side; medium lies between."""
POSITIONS = (("top left", "top", "top right"), ("left", "centre", "right"), ("bottom left", "bottom", "bottom right"))
COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MANY = "many"


class Shape(NamedTuple):
    """One foreground area; `shape` is None when its outline has no name. All words are canonical."""

    size: str
    colour: str
    shape: str | None
    position: str


class Group(NamedTuple):
    """Shapes that differ in their position alone; positions are distinct and ordered row by row."""

    size: str
    colour: str
    shape: str | None
    positions: tuple[str, ...]
    number: str


def describe(pixels: Pixels) -> tuple[Shape, ...]:
    """Return the shapes that an image shows, the largest area first, ties from top to bottom and left to right."""
    height, width = pixels.opaque.shape
    least = max(SPECK_PIXELS, round(SPECK_SHARE * height * width))
    found = sorted(components(foreground(pixels), least), key=lambda one: -int(one.mask.sum()))
    return tuple(_shape(component, pixels.rgb) for component in found)


def foreground(pixels: Pixels) -> Mask:
    """Return the (height, width) mask of what is not background.

    Where most of the border is transparent, that is every opaque pixel. Otherwise it is what differs from the
    background; of a soft edge, only the half that is nearer to the shape.
    """
    opaque_border = _border(pixels.opaque)
    if 2 * opaque_border.sum() < len(opaque_border):
        return pixels.opaque
    background = _most_frequent(_border(pixels.rgb)[opaque_border])
    contrast = np.abs(pixels.rgb.astype(np.int16) - background).max(axis=2) * pixels.opaque
    return np.asarray((contrast >= CONTRAST) & (2 * contrast >= _around(contrast)))


def _border(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the values of the outermost pixels, along the first axis."""
    return np.concatenate([values[0], values[-1], values[1:-1, 0], values[1:-1, -1]])


def _most_frequent(colours: NDArray[np.generic]) -> NDArray[np.int16]:
    """Return the median colour of the fullest bin; of equally full ones, of the darkest."""
    bins = colours.astype(np.int32) // BIN @ np.array([64, 8, 1])
    median = np.median(colours[bins == np.bincount(bins).argmax()].astype(np.int16), axis=0)
    return np.asarray(median, dtype=np.int16)


def _around(contrast: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the largest contrast in the 3 x 3 pixels around each one."""
    for axis in (0, 1):
        padded = np.pad(contrast, [(1, 1) if axis == own else (0, 0) for own in (0, 1)])
        before, here, after = (np.take(padded, range(i, i + contrast.shape[axis]), axis=axis) for i in range(3))
        contrast = np.maximum(np.maximum(before, here), after)
    return contrast


def _shape(component: Component, rgb: NDArray[np.uint8]) -> Shape:
    mask, top, left = component
    height, width = mask.shape
    crop = rgb[top : top + height, left : left + width]
    return Shape(
        size=_size(extent(hull(mask)) / 2 / min(rgb.shape[:2])),
        colour=dominant_colour(crop, mask),
        shape=name_outline(mask),
        position=_position(component, *rgb.shape[:2]),
    )


def _size(share: float) -> str:
    if share < SMALL_BELOW:
        return "small"
    return "medium" if share < LARGE_FROM else "large"


def _position(component: Component, height: int, width: int) -> str:
    """Return the cell of a 3 x 3 grid that holds the centroid."""
    rows, columns = np.nonzero(component.mask)
    row = 3 * (component.top + rows.mean() + 0.5) // height
    column = 3 * (component.left + columns.mean() + 0.5) // width
    return POSITIONS[int(row)][int(column)]


def group(shapes: Iterable[Shape]) -> tuple[Group, ...]:
    """Put like shapes together, in the order in which the first of each kind comes."""
    places: dict[tuple[str, str, str | None], list[str]] = {}
    for size, colour, shape, position in shapes:
        places.setdefault((size, colour, shape), []).append(position)
    return tuple(Group(*kind, _ordered(found), _count(len(found))) for kind, found in places.items())


def _ordered(positions: Sequence[str]) -> tuple[str, ...]:
    return tuple(position for row in POSITIONS for position in row if position in positions)


def _count(number: int) -> str:
    return COUNTS[number - 1] if number <= len(COUNTS) else MANY


def words(shapes: Iterable[Shape], vocabulary: Words, languages: Sequence[str]) -> str:
    """Return the description as text, such as `small red circle, centre, single | 小 红色 圆形, 中央, 单个`.

    `vocabulary` maps section, canonical word and language to the words for it, of which the first is used. Languages
    are separated by ` | `, groups of like shapes by `; `. An image without shapes gives an empty text.

    Raises KeyError when the vocabulary lacks a canonical word or a language.
    """
    groups = group(shapes)
    if not groups:
        return ""
    return " | ".join("; ".join(_phrase(one, vocabulary, language) for one in groups) for language in languages)


def _phrase(group: Group, vocabulary: Words, language: str) -> str:
    def say(section: str, word: str) -> str:
        return vocabulary[section][word][language][0]

    kind = (("size", group.size), ("colour", group.colour), ("shape", group.shape))
    looks = " ".join(say(section, word) for section, word in kind if word)
    return ", ".join([looks, *(say("position", one) for one in group.positions), say("count", group.number)])
