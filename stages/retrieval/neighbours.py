"""Nearest neighbours of a question among the entries' vectors: HNSW proposes, exact rescoring decides.

Vectors hold whole numbers from -127 to 127, so that their products are exact in any order on any processor (in float32
up to about 1,000 dimensions). HNSW is asked for OVERSAMPLING times as many as are wanted; what it gives is scored again
exactly, sorted by (-score, id) and cut.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.records import Candidate
from stages.retrieval.lexical import DECIMALS

Vectors = NDArray[np.int8]
LARGEST = 127
OVERSAMPLING = 4


def quantise(rows: NDArray[np.float64]) -> Vectors:
    """Rows (n, dimension) of length 1 or 0 as whole numbers from -127 to 127."""
    return np.rint(rows * LARGEST).astype(np.int8)


def cosines(asked: Vectors, rows: Vectors) -> NDArray[np.float64]:
    """Cosine (n,) of one vector (dimension,) with each row (n, dimension), to 6 decimals; 0 where one of them is 0."""
    whole, one = rows.astype(np.int64), asked.astype(np.int64)
    lengths = np.sqrt((whole * whole).sum(axis=1) * (one * one).sum())
    shares: NDArray[np.float64] = (whole * one).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
    return np.round(shares, DECIMALS)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """`vectors[row]` belongs to `ids[row]`; `embed(text)` gives a question's vector; `propose(vector, k)` the rows of
    about k near ones, in any order: HNSW, or all rows for the exact search that it is checked against."""

    ids: Sequence[str]
    rows: Mapping[str, int]
    vectors: Vectors
    embed: Callable[[str], Vectors]
    propose: Callable[[Vectors, int], NDArray[np.int64]]

    def nearest(self, asked: Vectors, depth: int) -> tuple[Candidate, ...]:
        """The `depth` entries most similar to a vector, sorted by (-cosine, id); none for a vector of 0."""
        if not asked.any():
            return ()
        rows = self.propose(asked, min(OVERSAMPLING * depth, len(self.ids)))
        scored = zip(rows.tolist(), cosines(asked, self.vectors[rows]).tolist(), strict=True)
        ranked = sorted(
            (Candidate(self.ids[row], score) for row, score in scored), key=lambda one: (-one.score, one.id)
        )
        return tuple(ranked[:depth])

    def cosine(self, asked: Vectors, entry_id: str) -> float:
        """Cosine of a vector with one entry's."""
        row = self.rows[entry_id]
        return float(cosines(asked, self.vectors[row : row + 1])[0])


def recall(exact: Sequence[Sequence[Candidate]], found: Sequence[Sequence[Candidate]]) -> tuple[int, int]:
    """How many of the exact neighbours were found, and how many there are, over all questions."""
    pairs = [({one.id for one in right}, {one.id for one in ours}) for right, ours in zip(exact, found, strict=True)]
    return sum(len(right & ours) for right, ours in pairs), sum(len(right) for right, _ in pairs)
