"""BEIR: a corpus, queries, and which documents are relevant to which query; every query has one as a rule."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import msgspec

from stages.imports.collection import Asked, Collection, Passage, Unanswerable
from stages.imports.files import left_out
from stages.imports.nomiracl import all_sentences
from stages.imports.split import chosen, joined

LEFT_OUT = 1 / 3
"""Share of the queries that lose their relevant documents where no query is without."""
NONE_RELEVANT = Unanswerable("hard_negative", "BEIR: no document that was judged for the query is relevant.")
TAKEN_AWAY = Unanswerable("missing", "BEIR: the documents that are relevant to the query were left out of the corpus.")
Id = Annotated[str, msgspec.Meta(min_length=1)]


class DocumentRow(msgspec.Struct, frozen=True):
    """A row of corpus.jsonl."""

    id: Id = msgspec.field(name="_id")
    text: str
    title: str = ""


class QueryRow(msgspec.Struct, frozen=True):
    """A row of queries.jsonl."""

    id: Id = msgspec.field(name="_id")
    text: str


class Judgement(NamedTuple):
    """A row of qrels/*.tsv; a score above 0 is relevant."""

    query: str
    document: str
    score: int


@dataclass(frozen=True, slots=True)
class Beir:
    """The three kinds of files."""

    documents: Sequence[DocumentRow]
    queries: Sequence[QueryRow]
    judgements: Sequence[Judgement]


def beir_findings(beir: Beir) -> Iterator[str]:
    """Judgements of queries and documents that are not there."""
    documents, queries = {one.id for one in beir.documents}, {one.id for one in beir.queries}
    for one in beir.judgements:
        if one.query not in queries:
            yield f"qrels: no query {one.query} in queries.jsonl"
        if one.document not in documents:
            yield f"qrels: no document {one.document}, judged for query {one.query}, in corpus.jsonl"


def beir_collection(beir: Beir, seed: int) -> Collection:
    """Judged queries about documents; evidence is every sentence of every relevant one.

    Where each has a relevant document, LEFT_OUT of them lose theirs, in groups that share some: these cannot be
    answered from what is left, as far as the judgements tell.
    """
    relevant: dict[str, list[str]] = defaultdict(list)
    for one in beir.judgements:
        relevant[one.query] += [one.document] if one.score > 0 else []
    taken = set() if not all(relevant.values()) else _taken(relevant, seed)
    away = {name for query in taken for name in relevant[query]}
    texts = (Passage(one.id, one.id, one.title, one.text if one.text.strip() else one.title) for one in beir.documents)
    passages = {one.id: one for one in texts if one.text.strip() and one.id not in away}
    judged = [one for one in beir.queries if one.id in relevant]
    counts = {
        "documents without text": sum(not (one.text.strip() or one.title.strip()) for one in beir.documents),
        "relevant documents": len(away),
        "queries without judgement": len(beir.queries) - len(judged),
    }
    return Collection(
        _each(beir.documents, passages),
        [_asked(one, relevant[one.id], passages, taken) for one in judged],
        independent_draws=True,
        notes=tuple(left_out(counts)),
    )


def _each(documents: Iterable[DocumentRow], passages: Mapping[str, Passage]) -> list[Passage]:
    """Each row as often as it stands there, so that the second is found."""
    return [passages[one.id] for one in documents if one.id in passages]


def _taken(relevant: Mapping[str, Sequence[str]], seed: int) -> set[str]:
    """The queries that lose their relevant documents; with each all that share one of these."""
    groups = joined([("query", query), *(("document", name) for name in names)] for query, names in relevant.items())
    group_of = {query: "\0".join(groups["query", query]) for query in relevant}
    groups_taken = chosen(Counter(group_of.values()), seed, LEFT_OUT)
    return {query for query, group in group_of.items() if group in groups_taken}


def _asked(one: QueryRow, relevant: Sequence[str], passages: Mapping[str, Passage], taken: Set[str]) -> Asked:
    about = tuple(dict.fromkeys(relevant))
    if one.id in taken or not about:
        return Asked(one.id, one.text, about, (), TAKEN_AWAY if about else NONE_RELEVANT)
    found = [passages[name] for name in about if name in passages]
    return Asked(one.id, one.text, about, tuple(place for passage in found for place in all_sentences(passage)))
