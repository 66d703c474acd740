"""Mask -> connected components, by union of row runs (scipy.ndimage does the same, but its import costs 0.15 s)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Component(NamedTuple):
    """One connected set of pixels: its mask, cropped to its bounding box, whose upper left pixel is (top, left)."""

    mask: Mask
    top: int
    left: int


def label(mask: Mask, diagonal: bool = True) -> Indices:
    """Number the components of a (height, width) mask from 1, in the order of their first pixels; 0 is outside.

    Pixels are neighbours when they share a side, or also a corner when `diagonal` is true.
    """
    height, width = mask.shape
    edges = np.diff(np.pad(mask, ((0, 0), (1, 2))).astype(np.int8).ravel(), prepend=np.int8(0))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    roots = _join(starts, ends, width + 3, int(diagonal))
    numbers = np.unique(roots, return_inverse=True)[1] + 1
    labels = np.zeros((height, width), dtype=np.intp)
    labels[mask] = np.repeat(numbers, ends - starts)
    return labels


def _join(starts: Indices, ends: Indices, stride: int, reach: int) -> Indices:
    """Return for each run the first run that it is connected with; runs one `stride` apart lie above each other."""
    parents = list(range(len(starts)))
    first = np.searchsorted(ends, starts + stride - reach, side="right")
    last = np.searchsorted(starts, ends + stride + reach, side="left")
    for upper, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for lower in range(low, high):
            one, other = _root(parents, upper), _root(parents, lower)
            parents[max(one, other)] = min(one, other)
    return np.array([_root(parents, run) for run in range(len(parents))], dtype=np.intp)


def _root(parents: list[int], run: int) -> int:
    while parents[run] != run:
        parents[run] = parents[parents[run]]
        run = parents[run]
    return run


def components(mask: Mask, least: int) -> Iterator[Component]:
    """Yield the components of at least `least` pixels, in the order of their first pixels."""
    labels = label(mask)
    pixels = np.flatnonzero(labels)
    pixels = pixels[np.argsort(labels.ravel()[pixels], kind="stable")]
    for own in np.split(pixels, np.cumsum(np.bincount(labels[mask])[1:])[:-1]):
        if len(own) >= least:
            yield _crop(*np.divmod(own, mask.shape[1]))


def _crop(rows: Indices, columns: Indices) -> Component:
    top, left = int(rows.min()), int(columns.min())
    mask = np.zeros((int(rows.max()) - top + 1, int(columns.max()) - left + 1), dtype=np.bool_)
    mask[rows - top, columns - left] = True
    return Component(mask, top, left)


def filled(mask: Mask) -> Mask:
    """Return the mask with its holes filled: all that the outside does not reach from pixel side to pixel side."""
    outside = label(~np.pad(mask, 1), diagonal=False)
    inside: Mask = outside != outside[0, 0]
    return inside[1:-1, 1:-1]
