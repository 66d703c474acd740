"""Pixels -> a PNG file, the same bytes with every version of every library.

zlib promises what comes out again, not how it is packed: its versions and kin (zlib-ng) pack otherwise. So the packing
is our own (stages/perturbation/deflate.py), behind PNG's filters Sub and Up.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from stages.corpus.png import Pixels
from stages.corpus.pngchunks import SIGNATURE, read_chunks
from stages.perturbation.deflate import pack

WORDS = (b"tEXt", b"zTXt", b"iTXt", b"eXIf")
"""Chunks that say something in words."""
SUB, UP = 1, 2
RGB, RGBA = 2, 6
Bytes = NDArray[np.uint8]


def encode(pixels: Pixels, original: bytes | None = None) -> bytes:
    """The PNG file of some pixels, with the words that the original file has; transparent pixels are white."""
    rgb = np.where(pixels.opaque[:, :, None], pixels.rgb, np.uint8(255))
    whole = bool(pixels.opaque.all())
    samples = rgb if whole else np.dstack([rgb, np.where(pixels.opaque, 255, 0).astype(np.uint8)])
    height, width = pixels.opaque.shape
    head = b"".join(size.to_bytes(4, "big") for size in (width, height)) + bytes([8, RGB if whole else RGBA, 0, 0, 0])
    words = (bytes(one.whole) for one in read_chunks(original) if one.kind in WORDS) if original else ()
    made = (chunk(b"IHDR", head), *words, chunk(b"IDAT", pack(filtered(samples))), chunk(b"IEND", b""))
    return b"".join([SIGNATURE, *made])


def chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk of a PNG file."""
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")


def filtered(samples: Bytes) -> bytes:
    """Samples (height, width, channels) row by row, each behind the number of its filter: less the pixel to the left in
    the first row, less the one above in all others."""
    before = np.roll(samples, 1, axis=0)
    before[0, 1:], before[0, 0] = samples[0, :-1], 0
    rest = (samples - before).reshape(len(samples), -1)
    kinds = np.full((len(samples), 1), UP, dtype=np.uint8)
    kinds[0] = SUB
    return np.hstack([kinds, rest]).tobytes()
