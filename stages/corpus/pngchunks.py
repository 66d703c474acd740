"""Raw PNG bytes -> chunks whose checksums fit, with a reason for every file that is refused."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from stages.errors import BadInputError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_UNPACKED = 2**24
"""Bytes that the compressed texts and colour profiles of one file may have together; the largest profiles have 4 MB."""


class Chunk(NamedTuple):
    """A chunk's type and body; `whole` is all of it, from its length to its checksum."""

    kind: bytes
    body: memoryview
    whole: memoryview


def read_chunks(data: bytes) -> list[Chunk]:
    """Every chunk of a PNG file up to IEND.

    Raises BadInputError when the signature or a checksum is wrong, the file is truncated, or its compressed texts and
    profiles unpack to more than MOST_UNPACKED bytes.
    """
    if not data.startswith(SIGNATURE):
        raise BadInputError("not a PNG file: the signature is missing" if data else "not a PNG file: it is empty")
    chunks = list(_chunks(memoryview(data)))
    left = MOST_UNPACKED
    for chunk in chunks:
        left -= len(unpack(packed(chunk), left))
    return chunks


def _chunks(data: memoryview) -> Iterator[Chunk]:
    start, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        kind, body_start = bytes(data[start + 4 : start + 8]), start + 8
        body_end = body_start + number(data[start : start + 4])
        if body_start > len(data) or body_end + 4 > len(data):
            raise BadInputError(f"PNG is truncated: a chunk at byte {start} reaches beyond the end of the file")
        if zlib.crc32(data[start + 4 : body_end]) != number(data[body_end : body_end + 4]):
            raise BadInputError(f"PNG is damaged: wrong checksum of chunk {kind!r} at byte {start}")
        yield Chunk(kind, data[body_start:body_end], data[start : body_end + 4])
        start = body_end + 4


def number(data: memoryview) -> int:
    """An unsigned number, its highest byte first."""
    return int.from_bytes(data, "big")


def packed(chunk: Chunk) -> bytes:
    """What a text or colour profile holds that is compressed; nothing for other chunks."""
    _, _, rest = bytes(chunk.body).partition(b"\0") if chunk.kind in (b"zTXt", b"iTXt", b"iCCP") else (b"", b"", b"")
    if chunk.kind == b"iTXt":
        return rest[2:].split(b"\0", 2)[-1] if rest[:1] == b"\1" else b""
    return rest[1:]


def unpack(data: bytes, most: int) -> bytes:
    """Decompress at most `most` bytes; what is no zlib stream holds none. Raises BadInputError for more."""
    try:
        found = zlib.decompressobj().decompress(data, most + 1)
    except zlib.error:
        return b""
    if len(found) > most:
        raise BadInputError(f"PNG whose compressed texts and profiles unpack to more than {MOST_UNPACKED} bytes")
    return found
