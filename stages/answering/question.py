"""A question as the system understands it: weighted terms, the parts it joins, and whether it gives orders."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stages.answering.instruction import question_instructs
from stages.corpus.terms import STOP, Term, Vocabulary, all_terms
from stages.retrieval.front import Terms, asked_keys
from stages.retrieval.lexical import LexicalIndex
from stages.retrieval.library import Library

JOIN = f"{STOP}/and"
NAME_WEIGHT = 2.0
UNKNOWN_WEIGHT = 0.25
_BREAK = re.compile("[;；?？、]")


@dataclass(frozen=True)
class Asked:
    """What a question asks for.

    weights    every distinct term by its idf; a name counts NAME_WEIGHT times, since another subject's value is no
               answer; a word that no entry holds counts UNKNOWN_WEIGHT times, since it may be a paraphrase.
    strict     the same, but a word that no entry holds counts in full: no picture shows it.
    named      the terms that look like names, and pairs (`model~300`) of the corpus, or of a model that it lacks.
    parts      distinct unnamed terms, sorted, of each conjunct; none of names alone.
    keys       of front matter, in terms, by the path of the document that they are asked of.
    instructs  the question itself tries to override the rules.
    """

    weights: Mapping[str, float]
    strict: Mapping[str, float]
    named: frozenset[str]
    parts: tuple[tuple[str, ...], ...]
    keys: Mapping[str, Terms]
    instructs: bool


def _split(found: Sequence[Term]) -> tuple[tuple[str, ...], ...]:
    parts: list[set[str]] = [set()]
    for term in found:
        if term.text == JOIN:
            parts.append(set())
        elif not term.named and not term.text.startswith(STOP):
            parts[-1].add(term.text)
    return tuple(tuple(sorted(part)) for part in parts if part)


def _names(found: Sequence[Term], lexical: LexicalIndex) -> frozenset[str]:
    pairs = (term.pair for term in found if term.pair and _is_name(term.pair, lexical))
    return frozenset([*(term.text for term in found if term.named), *pairs])


def _is_name(pair: str, lexical: LexicalIndex) -> bool:
    """A pair of the corpus, or one whose word makes other pairs there and never stands with this number at all."""
    word, _, number = pair.partition("~")
    apart = lexical.holders(word) & lexical.holders(number)
    return pair in lexical.terms or (word in lexical.pair_heads and not apart)


def read_question(text: str, library: Library, cues: Vocabulary) -> Asked:
    """Analyse the text of a question; it is data, whatever it says."""
    words, lexical = library.words, library.lexical
    found = [term for piece in _BREAK.split(text) for term in (*all_terms(piece, words), Term(JOIN))]
    meant = [term for term in found if not term.text.startswith(STOP)]
    named = _names(meant, lexical)
    repeated = [term for term, times in Counter(term.text for term in meant).items() if times > 1]
    distinct = sorted(named.union(term.text for term in meant))
    strict = {term: lexical.idf(term) * (NAME_WEIGHT if term in named else 1.0) for term in distinct}
    unknown = frozenset(distinct) - named - lexical.terms.keys()
    return Asked(
        weights={term: strict[term] * (UNKNOWN_WEIGHT if term in unknown else 1.0) for term in strict},
        strict=strict,
        keys=asked_keys(frozenset(distinct), frozenset(repeated), library.fronts),
        named=named,
        parts=_split(found),
        instructs=question_instructs(text, cues),
    )
