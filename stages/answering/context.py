"""Ranked candidates -> the context: whole chunks in ranked order, duplicates dropped, until the budget.

A chunk that does not fit is dropped whole and listed, and the next one is tried; nothing is cut in the middle. A field
stands for the chunk that holds it, an image for its own description.
"""

from collections.abc import Mapping, Sequence

from stages.corpus.tokens import count_tokens
from stages.params import ContextParams
from stages.records import Candidate, Context, Entry


def size(entry: Entry, unit: str) -> int:
    """Length of an entry's text in `unit`: approximate tokens, or Unicode characters."""
    return count_tokens(entry.text) if unit == "tokens" else len(entry.text)


def build_context(ranked: Sequence[Candidate], entries: Mapping[str, Entry], params: ContextParams) -> Context:
    """Select from `ranked`, best first. Two chunks with the same text are duplicates, whatever file they stand in."""
    selected: list[str] = []
    over: list[str] = []
    repeated: list[str] = []
    texts: set[str] = set()
    used = 0
    for candidate in ranked:
        entry = entries[candidate.id]
        entry = entries[entry.chunk] if entry.chunk else entry
        length = size(entry, params.unit)
        if entry.text in texts:
            repeated.append(entry.id)
        elif used + length > params.budget:
            over.append(entry.id)
        else:
            selected.append(entry.id)
            texts.add(entry.text)
            used += length
    return Context(tuple(selected), tuple(over), tuple(repeated), params.unit, used, params.budget)
