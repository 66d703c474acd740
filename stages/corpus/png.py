"""Raw PNG bytes -> pixels, with a reason for every file that is refused."""

import io
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from stages.errors import BadInputError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, COLOUR, PALETTE = 0, 2, 3
DEPTHS = {GREY: (1, 2, 4, 8, 16), COLOUR: (8, 16), PALETTE: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


class Pixels(NamedTuple):
    """A decoded image: `rgb` is (height, width, 3), `opaque` is (height, width); transparent pixels are white."""

    rgb: NDArray[np.uint8]
    opaque: NDArray[np.bool_]


class Header(NamedTuple):
    """What the IHDR chunk says: size in pixels, bits of one sample, and the colour type of the PNG standard."""

    width: int
    height: int
    depth: int
    colour_type: int


def decode(data: bytes, max_pixels: int) -> Pixels:
    """Return the pixels of one PNG file.

    Samples of 16 bits keep their upper 8. Transparent pixels are composited on white; a pixel is opaque when its
    alpha is at least one half.

    Raises BadInputError when the signature or a checksum is wrong, the file is truncated, the header announces no
    pixels, more than `max_pixels` of them or an unknown kind of samples, or the pixels cannot be decoded.
    """
    header = read_header(data)
    if not 0 < header.width * header.height <= max_pixels:
        raise BadInputError(f"image of {header.width} x {header.height} pixels; allowed are 1 to {max_pixels} pixels")
    if header.depth not in DEPTHS.get(header.colour_type, ()):
        raise BadInputError(f"PNG of colour type {header.colour_type} with {header.depth} bits: there is no such kind")
    try:
        rgba = _decode_rgba(data, header)
    except UnidentifiedImageError as error:  # its own message shows a memory address
        raise BadInputError("PNG cannot be decoded: its header or a chunk before the pixels is not valid") from error
    except Exception as error:  # a corrupt stream makes Pillow raise nearly anything, SyntaxError included
        raise BadInputError(f"PNG cannot be decoded: {error}") from error
    return _on_white(rgba)


def read_header(data: bytes) -> Header:
    """Check the signature and every chunk of a PNG file and return its header.

    Raises BadInputError when the signature or a checksum is wrong, the file is truncated, or IHDR or a needed palette
    is missing.
    """
    if not data.startswith(SIGNATURE):
        raise BadInputError("not a PNG file: the signature is missing")
    chunks = list(_chunks(memoryview(data)))
    kind, body = chunks[0]
    if kind != b"IHDR" or len(body) != 13:
        raise BadInputError("PNG without a header: the first chunk is not an IHDR of 13 bytes")
    header = Header(_number(body[:4]), _number(body[4:8]), body[8], body[9])
    if header.colour_type == PALETTE and b"PLTE" not in (kind for kind, _ in chunks):
        raise BadInputError("PNG with indexed colours has no palette: its PLTE chunk is missing")
    return header


def _chunks(data: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the type and body of each chunk up to IEND; the checksum of each is verified."""
    start, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        kind, body_start = bytes(data[start + 4 : start + 8]), start + 8
        body_end = body_start + _number(data[start : start + 4])
        if body_start > len(data) or body_end + 4 > len(data):
            raise BadInputError(f"PNG is truncated: a chunk at byte {start} reaches beyond the end of the file")
        if zlib.crc32(data[start + 4 : body_end]) != _number(data[body_end : body_end + 4]):
            raise BadInputError(f"PNG is damaged: wrong checksum of chunk {kind!r} at byte {start}")
        yield kind, data[body_start:body_end]
        start = body_end + 4


def _number(data: memoryview) -> int:
    return int.from_bytes(data, "big")


def _decode_rgba(data: bytes, header: Header) -> NDArray[np.uint8]:
    """Return the (height, width, 4) samples that Pillow decodes, with the transparent colour turned into alpha."""
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        image.load()
        if (header.colour_type, header.depth) == (GREY, 16):
            return _grey16(image)
        _scale_transparency(image, header)
        return np.asarray(image.convert("RGBA"))


def _grey16(image: Image.Image) -> NDArray[np.uint8]:
    """Return the upper bytes of 16-bit grey as RGBA; Pillow's own conversion would clip instead."""
    grey = np.asarray(image).astype(np.uint16)
    alpha = np.where(grey == image.info.get("transparency", -1), 0, 255)
    upper = grey >> 8
    return np.stack([upper, upper, upper, alpha], axis=2).astype(np.uint8)


def _scale_transparency(image: Image.Image, header: Header) -> None:
    """Bring the transparent colour to 8 bits: Pillow scales the pixels of other depths, but not this colour."""
    colour = image.info.get("transparency")
    if colour is None:
        return
    if header.colour_type == GREY and header.depth in (2, 4):
        image.info["transparency"] = colour * 255 // (2**header.depth - 1)
    if header.colour_type == COLOUR and header.depth == 16:
        image.info["transparency"] = tuple(sample >> 8 for sample in colour)


def _on_white(rgba: NDArray[np.uint8]) -> Pixels:
    """Composite RGBA samples on white, rounded to the nearest level."""
    alpha = rgba[:, :, 3:].astype(np.uint16)
    rgb = (rgba[:, :, :3] * alpha + 255 * (255 - alpha) + 127) // 255
    return Pixels(rgb.astype(np.uint8), rgba[:, :, 3] >= 128)
