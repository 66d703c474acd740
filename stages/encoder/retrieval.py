"""How often a pair finds itself: images among texts and texts among images."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.exact import Floats, matmul

Ints = NDArray[np.int64]


class Found(NamedTuple):
    """How many of `total` have their own partner first."""

    correct: int
    total: int


class BothWays(NamedTuple):
    """Top-1 counts in each direction."""

    image_to_text: Found
    text_to_image: Found


def both_ways(images: Floats, texts: Floats, rows: Ints) -> BothWays:
    """Counts for the pairs `rows`, each among all: vectors (n, dimension) of images and of texts, pair by pair."""
    ways = ((images, texts), (texts, images))
    return BothWays(*(Found(int((ranks(*way)[rows] == 1).sum()), len(rows)) for way in ways))


def ranks(asked: Floats, candidates: Floats) -> Ints:
    """Rank (n,) of its own candidate for each row, from 1; of candidates as similar, all count that come before it."""
    similarities = matmul(asked, candidates.T)
    own = np.diagonal(similarities)[:, None]
    place = np.arange(len(asked))
    before = (similarities > own) | ((similarities == own) & (place < place[:, None]))
    return np.asarray(before.sum(axis=1) + 1)
