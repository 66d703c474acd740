"""Where a document shows an image, and which original that is."""

import re
from collections.abc import Iterator, Sequence
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote

from stages.corpus.markdown import Document, Section, headings_at, plain, sections
from stages.records import Mention

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/")


class ImageRef(NamedTuple):
    """An image shown at start:end; `src` as written."""

    src: str
    alt: str
    title: str
    headings: tuple[str, ...]
    start: int
    end: int


def images(document: Document, cut: Sequence[Section]) -> list[ImageRef]:
    """Every image of a document in order, links around them included; HTML is not read."""
    return [ref for index in document.offsets for ref in _shown(document, cut, index)]


def resolve(src: str, path: str) -> str | None:
    """The corpus path that `src` means in the document at `path`; None for a URL or a place outside the corpus."""
    target = unquote(src)
    if not target or _ABSOLUTE.match(target):
        return None
    found = normpath(join(dirname(path), target))
    return None if found.split("/")[0] == ".." else found


def mentions(path: str, sha256: str, document: Document) -> dict[str, list[Mention]]:
    """By corpus path of an image: the places where the document at `path` shows it, in order."""
    found: dict[str, list[Mention]] = {}
    for ref in images(document, sections(document)):
        image = resolve(ref.src, path)
        if image is not None:
            words = f"{ref.alt} {ref.title}".strip()
            found.setdefault(image, []).append(Mention(path, sha256, ref.start, ref.end, words, ref.headings))
    return found


def _shown(document: Document, cut: Sequence[Section], index: int) -> Iterator[ImageRef]:
    places = document.offsets[index]
    for child in document.tokens[index].children or ():
        if child.type == "image":
            first, last = child.meta["span"]
            start, end = places[first], places[last - 1] + 1
            title = str(child.attrs.get("title", ""))
            yield ImageRef(str(child.attrs["src"]), plain(child.children), title, headings_at(cut, start), start, end)
