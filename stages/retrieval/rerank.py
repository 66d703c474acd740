"""The transparent reranker, the same for every system: how much of the question an entry covers, and how little else it names.

score = coverage + FOCUS * focus, rounded to 6 decimals:
coverage  idf-weighted share of the question's distinct terms that the entry holds;
focus     idf-weighted share of the entry's own name (a field's name, the last heading of a chunk, an image's words) that
          the question asks for. It settles what coverage ties: "weight" finds `Weight` before `Shipping weight`.
"""

from collections.abc import Iterable, Mapping, Sequence, Set

from stages.records import Candidate, Entry
from stages.retrieval.lexical import DECIMALS

FOCUS = 0.1


def share(part: Iterable[str], weights: Mapping[str, float]) -> float:
    """Weight of the terms in `part` over the weight of all terms in `weights`; 0 when there is nothing to weigh."""
    total = sum(weights[term] for term in sorted(weights))
    return sum(weights[term] for term in sorted(set(part) & weights.keys())) / total if total else 0.0


def entry_name(entry: Entry) -> str:
    """What an entry calls itself."""
    return (
        entry.headings[-1] if entry.kind == "chunk" and entry.headings else "" if entry.kind == "chunk" else entry.text
    )


def rerank(
    pool: Sequence[Candidate],
    asked: Mapping[str, float],
    held: Mapping[str, Set[str]],
    named: Mapping[str, Mapping[str, float]],
) -> tuple[Candidate, ...]:
    """Order the pool again.

    asked: idf of every distinct term of the question. held: terms of each candidate, by id. named: idf of the terms of
    each candidate's name, by id. Returns the same ids sorted by (-score, id).
    """
    scored = [
        Candidate(one.id, round(share(held[one.id], asked) + FOCUS * share(asked, named[one.id]), DECIMALS))
        for one in pool
    ]
    return tuple(sorted(scored, key=lambda one: (-one.score, one.id)))
