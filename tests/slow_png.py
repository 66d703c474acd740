"""PNG -> RGBA, straight from the standard, sample by sample: slow, and independent of any library but zlib."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np

PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Of Adam7: first column and row, and the steps to the next."""
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def paeth(a: int, b: int, c: int) -> int:
    near = [abs(b - c), abs(a - c), abs(a + b - 2 * c)]
    return (a, b, c)[near.index(min(near))]


def unfiltered(rows: bytes, height: int, width: int, pixel: int) -> list[bytearray]:
    found, above = [], bytearray(width)
    for row in range(height):
        kind, *line = rows[row * (width + 1) : (row + 1) * (width + 1)]
        for at in range(width):
            a = line[at - pixel] if at >= pixel else 0
            b, c = above[at], above[at - pixel] if at >= pixel else 0
            line[at] = (line[at] + (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) & 255
        above = bytearray(line)
        found.append(above)
    return found


def samples(line: bytearray, depth: int, number: int) -> list[int]:
    if depth == 16:
        return list(struct.unpack(f">{number}H", line))
    per = 8 // depth
    return [line[i // per] >> (8 - depth * (i % per + 1)) & (2**depth - 1) for i in range(number)]


def rgba(data: bytes) -> np.ndarray:
    """Samples of 8 bits, (height, width, 4): of 16 the upper 8, of fewer scaled up; transparency as alpha."""
    found = list(chunks(data))
    parts = dict(reversed(found))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    stream = zlib.decompress(b"".join(body for name, body in found if name == b"IDAT"))
    channels, image = CHANNELS[kind], np.zeros((height, width, 4), dtype=np.uint8)
    at = 0
    for left, top, right, down in PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = range(left, width, right), range(top, height, down)
        if not columns or not rows:
            continue
        size = (len(columns) * channels * depth + 7) // 8
        lines = unfiltered(stream[at : at + len(rows) * (size + 1)], len(rows), size, max(1, channels * depth // 8))
        at += len(rows) * (size + 1)
        for row, line in zip(rows, lines, strict=True):
            values = samples(line, depth, len(columns) * channels)
            for place, column in enumerate(columns):
                pixel = values[place * channels : (place + 1) * channels]
                image[row, column] = colour(pixel, depth, kind, parts)
    return image


def colour(pixel: list[int], depth: int, kind: int, parts: dict[bytes, bytes]) -> list[int]:
    clear = parts.get(b"tRNS", b"")
    if kind == 3:
        (index,) = pixel
        return [*parts[b"PLTE"][3 * index : 3 * index + 3], clear[index] if index < len(clear) else 255]
    levels = [one >> 8 if depth == 16 else one * 255 // (2**depth - 1) for one in pixel]
    if kind in (4, 6):
        return levels if kind == 6 else [levels[0]] * 3 + levels[1:]
    key = list(struct.unpack(f">{len(pixel)}H", clear)) if clear else None
    return (levels if kind == 2 else levels * 3) + [0 if pixel == key else 255]
