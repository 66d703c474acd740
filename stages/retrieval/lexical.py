"""BM25 over the terms of the entries, as two sparse matrices in plain numpy arrays.

Formula: Robertson & Zaragoza 2009 with Lucene's idf, log(1 + (N - df + 0.5) / (df + 0.5)); no term counts less than 0.
Why no engine: docs/bm25.md has the measurement. Scores are rounded to 6 decimals before they are ranked, ties go by id.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.corpus.terms import Term, Vocabulary, terms
from stages.errors import BadInputError
from stages.exact import log, snap
from stages.records import Candidate, Entry, Shown, unseen

DECIMALS = 6
LARGEST_SUM = 2**53
"""Of counts: below it a sum is exact."""


@dataclass(frozen=True)
class LexicalIndex:
    """Terms by entry, row by row, and the same transposed.

    names    distinct terms, sorted; a term's number is its place.
    indptr, indices, counts  entry -> its term numbers, rising, and how often each occurs (compressed sparse rows).
    postings_indptr, posting_rows, posting_counts  term -> the entries that hold it, rising, and how often.
    lengths  terms in each entry's own words, repeats included: at most the sum of its counts.
    """

    names: tuple[str, ...]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    counts: NDArray[np.int64]
    postings_indptr: NDArray[np.int64]
    posting_rows: NDArray[np.int64]
    posting_counts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @cached_property
    def terms(self) -> Mapping[str, int]:
        """Number of every term."""
        return {term: number for number, term in enumerate(self.names)}

    @cached_property
    def pair_heads(self) -> frozenset[str]:
        """Words that make a pair somewhere in the corpus: `model` of `model~300`."""
        return frozenset(name.partition("~")[0] for name in self.names if "~" in name)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.indptr) - 1

    @cached_property
    def _idfs(self) -> list[float]:
        """Idf by number of entries that hold a term, on a grid: ln(1 + (n - found + 0.5) / (found + 0.5))."""
        found = np.arange(self.size + 1)
        return list(snap(log((self.size + 1) / (found + 0.5))).tolist())

    @cached_property
    def _holding(self) -> list[int]:
        return list(np.diff(self.postings_indptr).tolist())

    def idf(self, term: str) -> float:
        """Inverse document frequency; a term that no entry holds has the highest."""
        number = self.terms.get(term)
        return self._idfs[0 if number is None else self._holding[number]]

    def holders(self, term: str) -> frozenset[int]:
        """Rows of the entries that hold a term."""
        number = self.terms.get(term)
        if number is None:
            return frozenset()
        return frozenset(self.posting_rows[self.postings_indptr[number] : self.postings_indptr[number + 1]].tolist())

    def weights(self, row: int) -> dict[str, float]:
        """The distinct terms that the entry in `row` holds, sorted, with their idf."""
        numbers = self.indices[self.indptr[row] : self.indptr[row + 1]].tolist()
        return {self.names[number]: self._idfs[self._holding[number]] for number in numbers}

    def held(self, row: int) -> frozenset[str]:
        """The distinct terms that the entry in `row` holds."""
        numbers = self.indices[self.indptr[row] : self.indptr[row + 1]].tolist()
        return frozenset([self.names[number] for number in numbers])


def to_arrays(index: LexicalIndex) -> dict[str, NDArray[np.generic]]:
    """What has to be kept of an index: everything else follows from it."""
    names = np.frombuffer("\n".join(index.names).encode("utf-8"), dtype=np.uint8)
    rows = {"indptr": index.indptr, "indices": index.indices, "counts": index.counts}
    return {"names": names, **rows, "lengths": index.lengths}


def from_arrays(arrays: Mapping[str, NDArray[Any]], size: int) -> LexicalIndex:
    """The index over `size` entries of which `to_arrays` gave the arrays. Raises BadInputError for what is none."""
    kinds = {"names": np.uint8} | dict.fromkeys(("indptr", "indices", "counts", "lengths"), np.int64)
    found = {name: (one.dtype, one.ndim) for name, one in arrays.items()}
    if found != {name: (np.dtype(kind), 1) for name, kind in kinds.items()}:
        raise BadInputError(f"expected arrays of one dimension, {', '.join(kinds)}; run `dvc repro build_index`")
    try:
        text = arrays["names"].tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInputError(f"names: not UTF-8 at byte {error.start}; run `dvc repro build_index`") from error
    names = text.split("\n") if text else []
    indptr, indices, counts, lengths = (arrays[name] for name in list(kinds)[1:])
    sound = len(indptr) == size + 1 and _are_rows(indptr, indices, counts, len(names))
    sound = sound and len(lengths) == size and _are_lengths(lengths, _sums(indptr, counts))
    if not sound or any(first >= second for first, second in pairwise(names)):
        raise BadInputError(f"no sorted terms of {size} entries, with counts; run `dvc repro build_index`")
    return transpose(names, indptr, indices, counts, lengths)


def _are_lengths(lengths: NDArray[np.int64], most: NDArray[np.int64]) -> bool:
    """True for no more than an entry's counts come to, and none only where it has none."""
    return bool(((lengths <= most) & (lengths >= np.minimum(most, 1))).all())


def _are_rows(indptr: NDArray[np.int64], indices: NDArray[np.int64], counts: NDArray[np.int64], terms: int) -> bool:
    """True for compressed sparse rows, in each of which the numbers of terms rise, with a count for each."""
    if indptr[0] != 0 or indptr[-1] != len(indices) or len(counts) != len(indices):
        return False
    if (np.diff(indptr) < 0).any() or not ((indices >= 0) & (indices < terms)).all():
        return False
    begins = np.zeros(len(indices) + 1, dtype=np.bool_)
    begins[indptr] = True
    rising = (np.diff(indices) > 0) | begins[1:-1]
    return bool(rising.all() and (counts > 0).all() and counts.sum(dtype=np.float64) < LARGEST_SUM)


def front_matters(entries: Iterable[Entry]) -> dict[str, str]:
    """Path -> the front matter that fields were found in, without what no field stands in."""
    lines: dict[str, dict[tuple[int | None, int | None], str]] = {}
    for entry in entries:
        if entry.front_matter:
            lines.setdefault(entry.path, {})[entry.start, entry.end] = f"{entry.text}: {entry.value}"
    return {path: "\n".join(found.values()) for path, found in lines.items()}


def entry_words(entry: Entry, fronts: Mapping[str, str]) -> str:
    """All words of an entry: heading path, text, value; of an image what its file says, and documents that show it.

    A field of the front matter is about the document that the whole front matter identifies: it has those words too.
    """
    return f"{_own_words(entry)}\n{fronts[entry.path]}" if entry.front_matter else _own_words(entry)


def _own_words(entry: Entry) -> str:
    shown = [" ".join((*mention.headings, mention.words)) for mention in entry.mentions]
    said = [one.words for one in entry.inscriptions]
    return "\n".join([*entry.headings, entry.text, entry.value or "", *shown, *said])


def with_pairs(found: Iterable[Term]) -> Iterator[str]:
    """The texts of terms, and of the proper pairs that some of them close."""
    for term in found:
        yield term.text
        if term.pair and term.proper:
            yield term.pair


class Counted(NamedTuple):
    """The terms and pairs of an entry with their counts, and how many its own words are (`LexicalIndex.lengths`)."""

    terms: Counter[str]
    length: int


def count_terms(entries: Sequence[Entry], vocabulary: Vocabulary, shown: Shown = unseen) -> list[Counted]:
    """The terms of every entry, in the order given; `shown` is told how far it is.

    What identifies a document makes none of its fields longer.
    """
    fronts = front_matters(entries)
    found = [_counted(entry_words(entry, fronts), vocabulary) for entry in shown(entries, len(entries), "entries")]
    own = [_counted(_own_words(entry), vocabulary) if entry.front_matter else None for entry in entries]
    return [Counted(all_, (all_ if some is None else some).total()) for all_, some in zip(found, own, strict=True)]


@lru_cache(maxsize=1 << 14)
def _counted(words: str, vocabulary: Vocabulary) -> Counter[str]:
    """Kept, since most entries stay from one index to the next where several are made (`stages.rebuild`)."""
    return Counter(with_pairs(terms(words, vocabulary)))


def build_lexical(counted: Sequence[Counted]) -> LexicalIndex:
    """Build both matrices from the counted terms of the entries."""
    rows = [one.terms for one in counted]
    numbers = {term: place for place, term in enumerate(sorted(set().union(*rows)))}
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    found = np.fromiter(map(numbers.__getitem__, chain.from_iterable(rows)), np.int64, int(sizes.sum()))
    counts = np.fromiter(chain.from_iterable(row.values() for row in rows), np.int64, len(found))
    order = np.lexsort((found, np.repeat(np.arange(len(rows)), sizes)))
    lengths = np.fromiter((one.length for one in counted), np.int64, len(counted))
    return transpose(list(numbers), _starts(sizes), found[order], counts[order], lengths)


def _sums(indptr: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of the counts of each row."""
    before = _starts(counts)
    return before[indptr[1:]] - before[indptr[:-1]]


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def transpose(
    names: Sequence[str],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    counts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> LexicalIndex:
    """Complete an index from its entry -> term rows."""
    by_term = np.argsort(indices, kind="stable")
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return LexicalIndex(
        names=tuple(names),
        indptr=indptr,
        indices=indices,
        counts=counts,
        postings_indptr=_starts(np.bincount(indices, minlength=len(names))),
        posting_rows=rows[by_term],
        posting_counts=counts[by_term],
        lengths=lengths,
    )


def bm25(index: LexicalIndex, asked: Iterable[str], k1: float, b: float) -> NDArray[np.float64]:
    """Score of every entry, shape (entries,), for the distinct terms asked; 0 where none occurs."""
    scores = np.zeros(index.size)
    mean = max(float(index.lengths.mean()), 1.0)
    for term in sorted(set(asked) & index.terms.keys()):
        start, end = index.postings_indptr[index.terms[term] : index.terms[term] + 2]
        rows, counts = index.posting_rows[start:end], index.posting_counts[start:end]
        norm = k1 * (1 - b + b * index.lengths[rows] / mean)
        scores[rows] += index.idf(term) * counts * (k1 + 1) / (counts + norm)
    return np.round(scores, DECIMALS)


def rank(ids: Sequence[str], scores: NDArray[np.float64], depth: int) -> tuple[Candidate, ...]:
    """The `depth` best entries with a score above 0, sorted by (-score, id)."""
    found = np.flatnonzero(scores > 0)
    if len(found) > depth:
        cut = np.partition(scores[found], len(found) - depth)[len(found) - depth]
        found = found[scores[found] >= cut]
    ranked = sorted((Candidate(ids[row], float(scores[row])) for row in found.tolist()), key=lambda c: (-c.score, c.id))
    return tuple(ranked[:depth])
