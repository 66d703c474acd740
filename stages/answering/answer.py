"""One question through one system, before any threshold: candidates, signal, context, proposal, support."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stages.answering.cite import cite, unchanged
from stages.answering.context import build_context
from stages.answering.question import Asked, read_question
from stages.answering.signal import SIGNALS, lexical_signal
from stages.answering.source import Source, read_source
from stages.answering.support import Corpus, best_mention, first_reason
from stages.corpus.terms import Vocabulary
from stages.params import ContextParams, RetrievalParams, SupportParams
from stages.records import Candidate, Citation, Entry, Mention, Question, Record
from stages.retrieval.fuse import fuse
from stages.retrieval.library import Library, lexical_candidates, reranked
from stages.retrieval.neighbours import Neighbours, Vectors


@dataclass(frozen=True)
class Answerer:
    """What answering needs: the library, the cues of instructions, params, and `read(path)`, an original's bytes.

    neighbours: the vectors of the entries; None where only `lexical` is asked.
    """

    library: Library
    cues: Vocabulary
    retrieval: RetrievalParams
    context: ContextParams
    support: SupportParams
    read: Callable[[str], bytes]
    neighbours: Neighbours | None = None

    @cached_property
    def field_names(self) -> frozenset[str]:
        """Every term that some field of the corpus has in its name."""
        fields = (entry for entry in self.library.entries.values() if entry.kind == "field")
        return frozenset(term for entry in fields for term in self.library.weigh(entry.text))

    def answer(self, question: Question, system: str) -> Record:
        """Answer one question; a refusal is a normal result, with its reason.

        Systems differ in where candidates come from, and in the signal; all that follows is the same.
        """
        library = self.library
        asked = read_question(question.text, library, self.cues)
        vector = self.neighbours.embed(question.text) if self.neighbours and system != "lexical" else None
        lists = self._rank_lists(asked, vector, system)
        pool = self._pool(lists)
        ranked = reranked(library, pool, asked.weights, asked.keys, self.retrieval)
        top = ranked[: self.retrieval.top_k]
        sources = [read_source(library.entries[one.id], library, self.cues) for one in top]
        entry, citations, refusal = self._propose(asked, sources)
        return Record(
            id=question.id,
            text=question.text,
            rank_lists=lists,
            candidates=pool,
            reranked=ranked,
            top=None if entry is None else "image" if entry.kind == "image" else "text",
            signal=self._signal(asked, vector, sources[0], system) if sources else None,
            support=refusal is None,
            refusal=refusal,
            image=entry.path if entry and entry.kind == "image" else None,
            answer=citations[0].quote if citations else None,
            citations=citations,
            context=build_context(top, library.entries, self.context),
        )

    def _rank_lists(self, asked: Asked, vector: Vectors | None, system: str) -> dict[str, tuple[Candidate, ...]]:
        depth = self.library.pool_depth(self.retrieval.pool)
        lists = {}
        if system != "neural":
            lists["lexical"] = lexical_candidates(self.library, asked.weights, self.retrieval)
        if self.neighbours and vector is not None:
            lists["neural"] = self.neighbours.nearest(vector, depth)
        return lists

    def _pool(self, lists: Mapping[str, tuple[Candidate, ...]]) -> tuple[Candidate, ...]:
        if len(lists) == 1:
            return next(iter(lists.values()))
        return fuse(lists.values(), self.retrieval.rrf_k, self.library.pool_depth(self.retrieval.pool))

    def _signal(self, asked: Asked, vector: Vectors | None, best: Source, system: str) -> float:
        similarity = self.neighbours.cosine(vector, best.entry.id) if self.neighbours and vector is not None else 0.0
        return SIGNALS[system](lexical_signal(asked, best), similarity)

    def _propose(
        self, asked: Asked, sources: Sequence[Source]
    ) -> tuple[Entry | None, tuple[Citation, ...], str | None]:
        """The best candidate, its citations, and why it may not be used (None when it may)."""
        if not sources:
            return None, (), "no_candidate"
        best = sources[0]
        places: list[Entry | Mention] = [best.entry, *best_mention(asked, best)]
        originals = [self.read(place.path) for place in places]
        if not all(unchanged(place, data) for place, data in zip(places, originals, strict=True)):
            return best.entry, (), "source_changed"
        corpus = Corpus(self.library.any_holds(asked.named), self.field_names)
        citations = tuple(cite(place, data) for place, data in zip(places, originals, strict=True))
        return best.entry, citations, first_reason(asked, sources, corpus, self.support)
