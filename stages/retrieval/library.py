"""The index as retrieval sees it: the entries, what terms they hold, and what their names weigh."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from stages.corpus.terms import Vocabulary, terms
from stages.params import RetrievalParams
from stages.records import Candidate, Entry
from stages.retrieval.front import Fronts, Terms, read_fronts
from stages.retrieval.lexical import LexicalIndex, bm25, rank, with_pairs
from stages.retrieval.rerank import entry_names, rerank

POOL_SHARE = 10


@lru_cache(maxsize=1 << 16)
def _distinct(text: str, words: Vocabulary) -> tuple[str, ...]:
    return tuple(sorted(set(with_pairs(terms(text, words)))))


@dataclass(frozen=True)
class Library:
    """`ids[row]` is the entry in that row of the lexical index; `words` is the vocabulary that cut its terms."""

    ids: tuple[str, ...]
    entries: Mapping[str, Entry]
    lexical: LexicalIndex
    words: Vocabulary
    rows: Mapping[str, int]

    def held(self, entry_id: str) -> frozenset[str]:
        """Distinct terms that an entry holds, heading path and mentions included."""
        return self.lexical.held(self.rows[entry_id])

    def distinct(self, text: str) -> frozenset[str]:
        """Distinct terms of a text."""
        return frozenset(_distinct(text, self.words))

    def weigh(self, text: str) -> Mapping[str, float]:
        """Distinct terms of a short text with their idf."""
        if text not in self._weighed:
            self._weighed[text] = {term: self.lexical.idf(term) for term in _distinct(text, self.words)}
        return self._weighed[text]

    @cached_property
    def fronts(self) -> Fronts:
        """The front matter of every document that has one."""
        return read_fronts(self.entries.values(), self.distinct)

    @cached_property
    def _weighed(self) -> dict[str, dict[str, float]]:
        return {}

    def weigh_held(self, entry_id: str) -> Mapping[str, float]:
        """Distinct terms that an entry holds with their idf."""
        return self.lexical.weights(self.rows[entry_id])

    def any_holds(self, wanted: Iterable[str]) -> bool:
        """True when some entry holds all of these terms."""
        holders = [self.lexical.holders(term) for term in wanted]
        return not holders or bool(frozenset.intersection(*holders))

    def pool_depth(self, wanted: int) -> int:
        """How many candidates the reranker gets: never more than a tenth of the entries, never none."""
        return max(1, min(wanted, len(self.ids) // POOL_SHARE))


def lexical_candidates(library: Library, asked: Iterable[str], params: RetrievalParams) -> tuple[Candidate, ...]:
    """The BM25 pool for the distinct terms of a question."""
    scores = bm25(library.lexical, asked, params.bm25_k1, params.bm25_b)
    return rank(library.ids, scores, library.pool_depth(params.pool))


def reranked(
    library: Library,
    pool: tuple[Candidate, ...],
    asked: Mapping[str, float],
    keys: Mapping[str, Terms],
    params: RetrievalParams,
) -> tuple[Candidate, ...]:
    """The pool after the reranker, or as it came when the reranker is switched off.

    asked: idf of every distinct term of the question; keys: of front matter that it asks for, by path.
    """
    if not params.rerank:
        return pool
    entries = {one.id: library.entries[one.id] for one in pool}
    held = {one.id: library.held(one.id) for one in pool}
    named = {name: _names(library, entry, asked, keys) for name, entry in entries.items()}
    headed = {name: _subjects(library, entry) for name, entry in entries.items()}
    return rerank(pool, asked, held, named, headed)


def _names(
    library: Library, entry: Entry, asked: Mapping[str, float], keys: Mapping[str, Terms]
) -> list[Mapping[str, float]]:
    """The weighed names of an entry. A chunk has none shorter than all that it holds. A field has none at all whose
    value the question itself gives; of front matter, where the question asks for a key of some, only that key has."""
    if entry.kind == "chunk":
        return [library.weigh_held(entry.id)]
    value = library.distinct(entry.value or "")
    if entry.front_matter and keys:
        named = keys.get(entry.path) == library.distinct(entry.text)
    else:
        named = not value or not value <= asked.keys()
    return [library.weigh(name) for name in entry_names(entry)] if named else []


def _subjects(library: Library, entry: Entry) -> list[Mapping[str, float]]:
    """What an entry may be about, weighed: its heading path; of front matter also what else names the document."""
    names = library.fronts.names[entry.path] if entry.front_matter else ()
    others = ({term: library.lexical.idf(term) for term in sorted(name)} for name in names)
    return [library.weigh("\n".join(entry.headings)), *others]
