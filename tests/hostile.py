"""Every reader of the project with a file that it reads, and what can be done to the bytes of one."""

import io
import json
import os
import pickle
import resource
import sys
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stages import arrays, artifacts, files, results, settings
from stages.assemble import naming, read_checkpoint, read_neighbours
from stages.calibration.cells import Columns
from stages.calibration.ledger import Seen
from stages.compare import read_evaluation
from stages.corpus.index import index_originals, refusals
from stages.corpus.terms import split_vocabulary
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint, embed_texts, to_arrays
from stages.errors import FrostlineError
from stages.evaluated import read_queries
from stages.hashing import sha256
from stages.measures.flips import Run, compare_runs, compared_text
from stages.measures.ledger import asked
from stages.measures.table import result_table
from stages.originals import read_index
from stages.params import DatasetCard, IndexParams, NeighboursParams, load_section
from stages.project import read_project
from stages.records import TOP_KINDS, File, Part, Vectors
from stages.report.ablated import figures, flipped
from stages.report.damaged import damage_grid, damage_rows, mistakes
from stages.report.inputs import parse_sweep
from stages.retrieval import lexical
from stages.retrieval.neighbours import quantise
from stages.scores import read_scores, read_threshold
from stages.squad import read_squad
from stages.write_report import read_ablated, read_damaged, read_rejected
from tests.project import ROOT, SMALL

SYSTEMS = ("lexical", "neural", "hybrid")
COLUMNS = Columns("id", "score", "answerable")
TABLE = [("a", 0.91, True), ("b", 0.85, True), ("c", 0.74, False), ("d", 0.62, True), ("e", 0.4, False)]
CHUNKING = IndexParams(max_pixels=2**20, chunk_tokens=120, chunk_overlap=30)
DIMENSION = 4
CHECKPOINT, VECTORS = "vectors/checkpoint.npz", "vectors/vectors.npz"
HNSW, EMBEDDING = "vectors/hnsw.bin", "vectors/vectors.json"
INDEX, METRICS = "artifacts/index/index.json", "artifacts/metrics.json"
REJECTED = "artifacts/index/rejected.json"
DAMAGE, ALTERED = "artifacts/perturbation/results.json", "artifacts/perturbation/originals"
CATALOGUE = f"{SMALL}/corpus/docs/catalogue.md"

Read = Callable[[Path], object]
ReadOf = Callable[..., object]
"""From a folder, what belongs to a system."""


def write_inputs(root: Path) -> None:
    """Add a table of scores in every format, and a small checkpoint in the place of the trained one."""
    rows = [COLUMNS, *((name, str(score), str(int(known))) for name, score, known in TABLE)]
    for suffix, mark in ((".tsv", "\t"), (".csv", ",")):
        text_of = "".join(mark.join(row) + "\n" for row in rows)
        files.write_bytes(root / f"scores/dev{suffix}", text_of.encode())
    files.write_jsonl(root / "scores/dev.jsonl", [dict(zip(COLUMNS, row, strict=True)) for row in TABLE])
    columns = dict(zip(COLUMNS, map(list, zip(*TABLE, strict=True)), strict=True))
    pq.write_table(pa.table(columns), root / "scores/dev.parquet")
    files.write_json(root / "scores/na_prob.json", {name: score for name, score, _ in TABLE})
    questions = [{"id": name, "is_impossible": not known} for name, _, known in TABLE]
    files.write_json(root / "scores/squad.json", {"data": [{"paragraphs": [{"qas": questions}]}]})
    files.write_bytes(root / "scores/threshold.json", files.read_bytes(root / "artifacts/threshold/hybrid.json"))
    rows_of = {"image_mean": features.LENGTH, "image_scale": features.LENGTH, "text_scale": text.BUCKETS}
    made = {name: np.ones(size) for name, size in rows_of.items()}
    made |= {"image": np.ones((features.LENGTH, DIMENSION)), "text": np.ones((text.BUCKETS, DIMENSION))}
    sealed = arrays.write_arrays(root / CHECKPOINT, to_arrays(Checkpoint(**made)))
    drawn = np.random.default_rng(0).standard_normal((len(read_index(root / INDEX).entries), DIMENSION))
    vectors = quantise(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    embedding = Vectors(
        model="small",
        checkpoint=sealed,
        dimension=DIMENSION,
        index=files.hash_file(root / INDEX),
        vectors=arrays.write_arrays(root / VECTORS, {"vectors": vectors}),
        hnsw=arrays.write_hnsw(root / HNSW, vectors, NeighboursParams(16, 100, 100, 0, False)),
    )
    files.write_json(root / EMBEDDING, embedding)


class Reader(NamedTuple):
    """A file of a finished project, and how it is read: `read` gets the project's folder and uses what it read."""

    path: str
    read: Read
    waits: bool = False
    """It may be given a pipe, and waits for what is written there."""


def _of(read: Callable[[Path], object], path: str, *, waits: bool = False) -> Reader:
    """A reader of a single path."""
    return Reader(path, lambda root: read(root / path), waits)


def _card(path: Path) -> object:
    return load_section(DatasetCard, str(path), settings.read_yaml(path))


def _vocabulary(path: Path) -> object:
    return split_vocabulary(settings.read_vocabulary(path))


def _lexical(root: Path) -> object:
    """As where an index.json names these very bytes."""
    path = root / "artifacts/index/lexical.npz"
    found = arrays.read_arrays(path, files.hash_file(path))
    with naming(str(path)):
        index = lexical.from_arrays(found, len(read_index(root / INDEX).entries))
    return lexical.bm25(index, index.names[:3], 1.2, 0.75)


def _checkpoint(path: Path) -> object:
    return embed_texts(read_checkpoint(str(path)), text.extract(["small red circle"]))


def _neighbours(root: Path) -> object:
    """Through vectors.json, which names the other files by hash."""
    project = read_project(root)
    names = {"index": INDEX, "checkpoint": CHECKPOINT, "vectors": VECTORS, "hnsw": HNSW, "embedding": EMBEDDING}
    paths = Namespace(**{name: str(root / path) for name, path in names.items()})
    found = read_neighbours(project.params, paths, read_index(root / INDEX))
    return found.nearest(found.vectors[0], 5)


def _hnsw(root: Path) -> object:
    """As where a vectors.json names these very bytes."""
    vectors = arrays.read_arrays(root / VECTORS, files.hash_file(root / VECTORS))["vectors"]
    propose = arrays.read_hnsw(root / HNSW, files.hash_file(root / HNSW), vectors, 50)
    return [propose(vector, 20) for vector in vectors[::50]]


def _figures(path: Path) -> object:
    figures = results.read_figures(path)
    return result_table(figures), asked(figures)


def _original(path: Path) -> object:
    data = files.read_bytes(path)
    sections = settings.read_vocabulary()
    read = [(File(path.name, sha256(data), len(data)), data)]
    indexed = index_originals(read, sections, CHUNKING)
    files.refuse(refusals(read, indexed.rejected, CHUNKING))
    return indexed


def _damaged(root: Path) -> object:
    found = read_damaged(root / DAMAGE, root / ALTERED)
    return damage_rows(found), damage_grid(found), mistakes(found)


def _ablated(path: Path) -> object:
    return [(figures(one), flipped(one)) for one in read_ablated(path).compared]


def _scores(path: Path) -> object:
    return read_scores(path, COLUMNS, lower_is_better=False)


def _squad(root: Path) -> object:
    return read_squad(root / "scores/na_prob.json", root / "scores/squad.json")


def readers() -> Iterator[Reader]:
    """All of them, for a finished project with `write_inputs`. No program reads curve.csv; and of a system with a
    threshold by kind, the sweeps of each kind and the frontier of both: they are for people and DVC's plots."""
    for path in ("params.yaml", "dvc.yaml"):
        yield Reader(path, read_project)
    yield _of(_card, f"{SMALL}/dataset.yaml")
    yield _of(_vocabulary, "stages/corpus/vocabulary.yaml")
    yield _of(files.read_captions, f"{SMALL}/training/captions.jsonl")
    for split in ("dev", "holdout"):
        yield _of(files.read_questions, f"{SMALL}/queries/{split}.jsonl")
        yield _of(files.read_labels, f"{SMALL}/evaluation-only/{split}.jsonl")
    for path in (f"{SMALL}/evaluation-only/holdout-ledger.jsonl", "artifacts/seen.jsonl"):
        yield _of(lambda one: files.read_jsonl(one, Seen), path)
    yield _of(read_index, INDEX)
    yield Reader(REJECTED, lambda root: read_rejected(root / REJECTED, read_index(root / INDEX)))
    yield Reader("artifacts/index/lexical.npz", _lexical)
    yield _of(_checkpoint, CHECKPOINT)
    yield Reader(HNSW, _hnsw)
    for path in (VECTORS, EMBEDDING):
        yield Reader(path, _neighbours)
    for system in SYSTEMS:
        yield from _of_system(system)
    for path in ("artifacts/dev_metrics.json", METRICS):
        yield _of(_figures, path)
    for path in (DAMAGE, f"{ALTERED}/originals.json"):
        yield Reader(path, _damaged)
    yield _of(_ablated, "artifacts/ablation/results.json")
    for stage in settings.read_yaml(ROOT / "dvc.yaml")["stages"]:
        yield _of(lambda one: files.read_json(one, Part), f"artifacts/chain/{stage}.json")
    for suffix in ("tsv", "csv", "jsonl", "parquet"):
        yield _of(_scores, f"scores/dev.{suffix}")
    yield Reader("scores/na_prob.json", _squad)
    yield Reader("scores/squad.json", _squad, waits=True)
    yield _of(read_threshold, "scores/threshold.json", waits=True)
    for path in (CATALOGUE, f"{SMALL}/corpus/images/0001.png"):
        yield _of(_original, path)


def _of_system(system: str) -> Iterator[Reader]:
    folders: dict[str, ReadOf] = {
        f"dev/{system}.json": artifacts.read_scored,
        f"sweep/{system}.json": artifacts.read_swept,
        f"judged/{system}.jsonl": results.read_judged,
        f"threshold/{system}.json": artifacts.read_frozen,
    }
    for path, read in folders.items():
        yield Reader(f"artifacts/{path}", partial(_in, read, path.split("/")[0], system))
    sweep = f"artifacts/sweep/{system}.csv"
    yield Reader(sweep, lambda root: parse_sweep(files.read_text(root / sweep), sweep))
    kinds = [f"{system}.{kind}" for kind in TOP_KINDS] if system == "neural" else [system]
    frontiers = (f"sweep/{name}.frontier.csv" for name in kinds)
    for path in (*frontiers, f"threshold/{system}.json", f"holdout/{system}/queries.json"):
        yield Reader(f"artifacts/{path}", partial(_run, system))
    held: dict[str, ReadOf] = {"answers.json": artifacts.read_answered, "queries.json": read_queries}
    for name, load in held.items():
        yield Reader(f"artifacts/holdout/{system}/{name}", partial(_in, load, "holdout", system))


def _run(system: str, root: Path) -> object:
    """As `frostline compare` reads a run, and tells it."""
    places = {name: root / "artifacts" / name for name in ("holdout", "threshold", "sweep")}
    run = Run("here", "0" * 40, "0" * 64, {system: read_evaluation(places, system)})
    return compared_text(compare_runs(run, run, None, independent_draws=False))


def _in(read: ReadOf, folder: str, system: str, root: Path) -> object:
    return read(root / "artifacts" / folder, system)


SPARSE = 2**30
ADDRESSES = 6 * 2**30
SECONDS = 10
DEEP = 100_000
LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopqrs"))


class Payload:
    """Unpickled, it runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (self.command,)


def bombs(marker: Path) -> dict[str, bytes]:
    """Bytes that would make a careless reader run a command, which leaves `marker`, or take all time or memory."""
    command = f"touch {marker}"
    objects, zeros, lie = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(objects, names=np.array([Payload(command)], dtype=object), allow_pickle=True)
    np.savez_compressed(zeros, names=np.zeros(2**25, dtype=np.int64))
    with zipfile.ZipFile(lie, "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }"
        archive.writestr("image.npy", b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(117) + b"\n")
    return {
        "pickle": pickle.dumps(Payload(command)),
        "objects in .npz": objects.getvalue(),
        "zip bomb": zeros.getvalue(),
        "size without bytes": lie.getvalue(),
        "tag": f"a: !!python/object/apply:os.system ['{command}']\n".encode(),
        "tag in new": f"!!python/object/new:os.system ['{command}']\n".encode(),
        "billion laughs": LAUGHS.encode(),
        "alias of itself": b"a: &a [*a]\n",
        **{f"{depth} lists": b"[" * depth + b"]" * depth for depth in (100, DEEP)},
        **{f"{depth} objects": b'{"id":' * depth + b"1" + b"}" * depth for depth in (100, DEEP)},
        **{f"{depth} in a key": b'{"id": "a", "text": ' + b"[" * depth + b"]" * depth + b"}" for depth in (100, DEEP)},
        "100 mappings": b"".join(b" " * level + b"a:\n" for level in range(100)),
        f"{DEEP} sequences": b"a:\n" + b"- " * DEEP + b"x\n",
        "digits": b"9" * 2**20,
        "key of digits": b'{"id": ' + b"9" * 10_000 + b"}",
        "a long line": b'{"id": "' + b"x" * 2**21 + b'", "text": "?"}',
        "sexagesimal": b"dataset: 1" + b":1" * 5000 + b"\n",
        "quotes": b'id,score,answerable\n"' + b"\n" * 2**20,
    }


def _put(path: Path, name: str, bomb: bytes | None) -> None:
    """Put a bomb, or what is no plain file, in the place of a file."""
    path.unlink()
    if bomb is not None:
        path.write_bytes(bomb)
    elif name == "pipe":
        os.mkfifo(path)
    elif name == "folder":
        path.mkdir()
    elif name == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as stream:
            stream.truncate(SPARSE)


def attempt(root: Path, reader: Reader, name: str, bomb: bytes | None) -> str:
    """What becomes of a reader whose file is replaced, and for how long; the file is put back."""
    path = root / reader.path
    before, begun = path.read_bytes(), perf_counter()
    _put(path, name, bomb)
    try:
        reader.read(root)
        told = "taken"
    except FrostlineError as error:
        told = "refused" if path.stem in str(error) else f"refused without its name: {error}"
    except Exception as error:  # whatever it is, it is the finding
        told = f"{type(error).__name__}: {error}"
    took = perf_counter() - begun
    path.rmdir() if name == "folder" else path.unlink()
    path.write_bytes(before)
    return told if took < SECONDS else f"{told} after {took:.1f} s"


def main(root: Path) -> None:
    """Try every bomb on every reader within an address space; print what became of each, and the memory at its most."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    marker = root / "executed"
    tried: dict[str, bytes | None] = {**bombs(marker), **dict.fromkeys(("sparse", "pipe", "folder", "device"))}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {
        f"{reader.path}: {name}": attempt(root, reader, name, bomb)
        for reader in readers()
        for name, bomb in tried.items()
        if not (name == "pipe" and reader.waits)
    }
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(json.dumps({"found": found, "megabytes": peak, "executed": marker.exists()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
