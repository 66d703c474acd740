"""Pixels -> integers that say how an image looks: colours and where they are, edges, outline, size. No word, no name.

Everything is counted in whole numbers, so that the features of an image are the same on every machine. The blocks of
`BLOCKS` stand one after the other; a share is given in 1/1024, a colour in levels of 0 to 255. Of the long histograms
the roots of the shares are taken, also in 1/1024 (Hellinger kernel): a few full cells would drown out all others.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from stages.corpus.png import Pixels

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

SHARE = 1024
CONTRAST = 24
"""Levels by which a channel must differ from the background to belong to the foreground."""
LAYOUT_SCALES = (1, 2, 4, 8)
COLOUR_LEVELS = 8
"""Along each of red, green and blue; a colour between them counts for both in parts (trilinear)."""
CROP = 32
"""Cells along each side of the square that is laid around the foreground."""
OUTLINE, CROP_COLOURS, EDGE_CELLS = 16, 4, 8
ORIENTATIONS = 12
TANGENTS = (274, 591, 1024, 1774, 3822)
"""1024 tan(15°, 30°, 45°, 60°, 75°): the borders between orientations, in a quarter turn."""
RINGS = 8


def extract(pixels: Pixels) -> Ints:
    """The features of one image, shape (LENGTH,)."""
    shown = foreground(pixels)
    rows, columns = _square(shown)
    crop, crop_shown = _resample(pixels.rgb.astype(np.int64), rows, columns), _resample(shown * 255, rows, columns)
    made: Mapping[str, Callable[[], Ints]] = {
        "layout": lambda: _layout(pixels.rgb),
        "colours": lambda: _colours(pixels.rgb[shown]),
        "mean_colour": lambda: _mean_colour(pixels.rgb, shown),
        "crop_colours": lambda: _pool(crop, CROP_COLOURS).ravel(),
        "outline": lambda: _pool(crop_shown[:, :, None], OUTLINE).ravel(),
        "edges": lambda: _edges(crop, EDGE_CELLS),
        "outline_edges": lambda: _edges(crop_shown[:, :, None], 1),
        "rings": lambda: _rings(crop_shown),
        "size": lambda: _size(shown),
    }
    return np.concatenate([made[name]() for name in BLOCKS])


def views(pixels: Pixels) -> Ints:
    """Features of an image, of its mirror image, and of both upside down, (4, LENGTH)."""
    steps = [(slice(None, None, down), slice(None, None, right)) for down in (1, -1) for right in (1, -1)]
    return np.stack([extract(Pixels(pixels.rgb[step], pixels.opaque[step])) for step in steps])


def foreground(pixels: Pixels) -> Mask:
    """(height, width): opaque pixels, or, where most of the border is opaque, what differs from its median colour.

    An image of one colour is all foreground.
    """
    opaque, rgb = _border(pixels.opaque), _border(pixels.rgb)
    shown = pixels.opaque
    if 2 * opaque.sum() >= len(opaque):
        background = np.median(rgb[opaque], axis=0).astype(np.int64)
        shown = shown & (np.abs(pixels.rgb.astype(np.int64) - background).max(axis=2) >= CONTRAST)
    return shown if shown.any() else np.ones_like(shown)


def _border(values: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([values[0], values[-1], values[1:-1, 0], values[1:-1, -1]])


def _square(shown: Mask) -> tuple[Ints, Ints]:
    """Borders (CROP + 1,) of the rows and columns of a square around the foreground; they may lie outside the image."""
    spans = [np.flatnonzero(shown.any(axis=axis)) for axis in (1, 0)]
    side = max(int(span[-1] - span[0]) + 1 for span in spans)
    starts = [(int(span[0] + span[-1]) + 1 - side) // 2 for span in spans]
    rows, columns = (start + np.arange(CROP + 1) * side // CROP for start in starts)
    return rows, columns


def _resample(values: NDArray[np.integer], rows: Ints, columns: Ints) -> Ints:
    """Means of the cells between the borders, rounded down; a cell takes in at least one pixel, the edge repeats."""
    height, width = values.shape[:2]
    totals = np.zeros((height + 1, width + 1, *values.shape[2:]), dtype=np.int64)
    totals[1:, 1:] = values.cumsum(axis=0).cumsum(axis=1)
    top, bottom = _spans(rows, height)
    left, right = _spans(columns, width)
    cells = totals[bottom][:, right] - totals[top][:, right] - totals[bottom][:, left] + totals[top][:, left]
    areas = (bottom - top)[:, None] * (right - left)
    return np.asarray(cells // areas.reshape(*areas.shape, *[1] * (values.ndim - 2)))


def _spans(borders: Ints, size: int) -> tuple[Ints, Ints]:
    start = np.clip(borders[:-1], 0, size - 1)
    return start, np.clip(borders[1:], start + 1, size)


def _pool(cells: Ints, side: int) -> Ints:
    """Means of (n, n, c) over side x side blocks, (side, side, c)."""
    step = len(cells) // side
    return np.asarray(cells.reshape(side, step, side, step, -1).sum(axis=(1, 3)) // step**2)


def _layout(rgb: NDArray[np.uint8]) -> Ints:
    """Mean colour of each cell of grids over the whole image, coarse to fine."""
    height, width = rgb.shape[:2]
    grids = [
        _resample(rgb, np.arange(n + 1) * height // n, np.arange(n + 1) * width // n).ravel() for n in LAYOUT_SCALES
    ]
    return np.concatenate(grids)


def _colours(colours: NDArray[np.uint8]) -> Ints:
    """Histogram of the foreground (n, 3) over the corners of a lattice of 8 x 8 x 8 colours."""
    places = colours.astype(np.int64) * (COLOUR_LEVELS - 1)
    low, above = places // 255, places % 255
    totals = np.zeros(COLOUR_LEVELS**3, dtype=np.int64)
    for corner in np.ndindex(2, 2, 2):
        cells = np.minimum(low + corner, COLOUR_LEVELS - 1) @ np.array([COLOUR_LEVELS**2, COLOUR_LEVELS, 1])
        np.add.at(totals, cells, np.where(corner, above, 255 - above).prod(axis=1))
    return _roots(totals)


def _roots(totals: Ints) -> Ints:
    """Roots of the shares of a histogram, rounded down; one without content stays 0."""
    shares = SHARE**2 * (totals / max(int(totals.sum()), 1))
    return np.sqrt(shares).astype(np.int64)


def _mean_colour(rgb: NDArray[np.uint8], shown: Mask) -> Ints:
    """Mean of the foreground: red, green, blue, and what each is above the mean of the three."""
    mean = rgb[shown].astype(np.int64).sum(axis=0) // int(shown.sum())
    return np.concatenate([mean, mean - mean.sum() // 3])


def _edges(values: Ints, side: int) -> Ints:
    """Histogram of the gradients of (n, n, c) by cell, side x side of them, and orientation, 12 without direction.

    At each place the channel with the strongest gradient counts, by its strength (Dalal & Triggs 2005).
    """
    down, right = values[2:, 1:-1] - values[:-2, 1:-1], values[1:-1, 2:] - values[1:-1, :-2]
    squares = down * down + right * right
    channel = squares.argmax(axis=2)[:, :, None]
    down, right, squares = (np.take_along_axis(one, channel, axis=2)[:, :, 0] for one in (down, right, squares))
    strength = np.sqrt(squares).astype(np.int64)
    place = np.arange(len(strength)) * side // len(strength)
    cells = (place[:, None] * side + place) * ORIENTATIONS + _orientation(down, right)
    totals = np.zeros(side**2 * ORIENTATIONS, dtype=np.int64)
    np.add.at(totals, cells, strength)
    return _roots(totals)


def _orientation(down: Ints, right: Ints) -> Ints:
    """0 to 11: the twelfth of a half turn in which the gradient (right, down) lies."""
    steep = sum((SHARE * np.abs(down) > tangent * np.abs(right)).astype(np.int64) for tangent in TANGENTS)
    return np.asarray(np.where(down * right < 0, ORIENTATIONS - 1 - steep, steep))


def _rings(shown: Ints) -> Ints:
    """Share of the foreground at each distance from its centroid, the radius being that of a circle of its area.

    The last ring holds all that is further away.
    """
    weight = shown.sum() or 1
    axis = np.arange(CROP)
    row, column = ((shown.sum(axis=side) * axis).sum() * 16 // weight for side in (1, 0))
    squares = (axis[:, None] * 16 - row) ** 2 + (axis * 16 - column) ** 2
    area = int(weight) * 256 // 255
    ring = np.minimum(np.sqrt(squares * 314 * RINGS**2 // (area * 100 * 4)).astype(np.int64), RINGS - 1)
    return SHARE * np.bincount(ring.ravel(), weights=shown.ravel(), minlength=RINGS).astype(np.int64) // weight


def _size(shown: Mask) -> Ints:
    """Root of the area, width and height as shares of the image's, area as a share of the box, and of the image."""
    height, width = shown.shape
    area = int(shown.sum())
    tall, wide = (int(np.ptp(np.flatnonzero(shown.any(axis=axis)))) + 1 for axis in (1, 0))
    root = int(np.sqrt(SHARE**2 * area // (height * width)))
    shares = (SHARE * wide // width, SHARE * tall // height, SHARE * area // (wide * tall))
    return np.array([root, *shares, SHARE * area // (height * width)], dtype=np.int64)


BLOCKS: Mapping[str, int] = {
    "layout": 3 * sum(n * n for n in LAYOUT_SCALES),
    "colours": COLOUR_LEVELS**3,
    "mean_colour": 6,
    "crop_colours": 3 * CROP_COLOURS**2,
    "outline": OUTLINE**2,
    "edges": EDGE_CELLS**2 * ORIENTATIONS,
    "outline_edges": ORIENTATIONS,
    "rings": RINGS,
    "size": 5,
}
"""Name and number of features of each block, in their order."""
LENGTH = sum(BLOCKS.values())
