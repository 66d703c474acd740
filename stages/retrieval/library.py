"""The index as retrieval sees it: the entries, what terms they hold, and what their names weigh."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from stages.corpus.terms import Vocabulary, terms
from stages.params import RetrievalParams
from stages.records import Candidate, Entry
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
    library: Library, pool: tuple[Candidate, ...], asked: Mapping[str, float], params: RetrievalParams
) -> tuple[Candidate, ...]:
    """The pool after the reranker, or as it came when the reranker is switched off."""
    if not params.rerank:
        return pool
    held = {one.id: library.held(one.id) for one in pool}
    named = {one.id: _names(library, library.entries[one.id], asked) for one in pool}
    headed = {one.id: library.weigh("\n".join(library.entries[one.id].headings)) for one in pool}
    return rerank(pool, asked, held, named, headed)


def _names(library: Library, entry: Entry, asked: Mapping[str, float]) -> list[Mapping[str, float]]:
    """The weighed names of an entry: a chunk has none shorter than all that it holds, a field whose value the question
    itself gives has none at all."""
    if entry.kind == "chunk":
        return [library.weigh_held(entry.id)]
    value = library.distinct(entry.value or "")
    return [] if value and value <= asked.keys() else [library.weigh(name) for name in entry_names(entry)]
