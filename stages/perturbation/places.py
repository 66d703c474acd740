"""Changes of where things lie and of what lies around them: rotation, translation, crop, occlusion, background.

What moves in from outside has the colour of the border, or is transparent where most of the border is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.corpus.describe import foreground
from stages.corpus.png import Pixels
from stages.perturbation.levels import MIDDLE, Ints, clipped, rounded

STEP = 5
"""Degrees between the entries of SINES."""
SINES = (
    *(0, 5712, 11380, 16962, 22415, 27697, 32768, 37590, 42126, 46341, 50203, 53684, 56756, 59396, 61584, 63303),
    *(64540, 65287, 65536),
)
"""65536 times the sine of 0, 5, ..., 90 degrees, to the nearest whole number (tests/test_perturbation.py)."""
WHITE = np.array([255, 255, 255], dtype=np.uint8)


class Ground(NamedTuple):
    """What lies around an image: a colour (3,), and whether it is opaque."""

    colour: NDArray[np.uint8]
    opaque: bool


def ground(pixels: Pixels) -> Ground:
    """The median colour of the opaque border, the lower one of two; white and transparent where most of it is."""
    rgb, opaque = _border(pixels.rgb), _border(pixels.opaque)
    if 2 * opaque.sum() < len(opaque):
        return Ground(WHITE, False)
    ordered = np.sort(rgb[opaque], axis=0)
    return Ground(ordered[(len(ordered) - 1) // 2].astype(np.uint8), True)


def _border(values: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([values[0], values[-1], values[1:-1, 0], values[1:-1, -1]])


def rotate(pixels: Pixels, degrees: int) -> Pixels:
    """Turned clockwise about the middle by a multiple of 5 degrees, each pixel taken from the nearest place."""
    height, width = pixels.opaque.shape
    rows, columns = (2 * np.arange(size, dtype=np.int64) - (size - 1) for size in (height, width))
    cosine, sine = sines(degrees + 90), sines(degrees)
    down, right = rows[:, None], columns[None, :]
    unit = 2 * SINES[-1]
    row = rounded(cosine * down - sine * right + (height - 1) * SINES[-1], unit)
    column = rounded(cosine * right + sine * down + (width - 1) * SINES[-1], unit)
    return _taken(pixels, row, column)


def sines(degrees: int) -> int:
    """65536 times the sine of a multiple of 5 degrees."""
    degrees %= 360
    sign = 1 if degrees < 180 else -1
    quarter = min(degrees % 180, 180 - degrees % 180)
    return sign * SINES[quarter // STEP]


def translate(pixels: Pixels, percent: int) -> Pixels:
    """Moved down and to the right by `percent` of height and width."""
    height, width = pixels.opaque.shape
    row = np.arange(height, dtype=np.int64)[:, None] - height * percent // 100
    column = np.arange(width, dtype=np.int64)[None, :] - width * percent // 100
    return _taken(pixels, *np.broadcast_arrays(row, column))


def _taken(pixels: Pixels, row: Ints, column: Ints) -> Pixels:
    """The pixels at (row, column), each (height, width); the ground where that lies outside."""
    height, width = pixels.opaque.shape
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    row, column = np.where(inside, row, 0), np.where(inside, column, 0)
    colour, opaque = ground(pixels)
    return Pixels(
        np.where(inside[:, :, None], pixels.rgb[row, column], colour),
        np.where(inside, pixels.opaque[row, column], opaque),
    )


def crop(pixels: Pixels, percent: int) -> Pixels:
    """Without `percent` of height and width at each edge; what remains keeps its pixels."""
    height, width = pixels.opaque.shape
    down, right = height * percent // 100, width * percent // 100
    rows, columns = slice(down, height - down), slice(right, width - right)
    return Pixels(pixels.rgb[rows, columns], pixels.opaque[rows, columns])


def occlude(pixels: Pixels, percent: int, random: np.random.Generator) -> Pixels:
    """A grey square of `percent` of the shorter side over some place in the image."""
    height, width = pixels.opaque.shape
    side = min(height, width) * percent // 100
    top, left = (int(random.integers(0, size - side + 1)) for size in (height, width))
    rgb, opaque = pixels.rgb.copy(), pixels.opaque.copy()
    rgb[top : top + side, left : left + side] = MIDDLE
    opaque[top : top + side, left : left + side] = True
    return Pixels(rgb, opaque)


def background(pixels: Pixels, percent: int) -> Pixels:
    """What is not foreground, `percent` of the way to the opposite of its colour, and opaque; 0 leaves it."""
    if not percent:
        return pixels
    behind = ~foreground(pixels)
    colour = ground(pixels).colour.astype(np.int64)
    new = clipped(colour + rounded((255 - 2 * colour) * percent, 100))
    return Pixels(np.where(behind[:, :, None], new, pixels.rgb), pixels.opaque | behind)
