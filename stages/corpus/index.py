"""All originals -> all entries: documents cut into chunks and fields, images described from their pixels."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from stages.corpus import chunk
from stages.corpus.describe import describe, words
from stages.corpus.images import mentions
from stages.corpus.markdown import Document, parse
from stages.corpus.png import decode
from stages.corpus.terms import Sections
from stages.corpus.text import decode_text
from stages.errors import BadInputError
from stages.params import IndexParams
from stages.records import Entry, File, Mention

LANGUAGES = ("en", "zh")
IMAGE_REPRESENTATION = "description/1"
T = TypeVar("T")


def index_originals(read: Sequence[tuple[File, bytes]], sections: Sections, params: IndexParams) -> list[Entry]:
    """Entries of (original, bytes) pairs, documents and images each in the order of the pairs.

    Raises BadInputError listing every file that cannot be used, with its reason.
    """
    images = [(one, data) for one, data in read if one.path.lower().endswith(".png")]
    documents = [(one, data) for one, data in read if not one.path.lower().endswith(".png")]
    parsed, unreadable = _each(documents, _document)
    descriptions, broken = _each(
        images, lambda data: words(describe(decode(data, params.max_pixels)), sections, LANGUAGES)
    )
    if unreadable or broken:
        raise BadInputError("\n".join([*unreadable, *broken]))
    shown = _mentions(parsed)
    found = [_image(one, text, shown.get(one.path, ())) for one, text in descriptions]
    for one, document in parsed:
        found += chunk.entries(one.path, one.sha256, document, params.chunk_tokens, params.chunk_overlap)
    return found


def _each(read: Iterable[tuple[File, bytes]], make: Callable[[bytes], T]) -> tuple[list[tuple[File, T]], list[str]]:
    """Apply `make` to each file's bytes; returns what it made, and a finding for each file that it refused."""
    made, findings = [], []
    for one, data in read:
        try:
            made.append((one, make(data)))
        except BadInputError as error:
            findings.append(f"{one.path}: {error}")
    return made, findings


def _document(data: bytes) -> Document:
    return parse(decode_text(data))


def _mentions(parsed: Iterable[tuple[File, Document]]) -> dict[str, tuple[Mention, ...]]:
    found: dict[str, tuple[Mention, ...]] = {}
    for one, document in parsed:
        for image, places in mentions(one.path, one.sha256, document).items():
            found[image] = (*found.get(image, ()), *places)
    return found


def _image(original: File, description: str, shown: Sequence[Mention]) -> Entry:
    return Entry(
        original.path, "image", original.path, original.sha256, IMAGE_REPRESENTATION, description, mentions=tuple(shown)
    )
