"""BM25 against a slow twin in plain loops; ranks, ties, and what an index looks like on disk."""

import io
import math
import os
import random
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stages.errors import BadInputError
from stages.records import Candidate
from stages.retrieval.lexical import DECIMALS, Counted, LexicalIndex, bm25, build_lexical, from_arrays, rank, to_arrays

Texts = list[list[str]]

GRID = 2.0**-20
FEW = settings(max_examples=40)
TERMS = st.sampled_from(["colour/red", "harrow~300", "2.4", "valv", "阀门", "a", "b", "c", "d"])
ASKED = st.lists(st.one_of(TERMS, st.sampled_from(["unknown", "无"])), max_size=8)
TEXTS = st.lists(st.lists(TERMS, max_size=12), min_size=1, max_size=12)
K1 = st.sampled_from([0.0, 0.9, 1.2, 2.0])
B = st.sampled_from([0.0, 0.4, 0.75, 1.0])
SCORES = st.lists(st.sampled_from([0.0, 0.5, 0.500001, 1.0, 3.0]), max_size=30)


def slow_bm25(texts: Texts, asked: Sequence[str], k1: float, b: float, lengths: Sequence[int]) -> list[float]:
    """Robertson & Zaragoza 2009, section 3.4, with Lucene's idf, text by text.

    A mean length below 1 counts as 1: it occurs only where most entries are empty.
    """
    mean = max(sum(lengths) / len(texts), 1.0)
    scores = []
    for text, length in zip(texts, lengths, strict=True):
        score = 0.0
        for term in dict.fromkeys(asked):
            frequency = text.count(term)
            holders = sum(1 for other in texts if term in other)
            idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            if frequency:
                score += idf * frequency * (k1 + 1) / (frequency + k1 * ((1 - b) + b * length / mean))
        scores.append(score)
    return scores


def slow_rank(ids: Sequence[str], scores: Sequence[float], depth: int) -> tuple[Candidate, ...]:
    """Take the best that is left, until there is none."""
    left = {one: score for one, score in zip(ids, scores, strict=True) if score > 0}
    found: list[Candidate] = []
    while left and len(found) < depth:
        best = min(one for one, score in left.items() if score == max(left.values()))
        found.append(Candidate(best, left.pop(best)))
    return tuple(found)


def build(texts: Texts, lengths: Sequence[int] | None = None) -> LexicalIndex:
    """`lengths` where some words of a text are not its own."""
    return build_lexical([Counted(Counter(text), n) for text, n in zip(texts, lengths or map(len, texts), strict=True)])


def saved(index: LexicalIndex) -> bytes:
    stream = io.BytesIO()
    arrays: dict[str, Any] = dict(to_arrays(index))
    np.savez(stream, **arrays)
    return stream.getvalue()


def loaded(data: bytes) -> LexicalIndex:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return from_arrays(dict(arrays), len(arrays["indptr"]) - 1)


def fields(index: LexicalIndex) -> Mapping[str, NDArray[np.int64]]:
    """All arrays of an index, the transposed ones too."""
    return {name: value for name, value in vars(index).items() if isinstance(value, np.ndarray)}


@given(TEXTS, ASKED, K1, B, st.integers(1, 12))
@example([["a"], [], [], []], ["a"], 1.2, 0.75, 12)
def test_scores_are_those_of_the_formula(texts: Texts, asked: list[str], k1: float, b: float, own: int) -> None:
    lengths = [min(own, len(text)) for text in texts]
    # the idf is off by at most half a step of its grid for each term, the score by half a unit of its last decimal
    allowed = len(set(asked)) * (k1 + 1) * GRID / 2 + 0.5 * 10**-DECIMALS + 1e-12
    found, slow = bm25(build(texts, lengths), asked, k1, b), slow_bm25(texts, asked, k1, b, lengths)
    np.testing.assert_allclose(found, slow, rtol=0, atol=allowed)


@FEW
@given(TEXTS, ASKED)
def test_scores_have_six_decimals(texts: Texts, asked: list[str]) -> None:
    scores = bm25(build(texts), asked, 1.2, 0.75).tolist()
    assert scores == [float(f"{score:.6f}") for score in scores]


@FEW
@given(TEXTS, TERMS)
def test_every_entry_that_holds_a_term_scores_above_the_others(texts: Texts, term: str) -> None:
    scores = bm25(build(texts), [term], 1.2, 0.75)
    assert [score > 0 for score in scores] == [term in text for text in texts]


def test_one_score_by_hand() -> None:
    index = build([["red", "circle", "red"], ["blue", "circle"], []])
    mean, idf = 5 / 3, math.log(1 + 2.5 / 1.5)
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / mean))
    assert bm25(index, ["red"], 1.2, 0.75).tolist() == pytest.approx([expected, 0, 0], abs=2e-6)


@pytest.mark.parametrize("asked", [[], ["unknown"]])
def test_nothing_known_scores_nothing(asked: list[str]) -> None:
    scores = bm25(build([["a"], [], ["b", "a"]]), asked, 1.2, 0.75)
    assert scores.tolist() == [0, 0, 0]
    assert rank(["x", "y", "z"], scores, 3) == ()


@pytest.mark.parametrize("texts", [[[]], [[], [], []]])
def test_entries_without_terms_are_no_error(texts: Texts) -> None:
    index = loaded(saved(build(texts)))
    assert (index.names, index.size) == ((), len(texts))
    assert bm25(index, ["a"], 1.2, 0.75).tolist() == [0] * len(texts)


@FEW
@given(TEXTS, ASKED)
def test_a_term_asked_twice_counts_once_and_order_does_not_matter(texts: Texts, asked: list[str]) -> None:
    index = build(texts)
    once = bm25(index, set(asked), 1.2, 0.75)
    assert once.tolist() == bm25(index, [*reversed(asked), *asked], 1.2, 0.75).tolist()


@given(SCORES, st.integers(1, 40), st.randoms(use_true_random=False))
def test_rank_sorts_by_score_then_id(scores: list[float], depth: int, dice: random.Random) -> None:
    ids = [f"{number:02d}" for number in range(len(scores))]
    dice.shuffle(ids)
    assert rank(ids, np.array(scores), depth) == slow_rank(ids, scores, depth)


def test_a_tie_across_the_cut_goes_to_the_lowest_ids() -> None:
    ids = [f"{number:04d}" for number in range(1000)]
    random.Random(0).shuffle(ids)
    scores = np.where(np.arange(1000) == 7, 2.0, 1.0)
    first = ids[7]
    others = [f"{number:04d}" for number in range(6) if f"{number:04d}" != first][:4]
    assert [one.id for one in rank(ids, scores, 5)] == [first, *others]


def test_rank_gives_all_that_score_when_asked_for_more() -> None:
    ranked = rank(["c", "a", "b"], np.array([1.0, 0.0, 1.0]), 10)
    assert ranked == (Candidate("b", 1.0), Candidate("c", 1.0))


@FEW
@given(TEXTS, ASKED, st.integers(1, 12), st.randoms(use_true_random=False))
def test_candidates_do_not_depend_on_the_order_of_entries(
    texts: Texts, asked: list[str], depth: int, dice: random.Random
) -> None:
    entries = [(f"e{number:02d}", text) for number, text in enumerate(texts)]
    shuffled = dice.sample(entries, len(entries))
    ranks = [
        rank([one for one, _ in some], bm25(build([text for _, text in some]), asked, 1.2, 0.75), depth)
        for some in (entries, shuffled)
    ]
    assert ranks[0] == ranks[1]


@FEW
@given(TEXTS, ASKED)
def test_an_index_comes_back_whole_from_disk(texts: Texts, asked: list[str]) -> None:
    index = build(texts)
    again = loaded(saved(index))
    assert again.names == index.names
    assert {name: value.tolist() for name, value in fields(again).items()} == {
        name: value.tolist() for name, value in fields(index).items()
    }
    assert bm25(again, asked, 1.2, 0.75).tobytes() == bm25(index, asked, 1.2, 0.75).tobytes()


@FEW
@given(TEXTS)
def test_rows_and_columns_say_what_the_texts_say(texts: Texts) -> None:
    index = build(texts)
    assert list(index.names) == sorted({term for text in texts for term in text})
    assert [index.held(row) for row in range(index.size)] == [frozenset(text) for text in texts]
    for term in (*index.names, "unknown"):
        assert index.holders(term) == {row for row, text in enumerate(texts) if term in text}


def test_postings_rise() -> None:
    dice = random.Random(0)
    index = build([dice.choices("abcdefgh", k=5) for _ in range(300)])
    for start, end in pairwise(index.postings_indptr.tolist()):
        assert (np.diff(index.posting_rows[start:end]) > 0).all()


@FEW
@given(TEXTS, st.randoms(use_true_random=False))
def test_bytes_do_not_depend_on_the_order_of_words_in_an_entry(texts: Texts, dice: random.Random) -> None:
    assert saved(build(texts)) == saved(build([dice.sample(text, len(text)) for text in texts]))


def test_two_interpreters_write_the_same_bytes() -> None:
    code = """
import hashlib, numpy, io
from collections import Counter
from stages.retrieval.lexical import Counted, build_lexical, to_arrays
texts = [Counted(Counter(f"t{row * word % 97}" for word in range(row % 7)), row % 7) for row in range(50)]
stream = io.BytesIO()
numpy.savez(stream, **to_arrays(build_lexical(texts)))
print(hashlib.sha256(stream.getvalue()).hexdigest())
"""
    root = Path(__file__).parent.parent
    command = (sys.executable, "-c", code)
    seeds = ("1", "2")
    both = [
        subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONHASHSEED": seed}, stdout=subprocess.PIPE)
        for seed in seeds
    ]
    hashes = [one.communicate()[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert hashes[0] == hashes[1]


def test_no_clock_is_in_the_bytes() -> None:
    with zipfile.ZipFile(io.BytesIO(saved(build([["a", "b"], ["b"]])))) as archive:
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("lengths", [[3, 1], [0, 1], [-1, 1], [2], [2, 1, 1]])
def test_lengths_that_no_entries_have_are_refused(lengths: list[int]) -> None:
    arrays = to_arrays(build([["a", "b"], ["a"]])) | {"lengths": np.array(lengths, dtype=np.int64)}
    with pytest.raises(BadInputError, match="sorted terms"):
        from_arrays(arrays, 2)
