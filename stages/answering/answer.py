"""One question through one system, before any threshold: candidates, signal, context, proposal, support."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from stages.answering.cite import cite, unchanged
from stages.answering.context import build_context
from stages.answering.question import Asked, read_question
from stages.answering.signal import lexical_signal
from stages.answering.source import Source, read_source
from stages.answering.support import Corpus, best_mention, first_reason
from stages.corpus.terms import Vocabulary
from stages.params import ContextParams, RetrievalParams, SupportParams
from stages.records import Citation, Entry, Mention, Question, Record
from stages.retrieval.library import Library, lexical_candidates, reranked


@dataclass(frozen=True)
class Answerer:
    """What answering needs: the library, the cues of instructions, params, and `read(path)`, an original's bytes."""

    library: Library
    cues: Vocabulary
    retrieval: RetrievalParams
    context: ContextParams
    support: SupportParams
    read: Callable[[str], bytes]

    @cached_property
    def field_names(self) -> frozenset[str]:
        """Every term that some field of the corpus has in its name."""
        fields = (entry for entry in self.library.entries.values() if entry.kind == "field")
        return frozenset(term for entry in fields for term in self.library.weigh(entry.text))

    def answer(self, question: Question) -> Record:
        """Answer one question; a refusal is a normal result, with its reason."""
        library = self.library
        asked = read_question(question.text, library.words, self.cues, library.lexical)
        lexical = lexical_candidates(library, asked.weights, self.retrieval)
        ranked = reranked(library, lexical, asked.weights, self.retrieval)
        top = ranked[: self.retrieval.top_k]
        context = build_context(top, library.entries, self.context)
        sources = [read_source(library.entries[one.id], library, self.cues) for one in top]
        entry, citations, refusal = self._propose(asked, sources)
        return Record(
            id=question.id,
            text=question.text,
            rank_lists={"lexical": lexical},
            candidates=lexical,
            reranked=ranked,
            signal=lexical_signal(asked, sources[0]) if sources else None,
            support=refusal is None,
            refusal=refusal,
            image=entry.path if entry and entry.kind == "image" else None,
            answer=citations[0].quote if citations else None,
            citations=citations,
            context=context,
        )

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
