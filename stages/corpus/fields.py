"""Document -> its fields: list items, plain lines, table rows and front matter keys that give a name a value."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stages.corpus.markdown import Document, Section, headings_at, plain
from stages.corpus.naming import Line, Named, is_blank, is_name, is_value, mask, split_line
from stages.corpus.places import source_span
from stages.corpus.tables import table_cells


class Field(NamedTuple):
    """A named value: `value` is text[value_start:value_end]; start/end is the whole line or row, without newline.

    `headings` are the heading path, then the list items around it, then what a table adds (`stages.corpus.tables`).
    `front_matter` marks a field of the document as a whole.
    """

    headings: tuple[str, ...]
    name: str
    value: str
    value_start: int
    value_end: int
    start: int
    end: int
    front_matter: bool


def fields(document: Document, cut: Sequence[Section]) -> list[Field]:
    """Every field in document order; `cut` as `sections` gives it."""
    front = [_field(document, cut, one, front_matter=True) for one in _front_matter(document)]
    return front + [_field(document, cut, one, front_matter=False) for one in _body(document)]


_Found = tuple[tuple[str, ...], str, int, int]


def _field(document: Document, cut: Sequence[Section], found: _Found, *, front_matter: bool) -> Field:
    path, name, start, end = found
    value, line = document.text[start:end], document.line_span(start, end)
    return Field(headings_at(cut, start) + path, name, value, start, end, *line, front_matter)


def _front_matter(document: Document) -> Iterator[_Found]:
    for key in document.keys:
        if is_value(document.text[key.start : key.end]):
            yield (), key.name, key.start, key.end


def _body(document: Document) -> Iterator[_Found]:
    """Yield (path below the headings, name, value start, value end)."""
    items: list[str | None] = []
    for index, token in enumerate(document.tokens):
        if token.type == "list_item_open":
            items.append(None)
        elif token.type == "list_item_close":
            items.pop()
        elif token.type == "table_open":
            for cell in table_cells(document, index):
                yield _labels([*items, cell.path]), cell.name, cell.start, cell.end
        elif token.type == "paragraph_open":
            path, named = _labels(items), list(_paragraph(document, index + 1, listed=bool(items)))
            if items and items[-1] is None:
                items[-1] = named[0][0] if named else _label(document, index + 1)
            yield from ((path, *one) for one in named)


def _labels(items: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(label for label in items if label)


def _label(document: Document, index: int) -> str:
    """What a list item stands for, for the fields nested in it: its words when they are a name."""
    words = plain(document.tokens[index].children).rstrip(":：")
    return words if is_name(words, commas=True) else ""


def _paragraph(document: Document, index: int, listed: bool) -> Iterator[tuple[str, int, int]]:
    """Yield (name, value start, value end); a value over several lines of a quote, with its marks inside, is none."""
    token, places = document.tokens[index], document.offsets[index]
    for flow in _flows(Line(token.content, mask(token), 0, len(token.content))):
        for named in _named(flow, listed):
            start, end = source_span(places, named.start, named.end)
            source = document.text[start:end].replace("\0", "\ufffd")
            if source.split() == token.content[named.start : named.end].split():
                yield named.name, start, end


def _flows(whole: Line) -> Iterator[list[Line]]:
    """Cut a paragraph's lines at hard breaks and after a line that ends with a colon.

    A line that begins with one (`: 3 kg`, a definition) is one with the line before it.
    """
    flow: list[Line] = []
    start = 0
    for text in whole.content.split("\n"):
        end = start + len(text)
        broken = text.endswith(("\\", "  "))
        line = whole._replace(start=start, end=end - text.endswith("\\"))
        if flow and text.lstrip().startswith((": ", "：")):
            flow[-1] = flow[-1]._replace(end=line.end)
        elif not is_blank(line):
            flow.append(line)
        if broken or text.rstrip().endswith((":", "：")):
            yield flow
            flow = []
        start = end + 1
    yield flow


def _named(flow: Sequence[Line], listed: bool) -> list[Named]:
    """Fields of lines that run on: each line is one, or, in a list item, the first is one and takes in the others."""
    named = [split_line(line, listed) for line in flow]
    if all(named):
        return [one for one in named if one]
    if listed and named[0]:
        whole = split_line(flow[0]._replace(end=flow[-1].end), listed)
        return [whole] if whole else []
    return []
