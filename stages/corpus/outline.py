"""Outline of one component -> the name of its shape, by measures that do not change when the shape is turned.

The names are the canonical words of the section `shape` in vocabulary.yaml.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stages.corpus.components import Mask, filled

Points = NDArray[np.float64]

CONVEX_FROM = 0.85
"""Solidity (area / area of the convex hull) from which an outline has no notches."""
TIGHT = 0.56
"""The most that a polygon around an outline may add, as a share of what a regular one adds to a circle."""
CORNERED = {3: "triangle", 5: "pentagon", 6: "hexagon"}
MOST_ADDED = 0.16
"""Share of its area that any polygon may add; without this limit a trapezoid would pass for a triangle."""
MOST_CORNERS = 6
EVEN_FROM = 0.86
"""Ratio of the axes from which an outline is even: a circle, square, pentagon or hexagon, not ellipse or rectangle."""
BOX_FROM = 0.84
"""Share of the smallest box around an outline of four corners from which it is a rectangle."""
TILTED_FROM = 22.5
"""Degrees from which a square stands on its corner and is called a diamond."""
SKEWED_FROM = 0.15
"""Largest distance between the middles of a diamond's diagonals, as a share of the longer, and cosine between them."""
RING_FROM = 0.1
"""Share of a round outline's area that is a hole."""
STRENGTH_FROM = 0.25
"""Least strength of the turning symmetry of a star or cross."""
MOST_ARMS = 8
DECIMALS = 9


def name_outline(mask: Mask) -> str | None:
    """Return the shape's name, or None when no rule fits.

    `mask` is one component, cropped to its bounding box.
    """
    whole = filled(mask)
    outline = hull(whole)
    if solidity(whole, outline) < CONVEX_FROM:
        return _name_notched(whole)
    polygon, even = corners(outline), axis_ratio(whole) >= EVEN_FROM
    if polygon is not None and len(polygon) == 4:
        return _name_four(outline, polygon, even)
    if polygon is not None and (even or len(polygon) == 3):
        return CORNERED[len(polygon)]
    if 1 - mask.sum() / whole.sum() >= RING_FROM:
        return "ring"
    return "circle" if even else "ellipse"


def hull(mask: Mask) -> Points:
    """Return the convex hull of the middles of the pixels' sides, as (n, 2) points x, y in half pixels, in order."""
    height, width = mask.shape
    rows, columns = 2 * np.arange(height) + 1, 2 * np.arange(width) + 1
    sides = [
        (2 * mask.argmax(axis=1), rows),
        (2 * (width - mask[:, ::-1].argmax(axis=1)), rows),
        (columns, 2 * mask.argmax(axis=0)),
        (columns, 2 * (height - mask[::-1].argmax(axis=0))),
    ]
    points = sorted({(x, y) for xs, ys in sides for x, y in zip(xs.tolist(), ys.tolist(), strict=True)})
    return np.array(_chain(points) + _chain(points[::-1]), dtype=np.float64)


def _chain(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return one side of the convex hull of sorted points without its last point (Andrew's monotone chain)."""
    chain: list[tuple[int, int]] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain[:-1]


def _turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    """Return twice the signed area of a triangle."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def extent(points: Points) -> float:
    """Return the largest distance between two points of an outline, in the points' unit."""
    apart = points[:, None, :] - points[None, :, :]
    return math.sqrt(float((apart**2).sum(axis=2).max()))


def solidity(mask: Mask, outline: Points) -> float:
    """Return the share of its convex hull that an outline covers."""
    return int(mask.sum()) / (_area(outline) / 4)


def _area(points: Points) -> float:
    return abs(float(_cross(points, np.roll(points, -1, axis=0)).sum())) / 2


def corners(outline: Points) -> Points | None:
    """Return the polygon with the fewest sides, 3 to 6, that fits closely around a convex outline; None if none does.

    Sides are taken away one by one; `_allowance` says what fits.
    """
    polygon: Points | None = outline
    fitting, area = None, _area(outline)
    while polygon is not None:
        sides = len(polygon)
        if sides <= MOST_CORNERS and _area(polygon) / area - 1 <= _allowance(sides):
            fitting = polygon
        polygon = _without_side(polygon) if sides > 3 else None
    return fitting


def _allowance(sides: int) -> float:
    """Return how much a fitting polygon may add, as a share of the area inside.

    The regular polygon of k sides around a circle adds (k / pi) tan(pi / k) - 1.
    """
    return min(MOST_ADDED, TIGHT * (sides / math.pi * math.tan(math.pi / sides) - 1))


def _without_side(polygon: Points) -> Points | None:
    """Extend the neighbours of one side until they meet; of all sides, the one for which this adds the least area."""
    before, side, after = (np.roll(polygon, -i, axis=0) - np.roll(polygon, 1 - i, axis=0) for i in range(3))
    turn = _cross(before, after)
    reach = _cross(side, after) / np.where(turn > 0, turn, 1)
    added = np.where(turn > 0, reach * _cross(before, side), np.inf)
    cheapest = int(added.argmin())
    if turn[cheapest] <= 0:
        return None
    meeting = polygon[cheapest] + reach[cheapest] * before[cheapest]
    moved = np.where(np.arange(len(polygon))[:, None] == cheapest, meeting, polygon)
    return np.delete(moved, (cheapest + 1) % len(polygon), axis=0)


def _cross(one: Points, other: Points) -> NDArray[np.float64]:
    return one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]


def _name_four(outline: Points, polygon: Points, even: bool) -> str | None:
    share, tilt = _smallest_box(outline)
    if share < BOX_FROM:
        return "diamond" if _is_rhombus(polygon) else None
    if not even:
        return "rectangle"
    return "square" if tilt < TILTED_FROM else "diamond"


def _smallest_box(polygon: Points) -> tuple[float, float]:
    """Return the share of the smallest box around a polygon that it fills, and the box's tilt in degrees (0 to 45)."""
    sides = np.roll(polygon, -1, axis=0) - polygon
    along = sides / np.sqrt((sides**2).sum(axis=1, keepdims=True))
    x, y = polygon[:, :1], polygon[:, 1:]
    # element by element: a product of matrices rounds differently from one BLAS kernel to the next
    length = np.ptp(x * along[:, 0] + y * along[:, 1], axis=0)
    areas = length * np.ptp(y * along[:, 0] - x * along[:, 1], axis=0)
    best = int(areas.argmin())
    tilt = math.degrees(math.atan2(*np.sort(np.abs(along[best])).tolist()))
    return _area(polygon) / float(areas[best]), tilt


def _is_rhombus(polygon: Points) -> bool:
    """Tell whether two diagonals halve each other at right angles."""
    a, b, c, d = polygon
    one, other = c - a, d - b
    lengths = math.hypot(*one), math.hypot(*other)
    apart = math.hypot(*((a + c) / 2 - (b + d) / 2)) / max(lengths)
    return apart < SKEWED_FROM and abs(float((one * other).sum())) / (lengths[0] * lengths[1]) < SKEWED_FROM


def axis_ratio(mask: Mask) -> float:
    """Return the ratio of the shorter to the longer axis of the ellipse with the same second moments, 0 to 1."""
    x, y = _centred(mask)
    xx, yy, xy = float((x * x).mean()) + 1 / 12, float((y * y).mean()) + 1 / 12, float((x * y).mean())
    root = math.sqrt((xx - yy) ** 2 + 4 * xy**2)
    return math.sqrt((xx + yy - root) / (xx + yy + root))


def _centred(mask: Mask) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, columns = np.nonzero(mask)
    return columns - columns.mean(), rows - rows.mean()


def _name_notched(mask: Mask) -> str | None:
    """Name an outline with notches by its arms: their number is its strongest turning symmetry."""
    strengths = symmetries(mask, MOST_ARMS)
    arms = int(np.argmax(strengths))
    if strengths[arms] < STRENGTH_FROM or arms < 4:
        return None
    return "cross" if arms == 4 else "star"


def symmetries(mask: Mask, most: int) -> list[float]:
    """Return the strength of each turning symmetry from 0 (set to 0) to `most`, 0 to 1.

    That of k is |sum of r exp(i k angle)| / sum of r over the pixels, at r and angle from their centroid. Rounded: the
    last bits of a complex power are the processor's.
    """
    x, y = _centred(mask)
    radius = np.sqrt(x * x + y * y)
    direction = (x + 1j * y) / np.maximum(radius, 0.5)
    turned = [float(np.abs((radius * direction**k).sum()) / radius.sum()) for k in range(1, most + 1)]
    return [0.0, *(round(strength, DECIMALS) for strength in turned)]
