"""All originals -> all entries: documents cut into chunks and fields, images described from their pixels."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from stages.corpus import chunk
from stages.corpus.describe import describe, words
from stages.corpus.images import mentions
from stages.corpus.inscriptions import inscriptions
from stages.corpus.markdown import Document, parse
from stages.corpus.png import decode_chunks
from stages.corpus.pngchunks import read_chunks
from stages.corpus.terms import Sections
from stages.corpus.text import decode_text
from stages.errors import BadInputError
from stages.hashing import sha256
from stages.params import IndexParams
from stages.records import Entry, File, Inscription, Mention, Rejected, Shown, unseen
from stages.wellformed import DOCUMENT_SUFFIX, IMAGE_SUFFIX, ORIGINAL_SUFFIXES

LANGUAGES = ("en", "zh")
IMAGE_REPRESENTATION = "description/1"
NO_KIND = "neither .png nor .md; move it out"
T = TypeVar("T")
Original: TypeAlias = tuple[File, bytes]
Read: TypeAlias = Sequence[Original]


class Picture(NamedTuple):
    """What an image shows, from its pixels, a hash of these, and what its file says."""

    description: str
    pixels: str
    inscriptions: tuple[Inscription, ...]


class Indexed(NamedTuple):
    """Entries of the originals that can be used; the others with the reason, by path."""

    entries: list[Entry]
    rejected: tuple[Rejected, ...]


def index_originals(read: Read, sections: Sections, params: IndexParams, shown: Shown = unseen) -> Indexed:
    """Index (original, bytes) pairs: images, then documents, each in the order of the pairs.

    Originals with the same bytes are read once, and each has its own entries. `shown` is told how far it is.
    """
    images, documents = _of(read, IMAGE_SUFFIX), _of(read, DOCUMENT_SUFFIX)
    pictures, broken = _each(
        shown(images, len(images), "images"), lambda data: _picture(data, sections, params.max_pixels)
    )
    parsed, unreadable = _each(shown(documents, len(documents), "documents"), _document)
    others = [_rejected(one, NO_KIND) for one, _ in read if not one.path.lower().endswith(ORIGINAL_SUFFIXES)]
    mentioned = _mentions(parsed)
    alike: dict[str, list[str]] = {}
    for one, picture in pictures:
        alike.setdefault(picture.pixels, []).append(one.path)
    found = [_image(one, picture, mentioned.get(one.path, ()), alike[picture.pixels]) for one, picture in pictures]
    for one, document in shown(parsed, len(parsed), "documents in chunks"):
        found += chunk.entries(one.path, one.sha256, document, params.chunk_tokens, params.chunk_overlap)
    return Indexed(found, tuple(sorted([*broken, *unreadable, *others], key=lambda one: one.path)))


def refusals(read: Read, rejected: Sequence[Rejected], params: IndexParams) -> list[str]:
    """Findings for originals that may not be left out: each one with `on_bad_file: error`, all when none remains."""
    if params.on_bad_file == "error" or len(rejected) == len(read):
        return [f"{one.path}: {one.reason}" for one in rejected]
    return []


def _of(read: Read, suffix: str) -> Read:
    return [(one, data) for one, data in read if one.path.lower().endswith(suffix)]


def _each(read: Iterable[Original], make: Callable[[bytes], T]) -> tuple[list[tuple[File, T]], list[Rejected]]:
    """Apply `make` to each file's bytes, once where they are the same; returns what it made, and what it refused."""
    made, rejected = [], []
    results: dict[str, T | BadInputError] = {}
    for one, data in read:
        if one.sha256 not in results:
            results[one.sha256] = _result(make, data)
        result = results[one.sha256]
        if isinstance(result, BadInputError):
            rejected.append(_rejected(one, str(result)))
        else:
            made.append((one, result))
    return made, rejected


def _result(make: Callable[[bytes], T], data: bytes) -> T | BadInputError:
    try:
        return make(data)
    except BadInputError as error:
        return error


def _rejected(one: File, reason: str) -> Rejected:
    return Rejected(one.path, one.sha256, one.size, reason)


def _picture(data: bytes, sections: Sections, max_pixels: int) -> Picture:
    chunks = read_chunks(data)
    pixels = decode_chunks(chunks, max_pixels)
    whole = repr(pixels.rgb.shape).encode() + pixels.rgb.tobytes() + pixels.opaque.tobytes()
    return Picture(words(describe(pixels), sections, LANGUAGES), sha256(whole), inscriptions(chunks))


def _document(data: bytes) -> Document:
    text = decode_text(data)
    if "\0" in text:
        raise BadInputError(f"a NUL at character {text.index(chr(0))}, as in UTF-16; save the file as UTF-8")
    return parse(text)


def _mentions(parsed: Iterable[tuple[File, Document]]) -> dict[str, tuple[Mention, ...]]:
    found: dict[str, tuple[Mention, ...]] = {}
    for one, document in parsed:
        for image, places in mentions(one.path, one.sha256, document).items():
            found[image] = (*found.get(image, ()), *places)
    return found


def _image(original: File, picture: Picture, shown: Sequence[Mention], alike: Sequence[str]) -> Entry:
    return Entry(
        original.path,
        "image",
        original.path,
        original.sha256,
        IMAGE_REPRESENTATION,
        picture.description,
        mentions=tuple(shown),
        inscriptions=picture.inscriptions,
        twins=tuple(path for path in alike if path != original.path),
    )
