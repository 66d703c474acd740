"""One question through one system, before any threshold: candidates, signal, context, proposal, support."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from stages.answering.cite import cite, unchanged
from stages.answering.context import build_context
from stages.answering.instruction import instructs
from stages.answering.question import Asked, read_question
from stages.answering.signal import lexical_signal
from stages.answering.support import Source, first_reason
from stages.corpus.terms import Vocabulary
from stages.params import ContextParams, RetrievalParams, SupportParams
from stages.records import Candidate, Citation, Context, Entry, Question, Record
from stages.retrieval.library import Library, lexical_candidates, reranked
from stages.retrieval.rerank import entry_name


@dataclass(frozen=True)
class Answerer:
    """What answering needs: the library, the cue words of instructions, params, and `read(path)`, an original's bytes."""

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
        asked = read_question(question.text, library.words, self.cues, library.lexical.idf)
        lexical = lexical_candidates(library, asked.weights, self.retrieval)
        ranked = reranked(library, lexical, asked.weights, self.retrieval)
        top = ranked[: self.retrieval.top_k]
        context = build_context(top, library.entries, self.context)
        signal = lexical_signal(asked.weights, library.held(top[0].id)) if top else None
        entry, citations, refusal = self._propose(asked, ranked, context)
        return Record(
            id=question.id,
            text=question.text,
            rank_lists={"lexical": lexical},
            candidates=lexical,
            reranked=ranked,
            signal=signal,
            support=refusal is None,
            refusal=refusal,
            image=entry.path if entry and entry.kind == "image" else None,
            answer=citations[0].quote if citations else None,
            citations=citations,
            context=context,
        )

    def _propose(
        self, asked: Asked, ranked: tuple[Candidate, ...], context: Context
    ) -> tuple[Entry | None, tuple[Citation, ...], str | None]:
        """The best candidate, its citations, and why it may not be used (None when it may)."""
        if not ranked or not asked.weights:
            return None, (), "no_candidate"
        best, *rivals = [self._source(one) for one in ranked]
        data = self.read(best.entry.path)
        if not unchanged(best.entry, data):
            return best.entry, (), "source_changed"
        reason = first_reason(asked, best, rivals, self.field_names, self.support)
        return best.entry, self._cite(best.entry, data), reason

    def _source(self, candidate: Candidate) -> Source:
        entry = self.library.entries[candidate.id]
        chunk = self.library.entries[entry.chunk] if entry.chunk else entry
        return Source(
            entry=entry,
            held=self.library.held(entry.id),
            around=self.library.held(chunk.id),
            name=self.library.weigh(entry_name(entry)),
            instructs=entry.kind != "image" and instructs(chunk.text, self.cues),
        )

    def _cite(self, entry: Entry, data: bytes) -> tuple[Citation, ...]:
        if entry.kind == "image":
            return (cite(entry, None, None, None),)
        start, end = (entry.value_start, entry.value_end) if entry.kind == "field" else (entry.start, entry.end)
        return (cite(entry, start, end, data.decode("utf-8")),)
