"""`frostline import`: read what others published, write it as a dataset's folder, whole or not at all."""

import os
import shutil
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from stages.atomic import remove_left, told
from stages.corpus.markdown import parse
from stages.corpus.text import decode_text
from stages.errors import BadInputError
from stages.files import LONGEST_LINE
from stages.imports.beir import Beir, DocumentRow, Judgement, QueryRow, beir_collection, beir_findings
from stages.imports.collection import Collection, findings
from stages.imports.dataset import dataset
from stages.imports.documents import Described, described, documents_dataset
from stages.imports.files import Made
from stages.imports.nomiracl import PassageRow, Query, nomiracl_collection, nomiracl_findings
from stages.imports.pictures import Picture, picture_dataset, picture_findings
from stages.imports.squad import Squad, squad_collection, squad_findings
from stages.imports.trec import RELEVANCE
from stages.originals import find_originals
from stages.scores import BOM, read_whole, refuse
from stages.stage.progress import progress
from stages.wellformed import DOCUMENT_SUFFIX

LARGEST = 2**31
"""Bytes of a file: a corpus of two million passages."""
T = TypeVar("T")
Make: TypeAlias = Callable[[str, int, float], Made]
"""From a dataset's name, a seed and the share of questions for development to its files."""


class Format(NamedTuple):
    """How a format is read, and what its source is."""

    read: Callable[[Path], Make]
    source: str


def import_dataset(arguments: Namespace) -> None:
    """Write the dataset. Raises BadInputError listing what is wrong with the source, or where it cannot go."""
    source, target = Path(arguments.source), Path(arguments.dest)
    refuse_taken(target)
    refuse_inside(target, source)
    make = READERS[arguments.format].read(source)
    try:
        made = make(target.resolve().name, arguments.seed, arguments.dev_share)
    except BadInputError as error:
        raise BadInputError("\n".join(f"{source}: {line}" for line in str(error).splitlines())) from error
    refuse(f"{source}: {found}" for found in _too_long(made.files))
    write_folder(target, made.files)
    print(f"{target}: {made.summary}")


def _too_long(made: Mapping[str, bytes]) -> Iterator[str]:
    """Rows that no stage would read."""
    for name in (name for name in made if name.endswith(".jsonl")):
        for number, row in enumerate(made[name].split(b"\n"), 1):
            if len(row) > LONGEST_LINE:
                yield f"row {number} of {name} would have {len(row)} bytes; at most {LONGEST_LINE} are read, shorten it"


def read_squad(source: Path) -> Make:
    """A file of SQuAD 2.0."""
    squad = _decoded(source, read_source(source), Squad)
    refuse(f"{source}: {found}" for found in squad_findings(squad))
    return partial(_of_passages, lambda _: squad_collection(squad))


def read_nomiracl(source: Path) -> Make:
    """A folder with queries.jsonl and passages.jsonl."""
    queries, passages = _rows(source / "queries.jsonl", Query), _rows(source / "passages.jsonl", PassageRow)
    refuse(f"{source}: {found}" for found in nomiracl_findings(queries, passages))
    return partial(_of_passages, lambda _: nomiracl_collection(queries, passages))


def read_beir(source: Path) -> Make:
    """A folder with corpus.jsonl, queries.jsonl and qrels/*.tsv."""
    qrels = sorted((source / "qrels").glob("*.tsv"))
    if not qrels:
        raise BadInputError(f"{source}/qrels: no .tsv file in it; it says which documents are relevant to which query")
    judgements = [one for path in qrels for one in _judgements(path)]
    beir = Beir(_rows(source / "corpus.jsonl", DocumentRow), _rows(source / "queries.jsonl", QueryRow), judgements)
    refuse(f"{source}: {found}" for found in beir_findings(beir))
    return partial(_of_passages, partial(beir_collection, beir))


def read_pictures(source: Path) -> Make:
    """A folder with captions.jsonl and the PNGs that it names in images/."""
    rows = _rows(source / "captions.jsonl", Picture)
    refuse(f"{source}/captions.jsonl: {found}" for found in picture_findings(rows))
    paths = {row.image: source / "images" / row.image for row in rows}
    refuse(
        f"{path}: a link out of {source}; put the file itself there" for path in paths.values() if _is_out(path, source)
    )
    images = {name: read_whole(path) for name, path in progress(paths.items(), len(paths), "pictures")}
    return partial(picture_dataset, rows, images)


def _is_out(path: Path, folder: Path) -> bool:
    return not path.resolve().is_relative_to(folder.resolve())


def read_documents(source: Path) -> Make:
    """A folder of Markdown files with YAML front matter, and folders below it."""
    paths, wrong = find_originals(source)
    refuse(f"{place}: {text}" for place, text in wrong)
    names = [path for path in paths if path.lower().endswith(DOCUMENT_SUFFIX)]
    if not names:
        raise BadInputError(f"{source}: no {DOCUMENT_SUFFIX} file")
    files = {name: read_whole(source / name) for name in names}
    read, findings = [], []
    for name, data in progress(files.items(), len(files), "documents"):
        try:
            read.append(_described(name, data))
        except BadInputError as error:
            findings.append(f"{source / name}: {error}")
    refuse(iter(findings))
    return partial(documents_dataset, read, files, len(paths) - len(names))


def _described(name: str, data: bytes) -> Described:
    text = decode_text(data)
    if "\0" in text:
        raise BadInputError(f"a NUL at character {text.index(chr(0))}, as in UTF-16; save the file as UTF-8")
    return described(name, parse(text))


READERS = {
    "squad2": Format(read_squad, "a file of SQuAD 2.0"),
    "beir": Format(read_beir, "a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv"),
    "nomiracl": Format(read_nomiracl, "a folder with queries.jsonl and passages.jsonl"),
    "images": Format(read_pictures, "a folder with captions.jsonl and the PNGs that it names in images/"),
    "documents": Format(read_documents, "a folder of Markdown files with YAML front matter"),
}


def read_source(path: Path) -> bytes:
    """The bytes of a file, without the byte order mark that some systems write: it is part of no name."""
    return read_whole(path, LARGEST).removeprefix(BOM)


def _of_passages(collect: Callable[[int], Collection], name: str, seed: int, dev_share: float) -> Made:
    collection = collect(seed)
    refuse(findings(collection))
    return dataset(name, collection, seed, dev_share)


def _decoded(where: object, data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{where}: {error}") from error


def _rows(path: Path, kind: type[T]) -> list[T]:
    """One object a line; keys that `kind` does not have are left alone."""
    rows, wrong = [], []
    lines = read_source(path).split(b"\n")
    for number, line in enumerate(progress(lines, len(lines), f"lines of {path.name}"), 1):
        try:
            rows += [_decoded(f"{path}:{number}", line, kind)] if line.strip() else []
        except BadInputError as error:
            wrong.append(str(error))
    refuse(iter(wrong))
    return rows


def _judgements(path: Path) -> list[Judgement]:
    """Rows of query, document and score, tabs between them, below a head."""
    try:
        lines = read_source(path).decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        lines = []
    if not any(lines):
        raise BadInputError(f"{path}: expected a head and rows of query, document and score, in UTF-8")
    head, *cells = [line.removesuffix("\r").split("\t") for line in lines]
    if len(head) == 3 and not [*_uneven(path, [head])]:
        raise BadInputError(f"{path}:1: a row in the place of the head; put `query-id, corpus-id, score` above it")
    refuse(_uneven(path, cells))
    return [Judgement(query, document, int(score)) for query, document, score in cells]


def _uneven(path: Path, rows: list[list[str]]) -> Iterator[str]:
    for number, row in enumerate(rows, 2):
        if len(row) != 3 or not RELEVANCE.fullmatch(row[2]):
            wanted = "query, document and a whole number of at most 9 digits, tabs between them"
            yield f"{path}:{number}: expected {wanted}, got {str(row)[:100]}"


def refuse_taken(folder: Path) -> None:
    """Raise BadInputError where something is already there; an empty folder may be."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise BadInputError(f"{folder}: already there; name a folder that is new or empty")


def refuse_inside(folder: Path, source: Path) -> None:
    """Raise BadInputError where a folder would lie in another, which would then hold it too."""
    if not _is_out(folder, source):
        raise BadInputError(f"{folder}: inside {source}; name a folder elsewhere")


def write_folder(folder: Path, made: dict[str, bytes]) -> None:
    """Write files beside `folder` and rename them there together. What a killed run left there is removed first."""
    part = folder.absolute().with_name(f".{folder.absolute().name}.{os.getpid()}.part")
    with told(folder):
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        remove_left(folder.absolute())
        try:
            for name, data in progress(made.items(), len(made), "files"):
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


def add_arguments(add: Callable[..., ArgumentParser]) -> None:
    """Declare the formats that become datasets, and their arguments; `add` adds a parser by name."""
    for name, (_, source) in READERS.items():
        one = add(name, help=source)
        one.add_argument("source", metavar="SOURCE", help=source)
        add_split(one, import_dataset)
        one.set_defaults(format=name)


def add_split(parser: ArgumentParser, command: Callable[[Namespace], None]) -> None:
    """Declare where a format goes, and how it is split."""
    parser.add_argument("dest", metavar="DEST", help="a new or empty folder")
    parser.add_argument("--seed", type=int, default=0, help="what is for development; default: 0")
    parser.add_argument(
        "--dev-share", type=_share, default=0.5, help="share of the questions that are for development; default: 0.5"
    )
    parser.set_defaults(command=command)
