"""Markdown text -> a parsed document whose every inline character knows its place in the source.

Offsets count characters of the text as given: newlines of every kind, a byte order mark and NULs are kept, although
the parser sees `\\n`, no mark and U+FFFD.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, autolink, backtick, html_inline, image, link
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from stages.corpus.frontmatter import Key, read_keys
from stages.corpus.places import inline_places, line_spans

_BOM = "\ufeff"
_ATOMS = {"autolink": autolink, "backticks": backtick, "html_inline": html_inline, "image": image, "link": link}
_InlineRule = Callable[[StateInline, bool], bool]


class Section(NamedTuple):
    """From a heading to the next: `start` at the heading line, `body` after it; `headings` from the title down."""

    headings: tuple[str, ...]
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text.

    lines    (start, end) of each line, its newline left out.
    tokens   the parser's flat list; an inline child that is code, HTML, a link or an image carries
             `meta["span"]`, its place in the inline content.
    offsets  by index of an inline token: where each character of its content stands in `text`.
    keys     of the front matter.
    """

    text: str
    lines: tuple[tuple[int, int], ...]
    tokens: Sequence[Token]
    offsets: Mapping[int, Sequence[int]]
    keys: tuple[Key, ...]

    def line_start(self, number: int) -> int:
        """Offset of a line's first character; the text's length for the line after the last."""
        return self.lines[number][0] if number < len(self.lines) else len(self.text)

    def line_span(self, start: int, end: int) -> tuple[int, int]:
        """Span of the whole lines that hold start:end."""
        return self._line_at(start)[0], self._line_at(end - 1)[1]

    def _line_at(self, offset: int) -> tuple[int, int]:
        return self.lines[max(0, bisect_right(self.lines, offset, key=lambda line: line[0]) - 1)]


class _Parser(MarkdownIt):
    def normalizeLink(self, url: str) -> str:
        """Keep a link's target as written."""
        return url


def _spanned(rule: _InlineRule) -> _InlineRule:
    """Make an inline rule note on its last token which part of the content it took."""

    def spanned(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        matched = rule(state, silent)
        if matched and len(state.tokens) > count:
            state.tokens[-1].meta = {"span": (start, state.pos)}
        return matched

    return spanned


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark").enable("table").use(front_matter_plugin)
    for name, rule in _ATOMS.items():
        parser.inline.ruler.at(name, _spanned(rule))
    return parser


def parse(text: str) -> Document:
    """Parse CommonMark with tables and front matter. Every text parses."""
    first = len(_BOM) if text.startswith(_BOM) else 0
    lines = tuple(line_spans(text, first))
    tokens = _parser().parse(text[first:])
    return Document(text, lines, tokens, dict(inline_places(text, lines, tokens)), tuple(_keys(text, lines, tokens)))


def plain(children: Sequence[Token] | None) -> str:
    """The words of inline tokens without their marks; an image gives its alt text, HTML nothing."""
    return "".join(map(_words, children or ())).strip()


def plain_inline(source: str) -> str:
    """The words of a piece of inline Markdown without its marks."""
    return plain(_parser().parseInline(source)[0].children)


def sections(document: Document) -> list[Section]:
    """Cut the text at its top-level headings; the first section is what stands before them, so none is missed.

    The title is the only H1; with none or several H1 the front matter's `title`, else the first H1.
    """
    heads = list(_heads(document))
    stack = _root(document, [words for level, words, _, _ in heads if level == 1 and words])
    ends = [start for _, _, start, _ in heads] + [len(document.text)]
    first = document.line_start(0)
    found = [Section(tuple(words for _, words in stack), first, first, ends[0])]
    for (level, words, start, body), end in zip(heads, ends[1:], strict=True):
        stack = [above for above in stack if above[0] < level]
        stack += [(level, words)] if words else []
        found.append(Section(tuple(words for _, words in stack), start, body, end))
    return found


def headings_at(cut: Sequence[Section], offset: int) -> tuple[str, ...]:
    """The heading path at an offset; `cut` as `sections` gives it."""
    return cut[max(0, bisect_right(cut, offset, key=lambda section: section.start) - 1)].headings


def _words(token: Token) -> str:
    if token.type == "image":
        return plain(token.children)
    return " " if token.type in ("softbreak", "hardbreak") else token.content if token.type != "html_inline" else ""


def _keys(text: str, lines: Sequence[tuple[int, int]], tokens: Sequence[Token]) -> list[Key]:
    if not tokens or tokens[0].type != "front_matter" or not tokens[0].map:
        return []
    return read_keys(text, lines[1][0], lines[tokens[0].map[1] - 1][0])


def _heads(document: Document) -> Iterator[tuple[int, str, int, int]]:
    """Yield (level, words, start, body) of every top-level heading."""
    for token, inline in zip(document.tokens, document.tokens[1:], strict=False):
        if token.type == "heading_open" and token.level == 0 and token.map:
            start, body = map(document.line_start, token.map)
            yield int(token.tag[1]), plain(inline.children), start, body


def _root(document: Document, firsts: Sequence[str]) -> list[tuple[int, str]]:
    """The title with the level that it stands for: a front matter title is above every heading."""
    title = next((document.text[key.start : key.end] for key in document.keys if key.name.casefold() == "title"), None)
    if title is not None and len(firsts) != 1:
        return [(0, title)]
    return [(1, words) for words in firsts[:1]]
