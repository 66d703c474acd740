"""Table rows -> named values.

Two columns (`Setting | Value`): the first cell is the name, the second column's header closes the heading path.
More columns: the first cell is the subject, which closes the heading path; each further header is a name.
The rule looks at the number of columns alone. A row whose first cell is empty gives nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from stages.corpus.markdown import Document, plain
from stages.corpus.naming import is_value, mask, unmark
from stages.corpus.places import source_span


class Cell(NamedTuple):
    """A named value of a row: `path` is what the table adds to the heading path, start/end the value in the text."""

    path: str
    name: str
    start: int
    end: int


def table_cells(document: Document, opening: int) -> Iterator[Cell]:
    """Yield the named values of the table whose `table_open` is token number `opening`, row by row."""
    header, *rows = _rows(document, opening)
    titles = [_words(document, index) for index in header]
    for row in rows:
        subject = _words(document, row[0])
        for title, index in zip(titles[1:], row[1:], strict=True):
            path, name = (title, subject) if len(titles) == 2 else (subject, title)
            span = _value(document, index)
            if subject and name and span:
                yield Cell(path, name, *span)


def _rows(document: Document, opening: int) -> list[list[int]]:
    """Indices of the inline tokens of each row, header first."""
    rows: list[list[int]] = []
    for index in range(opening, len(document.tokens)):
        kind = document.tokens[index].type
        if kind == "table_close":
            break
        if kind == "tr_open":
            rows.append([])
        if kind == "inline":
            rows[-1].append(index)
    return rows


def _words(document: Document, index: int) -> str:
    return plain(document.tokens[index].children)


def _value(document: Document, index: int) -> tuple[int, int] | None:
    token, places = document.tokens[index], document.offsets[index]
    start, end = unmark(token.content, mask(token), 0, len(token.content))
    return source_span(places, start, end) if is_value(token.content[start:end]) else None
