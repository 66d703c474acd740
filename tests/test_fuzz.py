"""Whatever bytes stand in an original, it is indexed or rejected with a reason on one line, and no error comes out."""

import io
import struct
import zlib

from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from stages.corpus.index import index_originals
from stages.corpus.pngchunks import SIGNATURE, read_chunks
from stages.hashing import sha256
from stages.params import IndexParams
from stages.records import File
from stages.settings import read_vocabulary
from tests.test_markdown import TEXTS

SECTIONS = read_vocabulary()
PARAMS = IndexParams(max_pixels=2**14, chunk_tokens=12, chunk_overlap=3)
Chunks = list[tuple[bytes, bytes]]


def indexed(path: str, data: bytes) -> None:
    entries, rejected = index_originals([(File(path, sha256(data), len(data)), data)], SECTIONS, PARAMS)
    assert all(one.reason.strip() and "\n" not in one.reason for one in rejected)
    assert not (entries and rejected)


def chunks(mode: str, **options: object) -> Chunks:
    """Of a small image with a title in every kind of chunk."""
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "Mill")
    info.add_text("Description", "Mill " * 9, zip=True)
    info.add_itxt("Title", "磨坊", "zh", "标题", zip=True)
    exif = Image.Exif()
    exif[0x010E] = "Old mill"
    buffer = io.BytesIO()
    image = Image.new(mode, (7, 5))
    image.putpixel((3, 2), 1 if len(image.getbands()) == 1 else (200, 9, 9, 128)[: len(image.getbands())])
    image.save(buffer, format="PNG", pnginfo=info, exif=exif, **options)
    return [(kind, bytes(body)) for kind, body, _ in read_chunks(buffer.getvalue())]


SEEDS = [
    *(chunks(mode) for mode in ("1", "L", "P", "RGB", "LA", "RGBA", "I;16")),
    chunks("P", transparency=1, bits=2),
    chunks("RGB", transparency=(0, 0, 0)),
    chunks("RGB", save_all=True, append_images=[Image.new("RGB", (7, 5), "red")]),
]
NUMBERS = st.sampled_from([0, 1, 2, 3, 7, 16, 255, 2**16, 2**31 - 1, 2**32 - 1]).map(lambda one: struct.pack(">I", one))


@st.composite
def bodies(draw: st.DrawFn, body: bytes) -> bytes:
    """A chunk's body with other bytes, more or fewer, in one place."""
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + 8)))
    put = draw(NUMBERS | st.binary(max_size=6) | st.just(body[start:end] * 3))
    return body[:start] + put + body[end:]


@st.composite
def pictures(draw: st.DrawFn) -> bytes:
    """A PNG file with chunks changed, left out, repeated or in another order, and checksums that fit all the same."""
    found = list(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(found) - 1))
        kind, body = found[place]
        other = (
            draw(st.sampled_from([kind, kind, *(name for name, _ in found), b"iCCP", b"gAMA"])),
            draw(bodies(body)),
        )
        if kind == b"IDAT":
            other = (kind, zlib.compress(draw(st.binary(max_size=200)), 0))
        found[place : place + 1] = draw(
            st.sampled_from([[other], [other], [], [(kind, body)] * 2, [other, (kind, body)]])
        )
        found = found or [other]
    ordered = draw(st.permutations(found)) if draw(st.integers(0, 5)) == 0 else found
    parts = (kind + body for kind, body in ordered)
    return SIGNATURE + b"".join(
        struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in parts
    )


@settings(derandomize=True, database=None, deadline=None, max_examples=400)
@given(pictures() | st.binary(max_size=60).map(lambda data: SIGNATURE + data))
def test_any_picture(data: bytes) -> None:
    indexed("images/a.png", data)


@settings(derandomize=True, database=None, deadline=None, max_examples=200)
@given(
    TEXTS.map(str.encode)
    | st.binary(max_size=80)
    | st.tuples(TEXTS, st.binary(max_size=3)).map(lambda one: one[0].encode() + one[1])
)
@example(b"- a: \xc3")
@example(b"---\n? [a]\n: b\n&a [*a]: c\n---\n")
def test_any_document(data: bytes) -> None:
    indexed("docs/a.md", data)
