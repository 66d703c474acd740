"""Vectors and rank lists: HNSW against exact search, exact cosines, reciprocal rank fusion against its formula."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages import arrays
from stages.errors import BadInputError
from stages.params import NeighboursParams
from stages.records import Candidate
from stages.retrieval.fuse import fuse
from stages.retrieval.neighbours import Neighbours, cosines, quantise, recall

SETTINGS = NeighboursParams(m=16, ef_construction=200, ef_search=200, seed=0, exact=False)


def unit_rows(n: int, dimension: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def neighbours(vectors: np.ndarray, propose: Callable[[np.ndarray, int], np.ndarray]) -> Neighbours:
    ids = [f"e{row:04}" for row in range(len(vectors))]
    rows = {name: row for row, name in enumerate(ids)}
    return Neighbours(ids, rows, vectors, lambda text: vectors[0], propose)


def test_hnsw_finds_what_exact_search_finds(tmp_path: Path) -> None:
    vectors = quantise(unit_rows(1500, 64, 1))
    sealed = arrays.write_hnsw(tmp_path / "hnsw.bin", vectors, SETTINGS)
    ours = neighbours(vectors, arrays.read_hnsw(tmp_path / "hnsw.bin", sealed, vectors, SETTINGS.ef_search))
    exact = neighbours(vectors, lambda vector, k: np.arange(len(vectors)))
    asked = quantise(unit_rows(100, 64, 2))
    found, wanted = recall([exact.nearest(one, 20) for one in asked], [ours.nearest(one, 20) for one in asked])
    assert wanted == 2000 and found >= 0.99 * wanted
    assert ours.nearest(asked[0], 5000) == exact.nearest(asked[0], 5000), "k is clamped to n"
    assert ours.nearest(np.zeros(64, dtype=np.int8), 20) == ()


def test_the_index_is_the_same_file_again_and_no_other_is_loaded(tmp_path: Path) -> None:
    vectors = quantise(unit_rows(300, 32, 3))
    first, second = (arrays.write_hnsw(tmp_path / name, vectors, SETTINGS) for name in ("a", "b"))
    assert first == second
    (tmp_path / "b").write_bytes((tmp_path / "b").read_bytes() + b"x")
    with pytest.raises(BadInputError, match="embed_corpus"):
        arrays.read_hnsw(tmp_path / "b", first, vectors, 10)


def test_the_index_is_the_file_that_other_builds_and_processors_make(tmp_path: Path) -> None:
    """As hnswlib 0.8 wrote it, built with and without the machine's own instructions, on x86-64 and on aarch64."""
    vectors = np.random.default_rng(0).integers(-127, 128, (2000, 64)).astype(np.int8)
    written = arrays.write_hnsw(tmp_path / "hnsw", vectors, SETTINGS)
    assert written == "a8819b52d7c9afb4fc162d8e662a2789c43e8ffb12fd5ea05fa8a383174dfc3e"


def test_cosines_are_those_of_the_whole_numbers_and_ties_go_by_id() -> None:
    vectors = np.array([[3, 4], [4, 3], [0, 0], [6, 8]], dtype=np.int8)
    assert cosines(np.array([3, 4], dtype=np.int8), vectors).tolist() == [1.0, 0.96, 0.0, 1.0]
    exact = neighbours(vectors, lambda vector, k: np.array([3, 1, 0, 2]))
    assert [one.id for one in exact.nearest(np.array([3, 4], dtype=np.int8), 3)] == ["e0000", "e0003", "e0001"]


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=3), st.integers(0, 100))
def test_fusion_follows_its_formula(lists: list[list[str]], k: int) -> None:
    ranked = [[Candidate(name, 1.0) for name in names] for names in lists]
    names = {name for names in lists for name in names}
    exact = {name: sum(Fraction(1, k + one.index(name) + 1) for one in lists if name in one) for name in names}
    fused = fuse(ranked, k, 4)
    assert [one.id for one in fused] == sorted(names, key=lambda name: (-round(float(exact[name]), 6), name))[:4]
    assert all(abs(one.score - exact[one.id]) <= 1e-6 for one in fused)
