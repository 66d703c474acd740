"""The transparent reranker, the same for every system: how much of a question an entry covers, and how little else.

score = coverage + FOCUS * focus + SUBJECT * subject, rounded to 6 decimals:
coverage  idf-weighted share of the question's distinct terms that the entry holds;
focus     idf-weighted share of the entry's own name that the question asks for. It settles what coverage ties:
          "weight" finds `Weight` before `Shipping weight`, and the field before the chunk that holds it. A field whose
          value stands in the question has none: what is asked is something else.
subject   idf-weighted share of the heading path that the question asks for, or of what else names the document in its
          front matter: the document about it comes before one about something wider.
"""

from collections.abc import Container, Mapping, Sequence, Set

from stages.records import Candidate, Entry
from stages.retrieval.lexical import DECIMALS

FOCUS = 0.1
SUBJECT = 0.05


def share(part: Container[str], weights: Mapping[str, float]) -> float:
    """Weight of the terms in `part` over the weight of all terms in `weights`; 0 when there is nothing to weigh.

    Summed in the order of `weights`, so that equal arguments give equal bits.
    """
    total = sum(weights.values())
    return sum([weight for term, weight in weights.items() if term in part]) / total if total else 0.0


def entry_names(entry: Entry) -> tuple[str, ...]:
    """What a field or an image may be called by: its name; its description, words where it is shown or in its file."""
    shown, said = (mention.words for mention in entry.mentions), (one.words for one in entry.inscriptions)
    return (entry.text, *shown, *said)


def rerank(
    pool: Sequence[Candidate],
    asked: Mapping[str, float],
    held: Mapping[str, Set[str]],
    named: Mapping[str, Sequence[Mapping[str, float]]],
    headed: Mapping[str, Sequence[Mapping[str, float]]],
) -> tuple[Candidate, ...]:
    """Order the pool again.

    asked: idf of every distinct term of the question. held: terms of each candidate, by id. named: idf of the terms of
    each candidate's names, by id. headed: the same of what it is about. Returns the same ids sorted by (-score, id).
    """
    scored = []
    for one in pool:
        focus = max((share(asked, name) for name in named[one.id]), default=0.0)
        subject = max((share(asked, path) for path in headed[one.id]), default=0.0)
        score = share(held[one.id], asked) + FOCUS * focus + SUBJECT * subject
        scored.append(Candidate(one.id, round(score, DECIMALS)))
    return tuple(sorted(scored, key=lambda one: (-one.score, one.id)))
