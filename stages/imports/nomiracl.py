"""NoMIRACL: real queries, each with the passages that a search found for it; for some of them none answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from stages.corpus.chunk import sentences
from stages.imports.collection import Asked, Collection, Passage, Place, Unanswerable

NOT_RELEVANT = Unanswerable("hard_negative", "NoMIRACL: no passage that was found for the query answers it.")


@dataclass(frozen=True, slots=True)
class Query:
    """A row of queries.jsonl; `docids` are the passages that were found for it."""

    id: str
    query: str
    label: Literal["answerable", "unanswerable"]
    docids: list[str]


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A row of passages.jsonl; docid is `document#number`. Without `title` the text begins with it: `Title: text`."""

    docid: str
    text: str
    title: str | None = None


def nomiracl_findings(queries: Sequence[Query], rows: Sequence[PassageRow]) -> Iterator[str]:
    """Passages of queries that are not there."""
    known = {row.docid for row in rows}
    for one in queries:
        yield from (f"queries.jsonl: {one.id}: no {name} in passages.jsonl" for name in one.docids if name not in known)


def nomiracl_collection(queries: Sequence[Query], rows: Sequence[PassageRow]) -> Collection:
    """Passages as they are; evidence is every sentence of every passage that was found for an answerable query.

    Which of these passages answers is not known, only that one does: what is measured as relevant or right is that one
    of them is there, which is less.
    """
    passages = {row.docid: _passage(row) for row in rows}
    return Collection(
        [_passage(row) for row in rows], [_asked(one, passages) for one in queries], independent_draws=True
    )


def _passage(row: PassageRow) -> Passage:
    title, text = row.title, row.text
    if title is None:
        title, colon, rest = row.text.partition(": ")
        title, text = (title, rest) if colon else ("", row.text)
    return Passage(row.docid, row.docid.rpartition("#")[0] or row.docid, title, text)


def _asked(one: Query, passages: dict[str, Passage]) -> Asked:
    about = tuple(dict.fromkeys(one.docids))
    if one.label == "unanswerable":
        return Asked(one.id, one.query, about, (), NOT_RELEVANT)
    found = [passages[name] for name in about if name in passages]
    return Asked(one.id, one.query, about, tuple(place for passage in found for place in all_sentences(passage)))


def all_sentences(passage: Passage) -> list[Place]:
    """Every sentence of a passage: a chunk that holds one is of this passage."""
    return [Place(passage.id, start, end) for start, end in sentences(passage.text)]
