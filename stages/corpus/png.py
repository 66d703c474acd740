"""PNG chunks -> pixels, with a reason for every file that is refused.

Of an animated PNG these are the pixels of its default image, in nearly all files the first frame: what is shown where
nothing moves.
"""

import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from stages.corpus.pngchunks import SIGNATURE, Chunk, number, read_chunks
from stages.errors import BadInputError

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
    """Return the pixels of one PNG file. Raises BadInputError as `read_chunks` and `decode_chunks`."""
    return decode_chunks(read_chunks(data), max_pixels)


def decode_chunks(chunks: Sequence[Chunk], max_pixels: int) -> Pixels:
    """Return the pixels of the chunks of one PNG file.

    Samples of 16 bits keep their upper 8. Transparent pixels are composited on white; a pixel is opaque when its
    alpha is at least one half. Nothing but pixels, palette and transparency is looked at.

    Raises BadInputError when IHDR, IDAT or a needed palette is missing, there are several headers, the header announces
    no pixels, more than `max_pixels` of them or an unknown kind of samples, an animation has no frames, or the pixels
    cannot be decoded.
    """
    header = _read_header(chunks)
    if not 0 < header.width * header.height <= max_pixels:
        raise BadInputError(f"image of {header.width} x {header.height} pixels; allowed are 1 to {max_pixels} pixels")
    if header.depth not in DEPTHS.get(header.colour_type, ()):
        raise BadInputError(f"PNG of colour type {header.colour_type} with {header.depth} bits: there is no such kind")
    try:
        rgba = _decode_rgba(_pixels_alone(chunks), header)
    except UnidentifiedImageError as error:  # its own message shows a memory address
        raise BadInputError("PNG cannot be decoded: its header or a chunk before the pixels is not valid") from error
    except Exception as error:  # a corrupt stream makes Pillow raise nearly anything, SyntaxError included
        raise BadInputError(f"PNG cannot be decoded: {error}") from error
    return _on_white(rgba)


def _read_header(chunks: Sequence[Chunk]) -> Header:
    kind, body, _ = chunks[0]
    if kind != b"IHDR" or len(body) != 13:
        raise BadInputError("PNG without a header: the first chunk is not an IHDR of 13 bytes")
    header = Header(number(body[:4]), number(body[4:8]), body[8], body[9])
    kinds = [chunk.kind for chunk in chunks]
    if kinds.count(b"IHDR") > 1:  # the last one would tell Pillow the size, which nobody checked
        raise BadInputError("PNG with several headers: an IHDR chunk stands behind the first")
    if header.colour_type == PALETTE and b"PLTE" not in kinds:
        raise BadInputError("PNG with indexed colours has no palette: its PLTE chunk is missing")
    if b"IDAT" not in kinds:
        raise BadInputError("PNG without pixels: its IDAT chunk is missing")
    if any(chunk.kind == b"acTL" and number(chunk.body[:4]) == 0 for chunk in chunks):
        raise BadInputError("animated PNG with 0 frames")
    return header


def _pixels_alone(chunks: Iterable[Chunk]) -> bytes:
    """The file without what does not make its pixels: texts, profiles, frames of an animation."""
    needed = (chunk.whole for chunk in chunks if chunk.kind[:1].isupper() or chunk.kind == b"tRNS")
    return b"".join([SIGNATURE, *needed])


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
