"""BM25 engines side by side: `python -m tests.bench.bm25_engines [--passages N]`; engines not installed are skipped.

A seeded corpus (Zipf's law over 200,000 terms, 60 terms a passage) and 200 questions of 6 distinct terms, each taken
from one passage. Every engine gets terms already cut and returns the 30 best of one question at a time, on one thread.
Ties are tried apart, on passages of equal content. In brackets: multiples of ours.
"""

import argparse
import importlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.retrieval.lexical import Counted, bm25, build_lexical, rank

VOCABULARY, LENGTH, QUESTIONS, ASKED, DEPTH = 200_000, 60, 200, 6, 30
K1, B = 1.2, 0.75
TIED, TIES_ASKED = 1_000, 10
IMPORTS = 5

WORDS = [f"t{number:06d}" for number in range(VOCABULARY)]

Passages = list[list[int]]
Question = list[int]
Search = Callable[[Question], list[int]]


class Engine(NamedTuple):
    """`needs` are the modules to import; `build` takes the passages and returns what searches them."""

    name: str
    needs: tuple[str, ...]
    build: Callable[[Passages], Search]


class Cost(NamedTuple):
    """Seconds: to import in a fresh interpreter, to index, the first question, and the median of the later ones."""

    imported: float
    indexed: float
    first: float
    asked: float


def draw(passages: int, seed: int = 0) -> tuple[Passages, list[Question]]:
    """Passages and questions as numbers of terms."""
    dice = np.random.default_rng(seed)
    mass = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    drawn = np.searchsorted(mass, dice.random((passages, LENGTH)) * mass[-1])
    sources = drawn[dice.integers(passages, size=QUESTIONS)]
    return drawn.tolist(), [dice.permutation(np.unique(source))[:ASKED].tolist() for source in sources]


def words(numbers: Sequence[int]) -> list[str]:
    return [WORDS[number] for number in numbers]


def counted(passages: Passages) -> list[Counted]:
    return [Counted(Counter(words(passage)), len(passage)) for passage in passages]


def ids(size: int) -> list[str]:
    """Names of rows whose order is not that of the rows."""
    return [f"{place:07d}" for place in np.random.default_rng(1).permutation(size)]


def index_ours(passages: Passages) -> Search:
    index = build_lexical(counted(passages))
    names = ids(len(passages))
    row = {name: place for place, name in enumerate(names)}
    return lambda asked: [row[one.id] for one in rank(names, bm25(index, words(asked), K1, B), DEPTH)]


def bm25s_index(passages: Passages, backend: str) -> Any:
    engine = importlib.import_module("bm25s").BM25(k1=K1, b=B, method="lucene", backend=backend)
    engine.index((passages, {word: number for number, word in enumerate(WORDS)}), show_progress=False)
    return engine


def index_bm25s(passages: Passages, backend: str) -> Search:
    engine = bm25s_index(passages, backend)

    def search(asked: Question) -> list[int]:
        found: list[int] = engine.retrieve([asked], k=DEPTH, show_progress=False, n_threads=0).documents[0].tolist()
        return found

    return search


def index_tantivy(passages: Passages) -> Search:
    """One thread and one segment, kept in memory."""
    tantivy = importlib.import_module("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", index_option="freq")
    index = tantivy.Index(builder.build())
    writer = index.writer(heap_size=1 << 30, num_threads=1)
    for passage in passages:
        writer.add_document(tantivy.Document(body=" ".join(words(passage))))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    if searcher.num_segments != 1:
        raise SystemExit(f"tantivy made {searcher.num_segments} segments: a document's number is not its row")

    def search(asked: Question) -> list[int]:
        hits = searcher.search(index.parse_query(" ".join(words(asked)), ["body"]), DEPTH).hits
        return [address.doc for _, address in hits]

    return search


def index_scipy(passages: Passages) -> Search:
    """Weights of all (passage, term) pairs in one matrix; a question adds up columns."""
    sparse = importlib.import_module("scipy.sparse")
    lengths = np.array([len(passage) for passage in passages])
    rows, terms = np.repeat(np.arange(len(passages)), lengths), np.array([one for row in passages for one in row])
    matrix = sparse.csc_array((np.ones(len(terms)), (rows, terms)), shape=(len(passages), VOCABULARY))
    matrix.sum_duplicates()
    found = np.diff(matrix.indptr)
    idf = np.log1p((len(passages) - found + 0.5) / (found + 0.5))
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    matrix.data *= np.repeat(idf, found) * (K1 + 1) / (matrix.data + norm[matrix.indices])

    def search(asked: Question) -> list[int]:
        scores = matrix[:, asked].sum(axis=1)
        best = np.argpartition(scores, -DEPTH)[-DEPTH:]
        ranked: list[int] = best[np.argsort(-scores[best])].tolist()
        return ranked

    return search


ENGINES = (
    Engine("ours (numpy)", ("numpy",), index_ours),
    Engine("bm25s", ("bm25s",), lambda passages: index_bm25s(passages, "numpy")),
    Engine("bm25s, numba", ("bm25s", "numba"), lambda passages: index_bm25s(passages, "numba")),
    Engine("tantivy", ("tantivy",), index_tantivy),
    Engine("scipy.sparse", ("scipy.sparse",), index_scipy),
)


def installed(names: Sequence[str]) -> bool:
    """True when all of the modules can be imported; which of them cannot is printed."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed: skipped")
            return False
    return True


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def import_time(names: Sequence[str]) -> float:
    """Median over fresh interpreters, without what starting Python takes."""
    start = "import time; start = time.perf_counter(); "
    code = f"{start}import {', '.join(names)}; print(time.perf_counter() - start)"
    return median(float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(IMPORTS))


def measure(engine: Engine, passages: Passages, asked: Sequence[Question]) -> Cost:
    """Index once, ask everything once."""
    start = time.perf_counter()
    search = engine.build(passages)
    indexed = time.perf_counter() - start
    first, *later = (seconds(partial(search, question)) for question in asked)
    return Cost(import_time(engine.needs), indexed, first, median(later))


def order(engine: Engine, dice: np.random.Generator) -> str:
    """How the engine orders passages of equal content: by id, by row, or in no order that can be named."""
    tied = set(dice.permutation(TIED)[: TIED // 2].tolist())
    found = engine.build([[1, 2, 3] if row in tied else [4, 5, 6] for row in range(TIED)])([1, 2])
    names = ids(TIED)
    if found == sorted(tied, key=lambda row: names[row])[:DEPTH]:
        return "by id"
    return "by row" if found == sorted(tied)[:DEPTH] else "arbitrary"


def orders(engine: Engine) -> str:
    """The one order of all trials, or "arbitrary"."""
    seen = {order(engine, np.random.default_rng(seed)) for seed in range(TIES_ASKED)}
    return seen.pop() if len(seen) == 1 else "arbitrary"


def differences(passages: Passages, asked: Sequence[Question]) -> Iterator[tuple[float, float]]:
    """Largest difference from bm25s' scores, and highest score, of every question; Lucene's have no factor k1 + 1."""
    ours, theirs = build_lexical(counted(passages)), bm25s_index(passages, "numpy")
    for question in asked:
        scores: NDArray[np.float64] = bm25(ours, words(question), K1, B) / (K1 + 1)
        yield float(np.abs(scores - theirs.get_scores(question)).max()), float(scores.max())


def main() -> None:
    parser = argparse.ArgumentParser(description="BM25 engines side by side.")
    parser.add_argument("--passages", type=int, default=100_000)
    passages, asked = draw(parser.parse_args().passages)
    print(f"{len(passages):,} passages of {LENGTH} terms, {len(asked)} questions of {ASKED}\n")
    present = [engine for engine in ENGINES if installed(engine.needs)]
    print(f"{'engine':12}{'import':>16}{'index':>16}{'first question':>16}{'later ones':>18}   ties")
    ours: Cost | None = None
    for engine in present:
        cost = measure(engine, passages, asked)
        ours = ours or cost
        share = Cost(*(part / whole for part, whole in zip(cost, ours, strict=True)))
        print(
            f"{engine.name:12}{cost.imported:6.2f} s {f'({share.imported:.2f})':>8}{cost.indexed:6.1f} s"
            f" {f'({share.indexed:.2f})':>8}{cost.first * 1000:13.1f} ms{cost.asked * 1000:7.2f} ms"
            f" {f'({share.asked:.2f})':>8}   {orders(engine)}",
            flush=True,
        )
    if any(engine.name == "bm25s" for engine in present):
        apart, highest = (max(side) for side in zip(*differences(passages, asked), strict=True))
        print(f"\nours / (k1 + 1) and bm25s, method lucene: at most {apart:.1e} apart, highest score {highest:.1f}")


if __name__ == "__main__":
    main()
