"""The files of a project, in and out. Everything read is of a declared kind; everything written is whole or not there.

A reader takes plain files alone, of a size that a project can have, and names the file that it refuses. Nothing that is
read is ever executed: JSON goes by msgspec into declared types. It is written with sorted keys, shortest round-trip
floats, UTF-8 and "\\n" line ends, so that equal content is equal bytes.

`stages.settings`, `stages.originals`, `stages.arrays`, `stages.artifacts` and `stages.results` read through here. Files
are opened elsewhere too: `stages.scores` reads those of other systems, `stages.stage.watch` hashes what a stage opened,
hnswlib loads the index that `stages.arrays` checked, and git reads the ledger's history (`stages.git`).
"""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from stages.atomic import locked, replaced
from stages.corpus.text import decode_text
from stages.errors import BadInputError
from stages.hashing import canonical_json, sha256
from stages.records import Caption, File, Label, Question
from stages.wellformed import label_findings, path_finding, repeated

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Row = TypeVar("Row", bound="DataclassInstance")

STRAY = re.compile(r"\..*|__pycache__|[Tt]humbs\.db|[Dd]esktop\.ini|.*~|#.*#", re.DOTALL)
"""Names that file managers, editors and Python leave behind. .dvcignore has the same."""
LARGEST_FILE = 2**29
"""Bytes. The largest file of a project is hnsw.bin; for 100,000 entries of 1,024 dimensions it has 0.5 GB at most."""
SHOWN = 20
REMEDY = "run `dvc repro -f --no-run-cache`"
LONGEST_LINE = 2**20
"""Bytes of a row of JSON lines; a question, a label, a ledger's line have some hundred."""


def of_system(folder: str | Path, system: str, suffix: str = ".json") -> Path:
    """The file of one system in a folder that holds one for each."""
    return Path(folder) / f"{system}{suffix}"


def in_system(folder: str | Path, system: str, name: str) -> Path:
    """A file of one system in a folder that holds a folder for each."""
    return Path(folder) / system / name


def hash_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    return sha256(read_bytes(path))


def read_bytes(path: str | Path, most: int = LARGEST_FILE) -> bytes:
    """Read a whole plain file of at most `most` bytes; BadInputError names it when that cannot be done."""
    try:
        with open(path, "rb", opener=_without_waiting) as stream:
            found = os.fstat(stream.fileno())
            if not S_ISREG(found.st_mode):
                raise BadInputError(f"{path}: no plain file; put the file itself there")
            if found.st_size > most:
                raise BadInputError(f"{path}: {found.st_size} bytes; at most {most} are read")
            return stream.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        remedy = "let it be read" if isinstance(error, PermissionError) else "run `dvc repro`"
        raise BadInputError(f"{path}: cannot be read ({reason}); {remedy}") from error


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to is opened too, to be refused."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_text(path: str | Path, most: int = LARGEST_FILE) -> str:
    """Read a whole UTF-8 file of at most `most` bytes, every character and line end as it is."""
    data = read_bytes(path, most)
    try:
        return decode_text(data)
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from error


def read_json(path: str | Path, kind: type[T]) -> T:
    """Read one JSON value of the declared type; BadInputError names the file and the place that does not fit."""
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: {error}; {REMEDY}") from error


def read_sealed(path: str | Path, kind: type[T]) -> T:
    """Read a JSON value that holds exactly what `kind` declares: nothing that a seal over `kind` would not cover."""
    value = read_json(path, kind)
    if msgspec.json.decode(read_bytes(path)) != msgspec.to_builtins(value):
        raise BadInputError(
            f"{path}: holds keys that no {kind.__name__.lower()} has; run `dvc repro -f --no-run-cache`"
        )
    return value


def read_jsonl(path: str | Path, kind: type[Row], *, missing_ok: bool = False) -> list[Row]:
    """Read one object a line, exactly the keys of `kind`; every bad line is listed with its number.

    missing_ok: a file that is not there holds no rows.
    """
    if missing_ok and not Path(path).exists():
        return []
    rows, findings = parse_jsonl(read_bytes(path), kind)
    refuse(f"{path}:{number}: {text}" for number, text in findings)
    return list(rows.values())


def parse_jsonl(data: bytes, kind: type[Row]) -> tuple[dict[int, Row], list[tuple[int, str]]]:
    """The rows of JSON lines by the number of their line, and of each line that is none of `kind` what is wrong."""
    rows: dict[int, Row] = {}
    findings: list[tuple[int, str]] = []
    known = [item.name for item in fields(kind)]
    if data.startswith(b"\xef\xbb\xbf"):
        return {}, [(1, "begins with a byte order mark; save it as UTF-8 without one")]
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            findings.append((number, f"{len(line)} bytes; a row has {LONGEST_LINE} at most"))
            continue
        try:
            row, wrong = msgspec.json.decode(line, type=kind), list(_key_findings(line, known))
            if not wrong:
                rows[number] = row
            findings += [(number, text) for text in wrong]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            findings.append((number, str(error)))
    return rows, findings


def _key_findings(row: bytes, known: Collection[str]) -> Iterator[str]:
    """Keys of a JSON object that it may not have, and keys at any depth that stand there twice."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(repeated(name for name, _ in pairs))
        return dict(pairs)

    unknown = sorted(json.loads(row, object_pairs_hook=note, parse_int=str, parse_float=str).keys() - known)
    if unknown:
        yield f"unknown keys {', '.join(unknown)}"
    if twice:
        yield f"keys that stand there twice: {', '.join(twice)}"


def refuse(findings: Iterable[str]) -> None:
    """Raise BadInputError with every finding, one a line; nothing where there are none."""
    if found := list(findings):
        raise BadInputError("\n".join(found))


def refuse_made(path: str | Path, findings: Iterable[str]) -> None:
    """Raise BadInputError with the first findings, how many more, and what to do; nothing where there are none."""
    found = [f"{path}: {text}" for text in findings]
    if found:
        more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        raise BadInputError("\n".join([*found[:SHOWN], *more, REMEDY]))


@dataclass(frozen=True)
class QuestionRow:
    """A line of `queries/`."""

    id: str
    text: str


def read_questions(path: str | Path) -> list[Question]:
    """Read {"id","text"} rows in file order; duplicate ids are an error."""
    rows = [Question(row.id, row.text) for row in read_jsonl(path, QuestionRow)]
    _refuse_duplicates(path, [row.id for row in rows])
    return rows


def read_labels(path: str | Path) -> list[Label]:
    """Read label rows in file order; duplicate ids and rows that contradict themselves are errors, all listed."""
    rows = read_jsonl(path, Label)
    _refuse_duplicates(path, [row.id for row in rows])
    refuse(f"{path}: {row.id}: {text}" for row in rows for text in label_findings(row))
    return rows


def _refuse_duplicates(path: str | Path, ids: Iterable[str]) -> None:
    if twice := repeated(ids):
        raise BadInputError(f"{path}: duplicate ids {', '.join(twice)}")


def hashed(folder: str | Path, path: str) -> tuple[File, bytes]:
    """Read a file of a folder with its identity, `path` as it is given."""
    data = read_bytes(Path(folder) / path)
    return File(path, sha256(data), len(data)), data


def is_stray(path: Path) -> bool:
    """True for a relative path that nobody put there as data or source, or that lies in a folder of that kind."""
    return any(STRAY.fullmatch(part) for part in path.parts)


def hash_sources(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of source files named from the project's folder; of a folder every *.py and *.yaml below it.

    What is stray is left out, such as the lock that an editor puts beside the file it has open.
    """
    root = Path(__file__).parent.parent
    found: dict[str, str] = {}
    for path in (root / name for name in names):
        inside = [item for suffix in ("*.py", "*.yaml") for item in path.rglob(suffix)] if path.is_dir() else [path]
        sources = [item for item in inside if not is_stray(item.relative_to(root))]
        found.update((item.relative_to(root).as_posix(), sha256(read_bytes(item))) for item in sources)
    return dict(sorted(found.items()))


def read_captions(path: str | Path) -> list[Caption]:
    """Read {"image","caption"} rows in file order; whether the images are there is not looked at."""
    rows = read_jsonl(path, Caption)
    refuse(f"{path}: image: {found}" for row in rows if (found := path_finding(row.image)))
    return rows


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a whole file or leave what is there; BadInputError says why it cannot be written."""
    with replaced(path) as temporary:
        temporary.write_bytes(data)


def write_rows(path: str | Path, value: object) -> None:
    """Write a record or mapping with one top-level key a line and one list item a line: small files, readable diffs."""
    lines = []
    for key, item in sorted(msgspec.to_builtins(value).items()):
        if isinstance(item, list | tuple):
            body = b"[\n" + b",\n".join(canonical_json(row) for row in item) + b"\n]" if item else b"[]"
        else:
            body = canonical_json(item)
        lines.append(canonical_json(key) + b": " + body)
    write_bytes(path, b"{\n" + b",\n".join(lines) + b"\n}\n")


def write_json(path: str | Path, value: object) -> None:
    """Write indented JSON for files that people read."""
    write_bytes(path, msgspec.json.format(canonical_json(value), indent=2) + b"\n")


def write_jsonl(path: str | Path, rows: Iterable[object]) -> None:
    """Write one object a line."""
    write_bytes(path, b"".join(canonical_json(row) + b"\n" for row in rows))


def update_jsonl(path: str | Path, kind: type[Row], change: Callable[[list[Row]], list[Row]]) -> list[Row]:
    """Write what `change` makes of the rows that are there, and return it; no other update comes in between."""
    with locked(Path(path).parent):
        rows = change(read_jsonl(path, kind, missing_ok=True))
        write_jsonl(path, rows)
    return rows


def write_csv(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a header and rows; None is an empty cell."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_bytes(path, stream.getvalue().encode("utf-8"))
