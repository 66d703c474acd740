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
from typing import Any, NamedTuple

import Stemmer

from stages.errors import BadInputError

STOP = "stop"
CUES = "instruction"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECE = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    rf"|(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|[vV]?\d+(?:\.\d+)*(?![^\W_{_CJK}])|\d+)"
    rf"|(?P<word>[^\W\d_{_CJK}][^\W_{_CJK}]*)(?:['’]s\b)?"
)


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
    """`latin` maps stemmed phrases, `cjk` maps strings, to a concept `section/word`."""

    latin: Mapping[tuple[str, ...], str]
    cjk: Mapping[str, str]
    longest_latin: int
    longest_cjk: int


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


def build_vocabulary(sections: Sections) -> Vocabulary:
    """Turn {section: {word: {en: [...], zh: [...]}}} into lookups.

    Raises BadInputError listing every phrase that stands for two different concepts.
    """
    latin: dict[tuple[str, ...], str] = {}
    cjk: dict[str, str] = {}
    findings = []
    for section, words in sections.items():
        for word, phrases in words.items():
            concept = f"{section}/{word}"
            for table, key, phrase in [
                *((latin, _key(phrase), phrase) for phrase in phrases.get("en", ())),
                *((cjk, phrase, phrase) for phrase in phrases.get("zh", ())),
            ]:
                if table.setdefault(key, concept) != concept:  # type: ignore[attr-defined]
                    findings.append(f"vocabulary: {phrase!r} is both {table[key]} and {concept}")  # type: ignore[index]
    if findings:
        raise BadInputError("\n".join(findings))
    return Vocabulary(latin, cjk, max(map(len, latin), default=1), max(map(len, cjk), default=1))


def _cut_cjk(run: str, vocabulary: Vocabulary) -> Iterator[str]:
    """Cut one CJK run at vocabulary words, longest first, and yield pairs of the characters between them."""
    rest, place = "", 0
    while place < len(run):
        size = next(
            (
                n
                for n in range(min(vocabulary.longest_cjk, len(run) - place), 0, -1)
                if run[place : place + n] in vocabulary.cjk
            ),
            0,
        )
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
    return any(character.isdigit() for character in surface)


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
        for size in range(min(vocabulary.longest_latin, len(words) - place), 0, -1):
            concept = vocabulary.latin.get(tuple(word.text for word in words[place : place + size]))
            if concept:
                found.append(Term(concept))
                place += size
                break
        else:
            found.append(words[place])
            place += 1
    return found


def terms(text: str, vocabulary: Vocabulary) -> list[Term]:
    """Every term of `text` that carries meaning, in order, repeats included."""
    return [term for term in all_terms(text, vocabulary) if not term.text.startswith(STOP)]
