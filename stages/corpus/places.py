"""Where the inline content that the Markdown parser hands out stands in the source."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from markdown_it.common.utils import mdTrim
from markdown_it.token import Token

_NEWLINE = re.compile(r"\r\n?|\n")
_PIPE = re.compile(r"(?<!\\)\|")

Span = tuple[int, int]


def line_spans(text: str, start: int) -> Iterator[Span]:
    """Yield (start, end) of each line from `start` on, its newline (`\\n`, `\\r\\n` or `\\r`) left out."""
    for newline in _NEWLINE.finditer(text, start):
        yield start, newline.start()
        start = newline.end()
    if start < len(text) or not text:
        yield start, len(text)


def inline_places(text: str, lines: Sequence[Span], tokens: Sequence[Token]) -> Iterator[tuple[int, list[int]]]:
    """Yield (index, places) of each inline token: where each character of its content stands in `text`."""
    for index, token in enumerate(tokens):
        if token.type == "tr_open" and token.map:
            row = takewhile(lambda at: tokens[at].type != "tr_close", range(index, len(tokens)))
            cells = [at for at in row if tokens[at].type == "inline"]
            found = _cell_places(text, lines[token.map[0]], [tokens[at].content for at in cells])
            yield from zip(cells, found, strict=True)
        elif token.type == "inline" and token.map and tokens[index - 1].type in ("paragraph_open", "heading_open"):
            yield index, _line_places(text, lines[slice(*token.map)], token.content)


def source_span(places: Sequence[int], start: int, end: int) -> Span:
    """Span in the text of the characters start:end of an inline content; at least one character."""
    return places[start], places[end - 1] + 1


def _line_places(text: str, lines: Sequence[Span], content: str) -> list[int]:
    """Places of a paragraph's or heading's content, each line of which stands at the end of a source line.

    The parser drops lines at the beginning that hold nothing but form feeds and the like.
    """
    sources = [text[start:end].replace("\0", "\ufffd") for start, end in lines]
    wanted = content.split("\n")
    dropped = next(number for number, source in enumerate(sources) if wanted[0].strip(" \t") in source)
    places: list[int] = []
    for (start, end), source, line in zip(lines[dropped:], sources[dropped:], wanted, strict=False):
        words = line.strip(" \t")
        first = start + source.rfind(words) - line.find(words)
        places += [max(start, first + column) for column in range(len(line))] + [end]
    return places[:-1]


def _cell_places(text: str, line: Span, cells: Sequence[str]) -> list[list[int]]:
    """Places of a row's cells; in a source line a cell's pipes are escaped, and a container's marks may come first."""
    start, end = line
    pieces = _PIPE.split(text[start:end].replace("\0", "\ufffd"))
    escaped = [cell.replace("|", "\\|") for cell in cells]
    skip = 0 if _fits(pieces, escaped) else 1
    at = start + sum(len(piece) + 1 for piece in pieces[:skip])
    places = []
    for cell, raw, piece in zip(cells, escaped, [*pieces[skip:], *[""] * len(cells)], strict=False):
        places.append(_escaped_places(at + piece.rfind(raw), cell))
        at += len(piece) + 1
    return places


def _fits(pieces: Sequence[str], escaped: Sequence[str]) -> bool:
    """True when the first piece holds the first cell, and so on; a piece too few is an empty cell."""
    first, *rest = [mdTrim(piece) for piece in pieces]
    rest += [""] * len(escaped)
    return first.endswith(escaped[0]) and all(raw == piece for raw, piece in zip(escaped[1:], rest, strict=False))


def _escaped_places(start: int, cell: str) -> list[int]:
    pipes = 0
    places = []
    for column, character in enumerate(cell):
        pipes += character == "|"
        places.append(start + column + pipes)
    return places
