"""Changes of each pixel by itself: brightness, contrast, hue, noise, inversion.

`rgb` is (height, width, 3) in levels of 0 to 255. Whole numbers only; quotients are rounded to the nearest, halves up.
"""

import numpy as np
from numpy.typing import NDArray

Levels = NDArray[np.uint8]
Ints = NDArray[np.int64]

MIDDLE = 128
UNIFORMS = 12
"""Bytes that are added up for one normal deviate (Irwin-Hall); together they have a standard deviation of 255.998."""


def rounded(values: Ints, unit: int) -> Ints:
    """Values over `unit`, to the nearest whole number."""
    return np.asarray((2 * values + unit) // (2 * unit))


def clipped(values: Ints) -> Levels:
    """Values as levels; what lies outside is cut off."""
    return np.clip(values, 0, 255).astype(np.uint8)


def brightness(rgb: Levels, percent: int) -> Levels:
    """Every level times `percent` / 100."""
    return clipped(rounded(rgb.astype(np.int64) * percent, 100))


def contrast(rgb: Levels, percent: int) -> Levels:
    """Every level's distance from the middle times `percent` / 100."""
    return clipped(MIDDLE + rounded((rgb.astype(np.int64) - MIDDLE) * percent, 100))


def invert(rgb: Levels, percent: int) -> Levels:
    """`percent` / 100 of the way from every level to 255 less it; at 50 all is grey."""
    levels = rgb.astype(np.int64)
    return clipped(levels + rounded((255 - 2 * levels) * percent, 100))


def noise(rgb: Levels, deviation: int, random: np.random.Generator) -> Levels:
    """Every sample moved by a deviate of its own, near enough normal: a sum of 12 uniform bytes.

    deviation: the standard deviation in levels.
    """
    total = np.zeros(rgb.shape, dtype=np.int64)
    for _ in range(UNIFORMS):
        total += random.integers(0, 256, rgb.shape)
    return clipped(rgb + rounded((2 * total - UNIFORMS * 255) * deviation, 512))


def hue(rgb: Levels, degrees: int) -> Levels:
    """The hue turned by `degrees` on the colour hexagon, value and saturation kept (Smith 1978).

    In sixtieths of a degree of a colour's own spread everything is whole: H = 60 (sextant * spread + rest).
    """
    red, green, blue = (rgb[:, :, channel].astype(np.int64) for channel in range(3))
    most = np.maximum(np.maximum(red, green), blue)
    spread = most - np.minimum(np.minimum(red, green), blue)
    sixths = np.where(
        most == red, green - blue, np.where(most == green, 2 * spread + blue - red, 4 * spread + red - green)
    )
    turned, circle = 60 * sixths + degrees * spread, np.maximum(360 * spread, 1)
    made = []
    for start in (5, 3, 1):
        place = (60 * start * spread + turned) % circle
        made.append(most - rounded(np.clip(np.minimum(place, 240 * spread - place), 0, 60 * spread), 60))
    return clipped(np.stack(made, axis=2))
