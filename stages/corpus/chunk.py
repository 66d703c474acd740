"""A document -> its entries: chunks of whole blocks, and fields that point into them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

from stages.corpus.fields import Field, fields
from stages.corpus.markdown import Document, Section, sections
from stages.corpus.tokens import TOKEN, count_tokens
from stages.records import Entry

CHUNK_REPRESENTATION = "source-text/1"
FIELD_REPRESENTATION = "field-name/1"

_SENTENCE = re.compile(r"[.!?;][\"')\]*_]*[^\S\r\n]+|[。！？；][”’」』）]*[^\S\r\n]*|[\r\n]+")
_SPACE = re.compile(r"\s+")
_CUTS = (_SENTENCE, _SPACE, TOKEN)

Piece = tuple[int, int]
Patterns = Sequence[re.Pattern[str]]


class Chunk(NamedTuple):
    """text[start:end], inside one section whose heading path is `headings`."""

    headings: tuple[str, ...]
    start: int
    end: int


def entries(path: str, sha256: str, document: Document, chunk_tokens: int, chunk_overlap: int) -> list[Entry]:
    """Chunk entries `docs/x.md#c0001`…, then field entries `docs/x.md#f0001`…, each in document order.

    A field's `chunk` is the first chunk that holds its whole value; there always is one, for no line or row that
    gives a field is cut (see `chunks`).
    """
    text, cut = document.text, sections(document)
    named = fields(document, cut)
    lines = sorted({(field.start, field.end) for field in named})
    packed = chunks(document, cut, chunk_tokens, chunk_overlap, lines)
    pieces = [_chunk_entry(f"{path}#c{number:04}", path, sha256, text, chunk) for number, chunk in enumerate(packed, 1)]
    return pieces + [_field_entry(f"{path}#f{number:04}", field, pieces) for number, field in enumerate(named, 1)]


def chunks(
    document: Document, cut: Sequence[Section], size: int, overlap: int, whole: Sequence[Piece] = ()
) -> list[Chunk]:
    """Pack each section's blocks greedily into chunks of at most `size` tokens.

    A block is a top-level paragraph, list item, table, fence, quote or comment, or the front matter. One longer than
    `size` is cut at ends of sentences or lines, if need be at spaces, in the end between tokens, but never inside a
    span of `whole`, sorted lines or rows: a chunk is longer than `size` only where such a span is. A chunk repeats at
    its start the last whole sentences or blocks of the chunk before it in the section, at most `overlap` tokens and no
    more than fit.
    Everything but headings and blank lines is in a chunk; a section without a body has none.
    """
    starts = sorted(_block_starts(document))
    return [
        Chunk(section.headings, start, end)
        for section in cut
        for start, end in _pack(document.text, _blocks(document, section, starts), size, overlap, whole)
    ]


def sentences(text: str) -> list[Piece]:
    """The places where `chunks` cuts a text first: its sentences and lines, without the space around them."""
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    found = []
    for start, end in pairwise([0, *ends, len(text)]):
        part = text[start:end]
        if part.strip():
            found.append((start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
    return found


def _chunk_entry(name: str, path: str, sha256: str, text: str, chunk: Chunk) -> Entry:
    headings, start, end = chunk
    return Entry(name, "chunk", path, sha256, CHUNK_REPRESENTATION, text[start:end], headings, start, end)


def _field_entry(name: str, field: Field, pieces: Sequence[Entry]) -> Entry:
    # of chunks that begin later the end is later too
    chunk = pieces[bisect_left(pieces, field.value_end, key=lambda piece: piece.end or 0)]
    return Entry(
        name,
        "field",
        chunk.path,
        chunk.sha256,
        FIELD_REPRESENTATION,
        field.name,
        field.headings,
        field.start,
        field.end,
        field.value,
        field.value_start,
        field.value_end,
        chunk.id,
        field.front_matter,
    )


def _block_starts(document: Document) -> set[int]:
    """Offsets at which a top-level block or an item of a top-level list begins."""
    return {
        document.line_start(token.map[0])
        for token in document.tokens
        if token.map and (token.level == 0 or (token.level == 1 and token.type == "list_item_open"))
    }


def _blocks(document: Document, section: Section, starts: Sequence[int]) -> Iterator[Piece]:
    """The section's body from block start to block start: what has no token, link definitions, is in a block too."""
    inside = starts[bisect_right(starts, section.body) : bisect_left(starts, section.end)]
    for start, end in pairwise([section.body, *inside, section.end]):
        block = document.text[start:end].rstrip()
        if block:
            first = start + len(block) - len(block.lstrip())
            yield document.line_span(first, first + 1)[0], start + len(block)


def _pack(text: str, blocks: Iterator[Piece], size: int, overlap: int, whole: Sequence[Piece]) -> Iterator[Piece]:
    pieces = chain.from_iterable(_split(text, block, size, whole, _CUTS) for block in blocks)
    start = end = used = 0
    for piece in pieces:
        length = count_tokens(text[slice(*piece)])
        if used and used + length > size:
            yield start, end
            start = _overlap_start(text, (start, end), min(overlap, size - length), whole) or piece[0]
            used = count_tokens(text[start : piece[0]])
        start, end, used = start if used else piece[0], piece[1], used + length
    if used:
        yield start, end


def _split(text: str, piece: Piece, size: int, whole: Sequence[Piece], cuts: Patterns) -> Iterator[Piece]:
    """Cut a piece that is too long, with the first pattern and the parts still too long with the next."""
    if not cuts or count_tokens(text[slice(*piece)]) <= size:
        yield piece
        return
    for start, end in pairwise([piece[0], *_cuts(text, piece, whole, cuts[0]), piece[1]]):
        part = text[start:end].rstrip()
        if part:
            yield from _split(text, (start, start + len(part)), size, whole, cuts[1:])


def _cuts(text: str, piece: Piece, whole: Sequence[Piece], pattern: re.Pattern[str]) -> list[int]:
    """Places inside a piece where a match ends and no span of `whole` is cut."""
    start, end = piece
    ends = [match.end() for match in pattern.finditer(text, start, end)]
    inside = [at for at in ends if start < at < end and text[at] not in "\r\n"]
    return [at for at in inside if not _is_inside(at, whole)]


def _is_inside(at: int, whole: Sequence[Piece]) -> bool:
    place = bisect_left(whole, at, key=itemgetter(0)) - 1
    return place >= 0 and at < whole[place][1]


def _overlap_start(text: str, chunk: Piece, most: int, whole: Sequence[Piece]) -> int | None:
    """Where the longest tail of whole sentences with at most `most` tokens begins, if there is one."""
    found = None
    for at in reversed(_cuts(text, chunk, whole, _SENTENCE)):
        if count_tokens(text[at : chunk[1]]) > most:
            break
        found = at
    return found
