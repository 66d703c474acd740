"""Several rank lists into one: reciprocal rank fusion (Cormack, Clarke & Buettcher 2009)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from stages.records import Candidate
from stages.retrieval.lexical import DECIMALS


def fuse(lists: Iterable[Sequence[Candidate]], k: int, depth: int) -> tuple[Candidate, ...]:
    """The `depth` best by the sum of 1 / (k + rank) over the lists, ranks from 1, sorted by (-score, id).

    The scores order candidates of one question; they say nothing about how good the best one is.
    """
    scores: dict[str, float] = defaultdict(float)
    for ranked in lists:
        for place, candidate in enumerate(ranked, 1):
            scores[candidate.id] += 1 / (k + place)
    fused = (Candidate(name, round(score, DECIMALS)) for name, score in scores.items())
    return tuple(sorted(fused, key=lambda one: (-one.score, one.id))[:depth])
