"""What of the evidence reached the context, and what else the context carries.

Counts are taken question by question, so that they can be kept without the labels and summed later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from stages.answering.context import size
from stages.corpus.tokens import tokens
from stages.measures.rate import rate
from stages.measures.relevance import held, is_expected_image, is_relevant
from stages.records import Context, Entry, Label


@dataclass(frozen=True, slots=True)
class ContextCounts:
    """One question's context in numbers.

    groups/visible   necessary evidence groups, and those with a whole alternative in one selected entry.
    selected         entries selected; `relevant` and `traceable` of them are relevant, and have a complete provenance.
    tokens/repeated  tokens of the selected entries, and those that only repeat the end of the chunk before.
    used/budget      in the context's unit.
    whole            True when `used` is the sum of the selected entries' whole texts: nothing was cut.
    """

    groups: int
    visible: int
    selected: int
    relevant: int
    traceable: int
    tokens: int
    repeated: int
    used: int
    budget: int
    whole: bool


def context_counts(context: Context, label: Label, entries: Mapping[str, Entry]) -> ContextCounts:
    """Count one question's context; `entries` by id holds every selected one (KeyError otherwise)."""
    chosen = [entries[name] for name in context.selected]
    words = {entry.id: tokens(entry.text) for entry in chosen}
    visible = visible_groups(label, chosen)
    return ContextCounts(
        groups=len(visible),
        visible=sum(visible),
        selected=len(chosen),
        relevant=sum(is_relevant(label, entry) for entry in chosen),
        traceable=sum(map(is_traceable, chosen)),
        tokens=sum(map(len, words.values())),
        repeated=repeated_tokens(chosen, words),
        used=context.used,
        budget=context.budget,
        whole=context.used == sum(size(entry, context.unit) for entry in chosen),
    )


def visible_groups(label: Label, chosen: Sequence[Entry]) -> list[bool]:
    """Say for each necessary evidence group whether one of its alternatives lies whole in one of `chosen`.

    An image question has one group: the expected image. Two chunks that hold half an alternative each do not show it.
    """
    if label.category == "image":
        return [any(is_expected_image(label, entry) for entry in chosen)]
    return [any(held(span, chosen) for span in group) for group in label.evidence]


def is_traceable(entry: Entry) -> bool:
    """True when a citation can be made: id, path and file hash; for text also a heading path and a span."""
    identified = bool(entry.id and entry.path and entry.sha256)
    placed = bool(entry.headings) and entry.start is not None and entry.end is not None
    return identified and (entry.kind == "image" or placed)


def repeated_tokens(chosen: Iterable[Entry], words: Mapping[str, Sequence[str]]) -> int:
    """Count the tokens with which chunks begin by repeating the end of the chunk before, by start, in the same path.

    `words` gives each chunk's tokens by id.
    """
    chunks = [entry for entry in chosen if entry.kind == "chunk"]
    chunks.sort(key=lambda entry: (entry.path, entry.start or 0, entry.end or 0, entry.id))
    return sum(overlap(words[a.id], words[b.id]) for a, b in pairwise(chunks) if a.path == b.path)


def overlap(first: Sequence[str], second: Sequence[str]) -> int:
    """Give the length of the longest suffix of `first` that is a prefix of `second`."""
    lengths = range(min(len(first), len(second)), 0, -1)
    return next((n for n in lengths if first[-n] == second[0] and first[-n:] == second[:n]), 0)


def context_metrics(counts: Sequence[ContextCounts], answerable: Sequence[bool]) -> dict[str, Any]:
    """Sum up questions, both (n,) in the same order; every rate comes with its `_of`.

    recall               visible / necessary evidence groups, over answerable questions.
    precision            relevant / selected entries, over answerable questions (precision_unit: "chunks").
    redundancy           repeated / selected tokens, over all questions; likewise the rest:
    budget_utilization   used / budget: the mean over questions, because a run has one budget.
    provenance_complete  traceable / selected entries.
    truncated            questions whose context is not made of whole entries.
    n                    questions.
    """
    gold = [row for row, known in zip(counts, answerable, strict=True) if known]
    return {
        **rate("recall", sum(row.visible for row in gold), sum(row.groups for row in gold)),
        **rate("precision", sum(row.relevant for row in gold), sum(row.selected for row in gold)),
        "precision_unit": "chunks",
        **rate("redundancy", sum(row.repeated for row in counts), sum(row.tokens for row in counts)),
        **rate("budget_utilization", sum(row.used for row in counts), sum(row.budget for row in counts)),
        **rate("provenance_complete", sum(row.traceable for row in counts), sum(row.selected for row in counts)),
        "truncated": sum(not row.whole for row in counts),
        "n": len(counts),
    }
