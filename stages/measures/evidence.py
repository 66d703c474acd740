"""Where the evidence of a question was lost, from its record and label alone: the first step behind which it is gone.

The steps stand in the order of the pipeline; `CAUSES` has them all, and what each of them means. No threshold is needed
for those that are looked for here; `stages.measures.attribution` adds the decision's own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from stages.measures.relevance import Holders, Indexed, originals_of
from stages.records import UNANSWERABLE_KINDS, Candidate, Label, Record

CauseName: TypeAlias = Literal[
    "not_indexed",
    "field_not_parsed",
    "not_in_candidates",
    "below_top_k",
    "not_in_context",
    "wrong_candidate",
    "source_changed",
    "asked_not_parsed",
    "support_refused",
    "gate_refused",
    "answered_unanswerable",
]
CAUSES: Mapping[CauseName, str] = {
    "not_indexed": "no entry of the index holds the evidence whole",
    "field_not_parsed": "the value stands in the index, but no field of a document has it as its value",
    "not_in_candidates": "no candidate holds the evidence",
    "below_top_k": "a candidate holds the evidence, but not one of the first k after reranking",
    "not_in_context": "one of the first k holds the evidence, but nothing that was selected for the context",
    "wrong_candidate": "the evidence is in the context, but the answer is taken from something else, or not all of it",
    "source_changed": "the first candidate's original has changed since it was indexed",
    "asked_not_parsed": "the right image or value, but the support check does not see that the question asks for it",
    "support_refused": "the right answer, refused by the support check",
    "gate_refused": "the right answer with support, but a signal below the threshold",
    "answered_unanswerable": "answered what should have been refused",
}
"""Every cause of a wrong decision, in the order of the pipeline. A wrong one has the first that applies."""

DETAILS: Mapping[CauseName, str] = {
    "not_indexed": "rejected: an original of the evidence was left out; no_entry: no single entry holds all of it",
    "not_in_candidates": "the rank lists, all of which lack it (`lexical+neural`), or fusion: one has it, the pool not",
    "below_top_k": "candidates: it stood below k before reranking too; reranker: it did not",
    "not_in_context": "budget, duplicate, or chunk: the chunk of the field that was found does not hold it whole",
    "wrong_candidate": "answered or refused: what became of it",
    "asked_not_parsed": "attribute or field: what the support check takes for unknown, or for not given",
    "support_refused": "the reason that the support check gave",
    "gate_refused": "refuse_all: there is no threshold that a signal could reach",
    "answered_unanswerable": f"the kind: {', '.join(UNANSWERABLE_KINDS)}",
}
"""What the `detail` of a cause says; the others have none."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a decision is wrong.

    short  how much was missing: places to the first k (below_top_k), threshold minus signal (gate_refused); else None.
    """

    name: CauseName
    detail: str | None = None
    short: float | None = None


def cause_text(cause: Cause) -> str:
    """A cause with its detail and how much was missing, on one line: `gate_refused (short by 0.0312)`."""
    short = [] if cause.short is None else [f"short by {cause.short:g}"]
    told = ", ".join([*([cause.detail] if cause.detail else []), *short])
    return f"{cause.name} ({told})" if told else cause.name


@dataclass(frozen=True)
class Trail:
    """What the steps look at: a record of an answerable question, its label, and which entries hold each group."""

    record: Record
    label: Label
    holders: Holders
    indexed: Indexed

    @cached_property
    def top(self) -> tuple[Candidate, ...]:
        """The first k after reranking: each is selected for the context or dropped from it, once."""
        return self.record.reranked[: context_size(self.record)]

    def gone(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups that none of these entries holds."""
        there = set(names)
        return [group for group in self.holders if there.isdisjoint(group)]


def context_size(record: Record) -> int:
    """How many candidates went on to the context: k, or the whole pool where that is smaller."""
    context = record.context
    return len(context.selected) + len(context.dropped_budget) + len(context.dropped_duplicate)


def rank_of(group: Sequence[str], ranked: Sequence[Candidate]) -> int | None:
    """The 1-based place of the first entry that holds a group, or None."""
    return next((place for place, one in enumerate(ranked, 1) if one.id in group), None)


def lost(record: Record, label: Label, indexed: Indexed, right: bool) -> Cause | None:
    """The first step at which an answerable question's evidence was lost; None where the record holds what is right.

    right: the answer that the record holds would be right (`correct_if_accepted`). Then nothing was lost on the way,
    whatever the context dropped: an image or a value is answered from the candidate itself.
    """
    if right or not label.answerable:
        return None
    trail = Trail(record, label, indexed.holders(label), indexed)
    found = (step(trail) for step in _STEPS)
    return next((one for one in found if one), Cause("wrong_candidate"))


def _not_indexed(trail: Trail) -> Cause | None:
    if all(trail.holders):
        return None
    rejected = originals_of(trail.label) & set(trail.indexed.rejected)
    return Cause("not_indexed", "rejected" if rejected else "no_entry")


def _field_not_parsed(trail: Trail) -> Cause | None:
    held = (trail.indexed.entries[name] for group in trail.holders for name in group)
    value = trail.label.expected_value
    parsed = value is None or any(entry.kind == "field" and entry.value == value for entry in held)
    return None if parsed else Cause("field_not_parsed")


def _not_in_candidates(trail: Trail) -> Cause | None:
    """What is in the context is not lost: a field among the candidates brings its whole chunk there."""
    gone = trail.gone([*(one.id for one in trail.record.candidates), *trail.record.context.selected])
    if not gone:
        return None
    lists = trail.record.rank_lists
    nowhere = any(all(rank_of(group, one) is None for one in lists.values()) for group in gone)
    return Cause("not_in_candidates", "+".join(sorted(lists)) if nowhere else "fusion")


def _below_top_k(trail: Trail) -> Cause | None:
    """What is in the context is not lost, here too."""
    gone, k = trail.gone([*(one.id for one in trail.top), *trail.record.context.selected]), len(trail.top)
    if not gone:
        return None
    before, after = ([rank_of(group, ranked) or 0 for group in gone] for ranked in _rankings(trail.record))
    return Cause("below_top_k", "candidates" if max(before) > k else "reranker", max(after) - k)


def _rankings(record: Record) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    return record.candidates, record.reranked


def _not_in_context(trail: Trail) -> Cause | None:
    context = trail.record.context
    gone = trail.gone(context.selected)
    if not gone:
        return None
    first = next(trail.indexed.entries[one.id] for one in trail.top if one.id in gone[0])
    chunk = first.chunk or first.id
    if chunk in context.selected:
        return Cause("not_in_context", "chunk")
    return Cause("not_in_context", "budget" if chunk in context.dropped_budget else "duplicate")


def _source_changed(trail: Trail) -> Cause | None:
    first = any(trail.top[0].id in group for group in trail.holders)
    return Cause("source_changed") if first and trail.record.refusal == "source_changed" else None


_STEPS: tuple[Callable[[Trail], Cause | None], ...] = (
    _not_indexed,
    _field_not_parsed,
    _not_in_candidates,
    _below_top_k,
    _not_in_context,
    _source_changed,
)
"""`wrong_candidate` is what remains: the first candidate was read, and holds not what is right."""
