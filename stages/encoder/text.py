"""Text -> integers: words and the n-grams of their characters, hashed, so that an unseen word lands near its kin.

No vocabulary: `stages.corpus.terms` is not used. Text is NFKC-normalised and case-folded. A Latin word or a number
gives itself and its 2-, 3- and 4-grams, its ends marked. Chinese has no spaces: at each character of a run a word is
taken to begin, and gives its first one to four characters.
"""

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from stages.corpus.tokens import CJK

Ints = NDArray[np.int64]

BUCKETS = 8192
UNIT = 256
"""Length of what one word adds, whatever its number of n-grams."""
SIZES, LONGEST = (2, 3, 4), 4
_CJK_WORD = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"(?P<cjk>[{CJK}]+)|\d+(?:\.\d+)*|[^\W\d_{CJK}]+")


def extract(texts: Iterable[str]) -> Ints:
    """Features of each text, shape (n, BUCKETS).

    A word that occurs c times adds 1 + floor(log2 c) times its n-grams, of which all together have length 256.
    """
    rows = [_features(text) for text in texts]
    return np.array(rows, dtype=np.int64).reshape(len(rows), BUCKETS)


def _features(text: str) -> Ints:
    row = np.zeros(BUCKETS, dtype=np.int64)
    for word, count in words(text).items():
        buckets = [bucket(gram) for gram in grams(word)]
        np.add.at(row, buckets, count.bit_length() * isqrt(UNIT**2 // len(buckets)))
    return row


def words(text: str) -> Counter[str]:
    """Words, numbers, and the one to four characters from each place of a run of CJK characters, with their counts."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return Counter(word for match in _WORD.finditer(folded) for word in _split(match))


def _split(match: re.Match[str]) -> Iterator[str]:
    found = match.group()
    if match["cjk"]:
        yield from (found[start : start + LONGEST] for start in range(len(found)))
    else:
        yield found


def grams(word: str) -> Sequence[str]:
    """The pieces of one word: `<red>`, <r, re, ed, d>, <re, red, ed>, <red and red> of red; 红 and 红色 of 红色."""
    if _CJK_WORD.match(word):
        return [word[:size] for size in range(1, len(word) + 1)]
    marked = f"<{word}>"
    return [marked, *(marked[i : i + n] for n in SIZES for i in range(len(marked) - n + 1))]


def bucket(gram: str) -> int:
    """The place of a piece: CRC-32 of its UTF-8, the same in every process."""
    return zlib.crc32(gram.encode()) % BUCKETS
