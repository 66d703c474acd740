"""Changes that lose detail: blur, quantisation of blocks, downscaling. In whole numbers, the edge repeated outwards."""

import numpy as np

from stages.perturbation.levels import Ints, Levels, clipped, rounded

SIDE = 8
"""Pixels of a block, as in JPEG."""
PASSES = 3
"""Box means one after the other: three are near a Gaussian."""


def blur(rgb: Levels, radius: int) -> Levels:
    """Three box means of 2 * radius + 1 pixels along each axis, each rounded."""
    values = rgb.astype(np.int64)
    for _ in range(PASSES):
        for axis in (0, 1):
            values = _box(values, radius, axis)
    return clipped(values)


def _box(values: Ints, radius: int, axis: int) -> Ints:
    width, size = 2 * radius + 1, values.shape[axis]
    edges = [(radius + 1, radius) if one == axis else (0, 0) for one in range(values.ndim)]
    totals = np.pad(values, edges, mode="edge").cumsum(axis=axis)
    ends, starts = (np.take(totals, np.arange(size) + start, axis=axis) for start in (width, 0))
    return rounded(ends - starts, width)


def downscale(rgb: Levels, factor: int) -> Levels:
    """Every square of factor x factor pixels as its mean, from the upper left."""
    height, width = rgb.shape[:2]
    padded = _padded(rgb, factor)
    rows, columns = padded.shape[0] // factor, padded.shape[1] // factor
    means = rounded(padded.reshape(rows, factor, columns, factor, 3).sum(axis=(1, 3)), factor**2)
    return clipped(means.repeat(factor, axis=0).repeat(factor, axis=1)[:height, :width])


def quantise(rgb: Levels, step: int) -> Levels:
    """Blocks of 8 x 8 as JPEG treats them: transformed, every coefficient rounded to `step`, and back; 0 rounds none.

    The transform is Walsh's and Hadamard's, in sums and differences alone, in the place of JPEG's cosines: what comes
    out is the same on every machine. Coefficients of a transform that keeps lengths are meant: one has sum / 8.
    """
    height, width = rgb.shape[:2]
    padded = _padded(rgb, SIDE)
    blocks = padded.reshape(padded.shape[0] // SIDE, SIDE, padded.shape[1] // SIDE, SIDE, 3)
    found = _hadamard(_hadamard(blocks, 1), 3)
    kept = rounded(found, SIDE * step) * (SIDE * step) if step else found
    whole = rounded(_hadamard(_hadamard(kept, 1), 3), SIDE**2)
    return clipped(whole.reshape(padded.shape)[:height, :width])


def _padded(rgb: Levels, side: int) -> Ints:
    """With the last row and column repeated until both sides are multiples of `side`."""
    extra = [(0, -size % side) for size in rgb.shape[:2]]
    return np.pad(rgb.astype(np.int64), [*extra, (0, 0)], mode="edge")


def _hadamard(values: Ints, axis: int) -> Ints:
    """The Walsh-Hadamard transform along an axis of 8; twice gives 8 times the values."""
    values = np.moveaxis(values, axis, -1)
    for step in (1, 2, 4):
        pairs = values.reshape(*values.shape[:-1], SIDE // (2 * step), 2, step)
        one, other = pairs[..., 0, :], pairs[..., 1, :]
        values = np.stack([one + other, one - other], axis=-2).reshape(values.shape)
    return np.moveaxis(values, -1, axis)
