"""Text -> terms: what is counted, matched and weighed everywhere. English and Chinese, from one vocabulary.

Text is NFKC-normalised and case-folded. Latin words are stemmed (Snowball English); numbers keep their points, so that
2.4 is not 2 and 4; v2.4 is 2.4, and 8,000 is 8000. Words and phrases of the vocabulary become concepts (`colour/red`
for red, scarlet, 红色), stop words vanish. A run of Chinese characters is cut at the vocabulary's words, longest first;
what remains becomes overlapping pairs of characters, so that a word never seen before is still found.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import Stemmer

from stages.corpus.tokens import CJK
from stages.errors import BadInputError

Key = TypeVar("Key")
STOP = "stop"
CUES = "instruction"
_PIECE = re.compile(
    rf"(?P<cjk>[{CJK}]+)"
    rf"|(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|[vV]?\d+(?:\.\d+)*(?![^\W_{CJK}])|\d+)"
    rf"|(?P<word>[^\W\d_{CJK}][^\W_{CJK}]*)(?:['’]s\b)?"
)

_DIGIT = re.compile(r"\d")


class Term(NamedTuple):
    """One term; `named` marks what looks like part of a name: it holds a digit, or a capital inside a sentence.

    `pair` joins a Latin word with the number or model right behind it (`model~300`), the surest kind of name; `proper`
    marks a pair whose word has a capital, or that is a whole field (`version: 2.1`).
    """

    text: str
    named: bool = False
    pair: str | None = None
    proper: bool = False


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """`latin` maps stemmed phrases, `cjk` maps strings, to a concept `section/word`.

    `reach` gives the length of the longest phrase by its first word, or first character.
    """

    latin: Mapping[tuple[str, ...], str]
    cjk: Mapping[str, str]
    reach: Mapping[str, int]


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return Stemmer.Stemmer("english")


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word)) if len(word) > 2 else word


def _pieces(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, surface, start) of every number, Latin word and run of CJK characters."""
    for match in _PIECE.finditer(text):
        kind = str(match.lastgroup)
        yield kind, match.group(kind), match.start()


def _key(phrase: str) -> tuple[str, ...]:
    return tuple(_stem(surface.casefold()) for _, surface, _ in _pieces(phrase))


Sections = Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]


def split_vocabulary(sections: Sections) -> tuple[Vocabulary, Vocabulary]:
    """The words that cut terms, and apart from them the cues of instructions (section `instruction`)."""
    cues = {name: words for name, words in sections.items() if name == CUES}
    return build_vocabulary({name: words for name, words in sections.items() if name != CUES}), build_vocabulary(cues)


def _concept_phrases(sections: Sections) -> Iterator[tuple[str, Mapping[str, Sequence[str]]]]:
    for section, words in sections.items():
        yield from ((f"{section}/{word}", phrases) for word, phrases in words.items())


def _enter(table: dict[Key, str], key: Key, concept: str, findings: list[str]) -> None:
    if table.setdefault(key, concept) != concept:
        findings.append(f"vocabulary: {key!r} is both {table[key]} and {concept}")


def build_vocabulary(sections: Sections) -> Vocabulary:
    """Turn {section: {word: {en: [...], zh: [...]}}} into lookups.

    Raises BadInputError listing every phrase that stands for two different concepts.
    """
    latin: dict[tuple[str, ...], str] = {}
    cjk: dict[str, str] = {}
    findings: list[str] = []
    for concept, phrases in _concept_phrases(sections):
        for phrase in phrases.get("en", ()):
            _enter(latin, _key(phrase), concept, findings)
        for phrase in phrases.get("zh", ()):
            _enter(cjk, phrase, concept, findings)
    empty = (concept for concept in (latin.get(()), cjk.get("")) if concept)
    findings += [f"vocabulary: {concept}: a phrase without a word" for concept in empty]
    if findings:
        raise BadInputError("\n".join(findings))
    reach: dict[str, int] = {}
    for first, length in [*((one[0], len(one)) for one in latin), *((one[0], len(one)) for one in cjk)]:
        reach[first] = max(reach.get(first, 0), length)
    return Vocabulary(latin, cjk, reach)


def _cut_cjk(run: str, vocabulary: Vocabulary) -> Iterator[str]:
    """Cut one CJK run at vocabulary words, longest first, and yield pairs of the characters between them."""
    rest, place = "", 0
    while place < len(run):
        sizes = range(min(vocabulary.reach.get(run[place], 0), len(run) - place), 0, -1)
        size = next((n for n in sizes if run[place : place + n] in vocabulary.cjk), 0)
        if size:
            yield from _pairs(rest)
            yield vocabulary.cjk[run[place : place + size]]
            rest = ""
        else:
            rest += run[place]
        place += size or 1
    yield from _pairs(rest)


def _pairs(text: str) -> list[str]:
    return [text[i : i + 2] for i in range(len(text) - 1)] if len(text) > 1 else [text] if text else []


def _pair(word: str, number: str, vocabulary: Vocabulary) -> str | None:
    """A name such as `model~300`; a word of the vocabulary ("the 300", "large 2") makes none."""
    return f"{word}~{number}" if word[0].isalpha() and (word,) not in vocabulary.latin else None


def _has_digit(surface: str) -> bool:
    return _DIGIT.search(surface) is not None


def _is_named(kind: str, surface: str, text: str, start: int) -> bool:
    if _has_digit(surface):
        return True
    while start and text[start - 1].isspace():
        start -= 1
    inside = start > 0 and text[start - 1] not in ".!?:;"
    return kind == "word" and surface[0].isupper() and inside


def all_terms(text: str, vocabulary: Vocabulary) -> list[Term]:
    """Every term of `text` in order, stop words included as `stop/...`."""
    text = unicodedata.normalize("NFKC", text)
    found: list[Term] = []
    latin: list[Term] = []
    before, end = "", -1
    for kind, surface, start in _pieces(text):
        if kind == "cjk":
            found += _concepts(latin, vocabulary)
            latin = []
            found += [Term(term) for term in _cut_cjk(surface, vocabulary)]
            continue
        folded = surface.casefold()
        folded = folded.removeprefix("v").replace(",", "") if kind == "number" else _stem(folded)
        given = text[end:start] == ": " and text[start + len(surface) : start + len(surface) + 1] in ("", "\n")
        close = bool(latin) and (given or text[end:start] in (" ", "-")) and _has_digit(surface)
        pair = _pair(latin[-1].text, folded, vocabulary) if close else None
        latin.append(Term(folded, _is_named(kind, surface, text, start), pair, given or before[:1].isupper()))
        before = surface
        end = start + len(surface)
    return found + _concepts(latin, vocabulary)


def _concepts(words: Sequence[Term], vocabulary: Vocabulary) -> list[Term]:
    """Replace the longest phrases known to the vocabulary by their concepts."""
    found, place = [], 0
    while place < len(words):
        sizes = range(min(vocabulary.reach.get(words[place].text, 0), len(words) - place), 0, -1)
        phrases = ((n, tuple(word.text for word in words[place : place + n])) for n in sizes)
        size, concept = next(((n, vocabulary.latin[one]) for n, one in phrases if one in vocabulary.latin), (1, None))
        found.append(Term(concept) if concept else words[place])
        place += size
    return found


def terms(text: str, vocabulary: Vocabulary) -> list[Term]:
    """Every term of `text` that carries meaning, in order, repeats included."""
    return [term for term in all_terms(text, vocabulary) if not term.text.startswith(STOP)]
