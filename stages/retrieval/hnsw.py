"""Whether bytes are an HNSW index over known vectors, in the format of hnswlib's `saveIndex`.

hnswlib follows whatever link a file holds, out of its own memory too; so every link is looked at before it loads one.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HEAD = struct.Struct("<6QiI3QdQ")
WORD = 4
"""Bytes of a count, a link or a float32; a label has two words."""
Words = NDArray[np.uint32]


class Head(NamedTuple):
    """The head of a file, in its order. Sizes and offsets in bytes; `links` of an element on a level above 0."""

    start: int
    capacity: int
    elements: int
    element_size: int
    label_offset: int
    data_offset: int
    top_level: int
    entry: int
    links: int
    links_at_0: int
    m: int
    mult: float
    ef_construction: int


def hnsw_finding(data: bytes, vectors: NDArray[np.float32]) -> str | None:
    """Why `data` is no index over `vectors` (n, dimension) in which every link leads to an element, or None."""
    size, dimension = vectors.shape
    head = Head(*HEAD.unpack_from(data)) if len(data) >= HEAD.size else None
    if head is None or not _fits(head, size, dimension):
        return f"no head of an HNSW index over {size} vectors of {dimension} dimensions"
    end = HEAD.size + size * head.element_size
    if end > len(data):
        return "cut off"
    words = np.frombuffer(data[HEAD.size : end], "<u4").reshape(size, -1)
    lists, floats, labels = np.split(words, [1 + head.links_at_0, -2], axis=1)
    if not np.array_equal(floats, vectors.astype("<f4").view("<u4")):
        return "made of other vectors"
    if not np.array_equal(labels, np.stack([np.arange(size), np.zeros(size)], axis=1)):
        return "its labels are not the rows of the vectors"
    upper = list(_upper(data[end:], head))
    heights = np.array([len(one) for one in upper])
    whole = WORD * sum(one.size + 1 for one in upper) == len(data) - end
    if len(upper) < size or not whole or head.top_level != heights[head.entry]:
        return "its upper levels do not fit its head"
    levels = (lists, *(_level(upper, height) for height in range(1, head.top_level + 1)))
    if not all(_lead_to(rows, heights >= height) for height, rows in enumerate(levels)):
        return "a link leads to no element"
    return None


def _fits(head: Head, size: int, dimension: int) -> bool:
    """True for a head that says of every size what follows from the number of links, vectors and dimensions."""
    data_offset = WORD * (1 + head.links_at_0)
    label_offset = data_offset + WORD * dimension
    sizes = (0, size, size, label_offset + 2 * WORD, label_offset, data_offset)
    return head[:6] == sizes and head.links_at_0 == 2 * head.links and head.entry < size


def _upper(data: bytes, head: Head) -> Iterator[Words]:
    """The lists of each element above level 0, (levels, 1 + links), up to the first that is cut off or does not fit."""
    at, row = 0, WORD * (1 + head.links)
    for _ in range(head.elements):
        size = int.from_bytes(data[at : at + WORD], "little")
        at += WORD + size
        if at > len(data) or size % row or size // row > max(head.top_level, 0):
            return
        yield np.frombuffer(data[at - size : at], "<u4").reshape(-1, 1 + head.links)


def _level(upper: list[Words], height: int) -> Words:
    return np.stack([one[height - 1] for one in upper if len(one) >= height])


def _lead_to(lists: Words, there: NDArray[np.bool_]) -> bool:
    """True when each list (count, links, unused) holds no more than it has room for, all of it elements that are there.

    there  (elements,)
    """
    counts, links = lists[:, 0], lists[:, 1:]
    used = links[np.arange(links.shape[1]) < counts[:, None]]
    return bool((counts <= links.shape[1]).all() and (used < len(there)).all() and there[used].all())
