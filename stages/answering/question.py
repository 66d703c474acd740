"""A question as the system understands it: weighted terms, the parts it joins, and whether it gives orders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stages.answering.instruction import instructs
from stages.corpus.terms import STOP, Term, Vocabulary, all_terms

JOIN = f"{STOP}/and"


@dataclass(frozen=True)
class Asked:
    """weights: idf of every distinct term. named: the terms that look like names. parts: distinct terms of each
    conjunct, one part when nothing is joined. instructs: the question itself tries to override the rules."""

    weights: Mapping[str, float]
    named: frozenset[str]
    parts: tuple[frozenset[str], ...]
    instructs: bool


def _split(found: Sequence[Term]) -> list[frozenset[str]]:
    parts: list[set[str]] = [set()]
    for term in found:
        if term.text == JOIN:
            parts.append(set())
        elif not term.text.startswith(STOP):
            parts[-1].add(term.text)
    return [frozenset(part) for part in parts if part]


def read_question(text: str, words: Vocabulary, cues: Vocabulary, idf: Callable[[str], float]) -> Asked:
    """Analyse the text of a question; it is data, whatever it says."""
    found = all_terms(text, words)
    meant = [term for term in found if not term.text.startswith(STOP)]
    return Asked(
        weights={term.text: idf(term.text) for term in meant},
        named=frozenset(term.text for term in meant if term.named),
        parts=tuple(_split(found)),
        instructs=instructs(text, cues),
    )
