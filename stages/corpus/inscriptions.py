"""PNG chunks -> the words that a file carries about itself: titles and descriptions.

Whoever made the file may have written anything there. It is read as data, cut to a length, and never believed more than
a document: see `stages.answering.instruction`.
"""

from collections.abc import Iterable, Iterator

from stages.corpus.pngchunks import MOST_UNPACKED, Chunk, packed, unpack
from stages.records import Inscription

KINDS = (b"tEXt", b"zTXt", b"iTXt", b"eXIf")
KEYWORDS = ("Title", "Description")
"""Of texts, as the PNG standard writes them; any case is read."""
LONGEST = 1000
"""Characters; the rest of a longer inscription is left out."""
MOST = 16
"""Inscriptions of one file; later ones are left out."""
IMAGE_DESCRIPTION, ASCII = 0x010E, 2


def inscriptions(chunks: Iterable[Chunk]) -> tuple[Inscription, ...]:
    """What the chunks of a PNG file say that it shows, in their order, without empty ones."""
    said = (text for chunk in chunks if chunk.kind in KINDS for text in _texts(chunk))
    found = (Inscription(kind, keyword, _plain(text)) for kind, keyword, text in said)
    return tuple([one for one in found if one.words][:MOST])


def _texts(chunk: Chunk) -> Iterator[tuple[str, str, str]]:
    """Yield (chunk type, keyword, text) of a title or description; a text that cannot be unpacked is empty."""
    kind, body = chunk.kind.decode("latin-1"), bytes(chunk.body)
    if kind == "eXIf":
        yield kind, "ImageDescription", _image_description(body)
    keyword, _, rest = body.partition(b"\0")
    known = {word.encode().lower(): word for word in KEYWORDS}.get(keyword.lower())
    if known and kind == "tEXt":
        yield kind, known, rest.decode("latin-1")
    elif known and kind == "zTXt":
        yield kind, known, unpack(packed(chunk), MOST_UNPACKED).decode("latin-1")
    elif known and kind == "iTXt":
        plain = unpack(packed(chunk), MOST_UNPACKED) if rest[:1] == b"\1" else rest[2:].split(b"\0", 2)[-1]
        yield kind, known, plain.decode("utf-8", "replace")


def _image_description(exif: bytes) -> str:
    """The text of that name in the first directory of Exif; nothing where its structure is none."""
    little = exif.startswith(b"II*\0")
    if not little and not exif.startswith(b"MM\0*"):
        return ""

    def number(start: int, size: int) -> int:
        return int.from_bytes(exif[start : start + size], "little" if little else "big")

    first = number(4, 4)
    for entry in range(first + 2, first + 2 + 12 * number(first, 2), 12):
        if (number(entry, 2), number(entry + 2, 2)) == (IMAGE_DESCRIPTION, ASCII):
            count = number(entry + 4, 4)
            start = entry + 8 if count <= 4 else number(entry + 8, 4)
            return exif[start : start + count].decode("utf-8", "replace")
    return ""


def _plain(text: str) -> str:
    """One line of printable characters: nothing that turns the direction of what is shown around it."""
    return "".join(filter(str.isprintable, " ".join(text.split())))[:LONGEST].strip()
