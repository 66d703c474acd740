"""Bytes -> a zlib stream: one DEFLATE block (RFC 1951), its own Huffman codes, runs of a byte as matches.

Matches at distance 1 are all that is looked for: drawn images are runs behind PNG's filters, and noise has none.
"""

import zlib
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = 3, 258
"""Bytes that one match may repeat."""
END, SYMBOLS = 256, 286
WORD = 32
LONGEST = 15
"""Bits of a code, at most."""
LENGTHS_FIRST = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
"""The order in which the codes of code lengths are told."""
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


class Tokens(NamedTuple):
    """What stands in a block, in order: each a symbol of literals and lengths, and of a match its extra bits and the
    bit of distance 1, the only code of its kind."""

    symbols: Ints
    extra: Ints
    extra_sizes: Ints


def pack(data: bytes) -> bytes:
    """A zlib stream of at least one byte."""
    tokens = _tokens(np.frombuffer(data, dtype=np.uint8))
    sizes = code_sizes(np.bincount(tokens.symbols, minlength=SYMBOLS).tolist())
    codes, lengths = np.array(canonical(sizes), dtype=np.int64), np.array(sizes, dtype=np.int64)
    long = lengths[tokens.symbols]
    bits = codes[tokens.symbols] | tokens.extra << long
    head = np.array(_head(sizes), dtype=np.int64)
    stream = _bits(np.append(head[:, 0], bits), np.append(head[:, 1], long + tokens.extra_sizes))
    return b"\x78\x01" + stream + zlib.adler32(data).to_bytes(4, "big")


def _bits(values: Ints, sizes: Ints) -> bytes:
    """Values of `sizes` bits each, at most 32, one after the other, each byte filled from its lowest bit."""
    ends = np.cumsum(sizes)
    starts = ends - sizes
    moved = values.astype(np.uint64) << (starts % WORD).astype(np.uint64)
    words = np.zeros(int(ends[-1]) // WORD + 2, dtype=np.uint64)
    np.add.at(words, starts // WORD, moved & np.uint64(2**WORD - 1))
    np.add.at(words, starts // WORD + 1, moved >> np.uint64(WORD))
    return words.astype("<u4").tobytes()[: -(-int(ends[-1]) // 8)]


def _head(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """(value, bits) of the head of a last block with codes of its own. A code length is told in 4 bits as it is."""
    counts = [(1, 1), (2, 2), (SYMBOLS - 257, 5), (0, 5), (len(LENGTHS_FIRST) - 4, 4)]
    plain = [(4 if length <= LONGEST else 0, 3) for length in LENGTHS_FIRST]
    told = [(_reversed(length, 4), 4) for length in (*sizes, 1)]
    return [*counts, *plain, *told]


def _tokens(data: Bytes) -> Tokens:
    """For each run its byte, and what repeats it: matches as long as can be, or single bytes."""
    starts = np.flatnonzero(np.diff(data, prepend=~data[:1]))
    rest = np.diff(starts, append=len(data)) - 1
    full, left = rest // MOST, rest % MOST
    matched = left >= LEAST
    counts = 1 + full + np.where(matched, 1, left)
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    last = (place == np.repeat(full + 1, counts)) & np.repeat(matched, counts)
    lengths = np.where((place >= 1) & (place <= np.repeat(full, counts)), MOST, 0)
    lengths = np.where(last, np.repeat(left, counts), lengths)
    symbols = np.where(lengths > 0, MATCHES[lengths, 0], np.repeat(data[starts].astype(np.int64), counts))
    extra, sizes = MATCHES[lengths, 1], MATCHES[lengths, 2]
    return Tokens(np.append(symbols, END), np.append(extra, 0), np.append(sizes, 0))


def _match(length: int) -> tuple[int, int, int]:
    """Symbol of a match, its extra bits with the distance's 0 behind them, and how many bits these are (3.2.5)."""
    if length < LEAST:
        return 0, 0, 0
    if length == MOST:
        return SYMBOLS - 1, 0, 1
    over = length - LEAST
    extra = max(over.bit_length() - 3, 0)
    return END + 1 + 4 * extra + (over >> extra), over & (1 << extra) - 1, extra + 1


MATCHES = np.array([_match(length) for length in range(MOST + 1)], dtype=np.int64)


def code_sizes(counts: Sequence[int]) -> list[int]:
    """Bits of the code of each symbol (Huffman 1952), 0 for one that does not occur; at most LONGEST, for which the
    counts are halved until it holds."""
    sizes = _huffman(counts)
    while max(sizes) > LONGEST:
        counts = [(count + 1) // 2 for count in counts]
        sizes = _huffman(counts)
    return sizes


def _huffman(counts: Sequence[int]) -> list[int]:
    """Of two symbols or more; ties go to the tree that was there first, so that equal counts give equal codes."""
    trees: list[tuple[int, int, tuple[int, ...]]] = [(n, symbol, (symbol,)) for symbol, n in enumerate(counts) if n]
    heapify(trees)
    sizes = [0] * len(counts)
    for number in range(len(counts), len(counts) + len(trees) - 1):
        (one, _, left), (other, _, right) = heappop(trees), heappop(trees)
        for symbol in (*left, *right):
            sizes[symbol] += 1
        heappush(trees, (one + other, number, (*left, *right)))
    return sizes


def canonical(sizes: Sequence[int]) -> list[int]:
    """The code of each symbol, its first bit lowest: by length, then by symbol, counting up (3.2.2)."""
    codes, code, before = [0] * len(sizes), 0, 0
    for size, symbol in sorted((size, symbol) for symbol, size in enumerate(sizes) if size):
        code <<= size - before
        codes[symbol], code, before = _reversed(code, size), code + 1, size
    return codes


def _reversed(code: int, size: int) -> int:
    return int(f"{code:0{size}b}"[::-1], 2)
