"""How early the first relevant entry stands in a rank list."""

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

from stages.measures.rate import rate


def first_relevant_rank(ranked: Iterable[str], relevant: Collection[str]) -> int | None:
    """Give the 1-based place of the first relevant id in `ranked` (best first), or None when there is none."""
    return next((place for place, name in enumerate(ranked, 1) if name in relevant), None)


def hit_at(ranks: Sequence[int | None], k: int) -> dict[str, Any]:
    """Give {hit_at_k, hit_at_k_of}: the share of questions whose first relevant rank is at most `k`; None is no hit."""
    return rate(f"hit_at_{k}", sum(rank is not None and rank <= k for rank in ranks), len(ranks))


def mrr_at(ranks: Sequence[int | None], k: int) -> dict[str, Any]:
    """Give {mrr_at_k, mrr_at_k_of}: the mean of 1 / rank, where a rank beyond `k` or None counts 0."""
    reciprocals = (Fraction(1, rank) for rank in ranks if rank is not None and rank <= k)
    return rate(f"mrr_at_{k}", sum(reciprocals, Fraction(0)), len(ranks))


def ranking_metrics(ranks: Sequence[int | None]) -> dict[str, Any]:
    """Give hit_at_1, hit_at_5, mrr_at_5 (each with its `_of`) and n, the number of questions."""
    return {**hit_at(ranks, 1), **hit_at(ranks, 5), **mrr_at(ranks, 5), "n": len(ranks)}
