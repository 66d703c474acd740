"""`frostline import`: read what others published, write it as a dataset's folder, whole or not at all."""

import os
import shutil
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from stages.atomic import told
from stages.errors import BadInputError
from stages.imports.beir import Beir, DocumentRow, Judgement, QueryRow, beir_collection, beir_findings
from stages.imports.collection import Collection, findings
from stages.imports.dataset import dataset
from stages.imports.nomiracl import PassageRow, Query, nomiracl_collection, nomiracl_findings
from stages.imports.squad import Squad, squad_collection, squad_findings
from stages.scores import read_whole, refuse

LARGEST = 2**31
"""Bytes of a file: a corpus of two million passages."""
T = TypeVar("T")


def import_dataset(arguments: Namespace) -> None:
    """Write the dataset. Raises BadInputError listing what is wrong with the source, or where it cannot go."""
    source, target = Path(arguments.source), Path(arguments.dest)
    refuse_taken(target)
    collection = READERS[arguments.format](source, arguments.seed)
    refuse(f"{source}: {found}" for found in findings(collection))
    try:
        made = dataset(target.resolve().name, collection, arguments.seed, arguments.dev_share)
    except BadInputError as error:
        raise BadInputError("\n".join(f"{source}: {line}" for line in str(error).splitlines())) from error
    write_folder(target, made.files)
    print(f"{target}: {made.summary}")


def read_squad(source: Path, seed: int) -> Collection:
    """A file of SQuAD 2.0."""
    squad = _decoded(source, read_whole(source, LARGEST), Squad)
    refuse(f"{source}: {found}" for found in squad_findings(squad))
    return squad_collection(squad)


def read_nomiracl(source: Path, seed: int) -> Collection:
    """A folder with queries.jsonl and passages.jsonl."""
    queries, passages = _rows(source / "queries.jsonl", Query), _rows(source / "passages.jsonl", PassageRow)
    refuse(f"{source}: {found}" for found in nomiracl_findings(queries, passages))
    return nomiracl_collection(queries, passages)


def read_beir(source: Path, seed: int) -> Collection:
    """A folder with corpus.jsonl, queries.jsonl and qrels/*.tsv."""
    qrels = sorted((source / "qrels").glob("*.tsv"))
    if not qrels:
        raise BadInputError(f"{source}/qrels: no .tsv file; it says which documents are relevant to which query")
    judgements = [one for path in qrels for one in _judgements(path)]
    beir = Beir(_rows(source / "corpus.jsonl", DocumentRow), _rows(source / "queries.jsonl", QueryRow), judgements)
    refuse(f"{source}: {found}" for found in beir_findings(beir))
    return beir_collection(beir, seed)


READERS: dict[str, Callable[[Path, int], Collection]] = {
    "squad2": read_squad,
    "beir": read_beir,
    "nomiracl": read_nomiracl,
}


def _decoded(where: object, data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{where}: {error}") from error


def _rows(path: Path, kind: type[T]) -> list[T]:
    """One object a line; keys that `kind` does not have are left alone."""
    rows, wrong = [], []
    for number, line in enumerate(read_whole(path, LARGEST).split(b"\n"), 1):
        try:
            rows += [_decoded(f"{path}:{number}", line, kind)] if line.strip() else []
        except BadInputError as error:
            wrong.append(str(error))
    refuse(iter(wrong))
    return rows


def _judgements(path: Path) -> list[Judgement]:
    """Rows of query, document and score, tabs between them, below a head."""
    try:
        _, *lines = read_whole(path, LARGEST).decode("utf-8").splitlines()
    except ValueError as error:
        raise BadInputError(f"{path}: expected a head and rows of query, document and score, in UTF-8") from error
    cells = [line.split("\t") for line in lines]
    refuse(_uneven(path, cells))
    return [Judgement(query, document, int(score)) for query, document, score in cells]


def _uneven(path: Path, rows: list[list[str]]) -> Iterator[str]:
    for number, row in enumerate(rows, 2):
        if len(row) != 3 or not row[2].removeprefix("-").isdecimal():
            yield f"{path}:{number}: expected query, document and a whole number, tabs between them, got {row}"


def refuse_taken(folder: Path) -> None:
    """Raise BadInputError where something is already there; an empty folder may be."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise BadInputError(f"{folder}: already there; name a folder that is new or empty")


def write_folder(folder: Path, made: dict[str, bytes]) -> None:
    """Write files beside `folder` and rename them there together."""
    part = folder.absolute().with_name(f".{folder.absolute().name}.{os.getpid()}.part")
    with told(folder):
        try:
            for name, data in made.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(data)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise ArgumentTypeError(f"expected a number between 0 and 1, got {text!r}")
    return share


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("format", choices=READERS, metavar="FORMAT", help=", ".join(READERS))
    parser.add_argument("source", metavar="SOURCE", help="a file of squad2; the folder of another format")
    parser.add_argument("dest", metavar="DEST", help="the dataset's folder; new or empty")
    parser.add_argument("--seed", type=int, default=0, help="which documents are for development; default: 0")
    parser.add_argument("--dev-share", type=_share, default=0.5, help="share of questions; default: 0.5")
    parser.set_defaults(command=import_dataset)
