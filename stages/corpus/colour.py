"""Pixels -> one of the eleven basic colour terms, by hue, saturation and value.

The names are the canonical words of the section `colour` in vocabulary.yaml.
"""

import numpy as np
from numpy.typing import NDArray

from stages.corpus.components import Mask

NAMES = ("black", "white", "red", "green", "yellow", "blue", "brown", "orange", "pink", "purple", "grey")

HUES = ((14, "red"), (43, "orange"), (70, "yellow"), (165, "green"), (258, "blue"), (300, "purple"), (342, "pink"))
"""Upper ends of the hues in degrees; what remains up to 360 is red again."""


def dominant_colour(rgb: NDArray[np.uint8], mask: Mask) -> str:
    """Return the most frequent name among the pixels of a mask, edges left out where anything remains.

    `rgb` is (height, width, 3), `mask` (height, width). Of equally frequent names the first of `NAMES` is returned.
    """
    inner = _inner(mask)
    codes = name_codes(rgb[inner if inner.any() else mask])
    return NAMES[int(np.bincount(codes, minlength=len(NAMES)).argmax())]


def _inner(mask: Mask) -> Mask:
    """Return the pixels of a mask whose four neighbours all belong to it."""
    around = np.pad(mask, 1)
    return mask & around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:]


def name_codes(rgb: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the place in `NAMES` for each of (n, 3) colours; the first rule that fits decides.

    Dark is black; what has little colour is white or grey. Between red and yellow, what is dim or pale is brown; a pale
    red is pink; a dim pink is purple. All others are named by their hue.
    """
    value, saturation, hue = hsv(rgb)
    warm, reddish = (hue >= 8) & (hue < 50), (hue < 14) | (hue >= 342)
    pinkish = (hue >= 300) & (hue < 342)
    rules = {
        "black": (value < 0.2) | (value < 0.26) & (saturation < 0.35),
        "white": (saturation < 0.12) & (value >= 0.88),
        "grey": (saturation < 0.15) | (saturation < 0.25) & (value < 0.55),
        "brown": warm & ((value < 0.68) | (saturation < 0.65) & (value < 0.86)),
        "pink": reddish & (saturation < 0.57) & (value >= 0.7),
        "purple": pinkish & (value < 0.66),
    }
    by_hue = np.array([NAMES.index(name) for _, name in HUES] + [NAMES.index("red")])
    codes = by_hue[np.searchsorted([end for end, _ in HUES], hue, side="right")]
    return np.select(list(rules.values()), [np.intp(NAMES.index(name)) for name in rules], codes)


def hsv(rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return value (0..1), saturation (0..1) and hue (degrees, 0 to below 360) of (n, 3) colours."""
    levels = rgb.astype(np.float64)
    red, green, blue = levels.T
    most, spread = levels.max(axis=1), np.ptp(levels, axis=1)
    unit = np.maximum(spread, 1)
    sixths = np.select(
        [most == red, most == green], [(green - blue) / unit, 2 + (blue - red) / unit], 4 + (red - green) / unit
    )
    return most / 255, spread / np.maximum(most, 1), 60 * (sixths % 6)
