"""The scores of somebody else's system, read apart from the files of a project.

`stages.files` reads what belongs to the project and says `dvc repro` when it is broken. These files come from outside,
in four formats and with any number of rows, and whoever wrote them is told the row and what to do about it. What is
limited is a line, so that memory is.

Each format is read in columns, without a loop in Python, and, when anything is not in order, row by row for the
findings.
"""

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import chain, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias

import msgspec
import numpy as np

from stages.calibration.cells import (
    Bools,
    Cells,
    Columns,
    Items,
    NotInOrderError,
    convert,
    findings,
    items_hash,
    repeats,
)
from stages.calibration.sweep import Floats
from stages.calibration.threshold import Threshold, threshold_findings
from stages.errors import BadInputError
from stages.records import Shown, unseen

CHUNK = 100_000
"""Rows held as text at a time."""
SHOWN = 20
BLOCK = 2**24
"""Bytes read at a time. A line of that length is taken, a context may stand in it; one of twice that is not."""
LARGEST_WHOLE = 2**28
"""Bytes of what is read as one value, as SQuAD's JSON."""
DELIMITERS = {".tsv": "\t", ".csv": ","}
BOM = b"\xef\xbb\xbf"
PARQUET_REMEDY = "Parquet needs pyarrow (the extra `parquet`); run `pip install pyarrow`, or write TSV"

Chunks: TypeAlias = Iterator[tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]
Rows: TypeAlias = Iterator[tuple[str, Cells | str]]


@dataclass(frozen=True, slots=True)
class Scores:
    """Signals with labels, in the order of the file.

    signals     (n,) finite, the higher the likelier answerable: the scores, or their negatives where lower is better.
    answerable  (n,)
    column      what the score is called in the file.
    lower_is_better
    items       hash of ids and labels, whatever the order and format.
    sha256      of the file that holds the scores.
    """

    signals: Floats
    answerable: Bools
    column: str
    lower_is_better: bool
    items: str
    sha256: str


class Format(NamedTuple):
    """How a kind of file is read: in columns, and row by row with the place of each."""

    chunks: Callable[[Path, Columns], Chunks]
    rows: Callable[[Path, Columns], Rows]


def read_scores(path: str | Path, columns: Columns, lower_is_better: bool, shown: Shown = unseen) -> Scores:
    """Read TSV, CSV, JSONL or Parquet, told by the suffix; other columns than the three are left alone.

    `shown` is told how far it is.

    Raises BadInputError listing every bad row with its place (`file:line`), at most 20 and how many more.
    """
    path = Path(path)
    if len(set(columns)) < len(columns):
        raise BadInputError(f"{', '.join(columns)}: id, score and label are three columns; name each once")
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise BadInputError(f"{path}: the suffix tells the format; expected one of {', '.join(FORMATS)}")
    digest = sha256_of(path, in_lines=kind is not _PARQUET)
    items = _items(path, columns, kind, shown)
    if not len(items.keys):
        raise BadInputError(f"{path}: no rows; give one row for each item")
    if sha256_of(path, in_lines=False) != digest:
        raise BadInputError(f"{path}: changed while it was read; run it again")
    return make_scores(items, columns.score, lower_is_better, digest)


def read_rows(path: str | Path, columns: Columns) -> Iterator[Cells]:
    """The rows of a file that `read_scores` takes, as they stand there, in its order."""
    for chunk in FORMATS[Path(path).suffix.lower()].chunks(Path(path), columns):
        yield from map(Cells, *chunk)


def make_scores(items: Items, column: str, lower_is_better: bool, digest: str) -> Scores:
    """Signals of items read from a file of that sha256: the higher the likelier answerable."""
    signals = (-items.scores if lower_is_better else items.scores) + 0.0
    return Scores(signals, items.answerable, column, lower_is_better, items_hash(items), digest)


def _items(path: Path, columns: Columns, kind: Format, shown: Shown) -> Items:
    try:
        chunks = shown(kind.chunks(path, columns), None, f"{path.name}: blocks of at most {CHUNK} rows")
        parts = [convert(*chunk) for chunk in chunks]
    except (
        NotInOrderError,
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
        csv.Error,
        msgspec.MsgspecError,
    ) as error:
        refuse(findings(kind.rows(path, columns), columns))
        if kind is _JSONL:
            refuse(_no_json(path))
        raise BadInputError(f"{path}: {error}") from error
    items = Items(*map(np.concatenate, zip(*parts, strict=True))) if parts else convert((), (), ())
    if repeats(items.keys):
        refuse(findings(kind.rows(path, columns), columns))
    return items


def refuse(found: Iterator[str]) -> None:
    """Raise BadInputError with the first findings and how many more; nothing where there are none."""
    first = list(islice(found, SHOWN))
    more = sum(1 for _ in found)
    if first:
        raise BadInputError("\n".join([*first, *([f"... and {more} more"] if more else [])]))


def open_bytes(path: Path) -> BufferedReader:
    """Open a file to read; BadInputError names it when that cannot be done."""
    try:
        return path.open("rb")
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror})") from error


def read_whole(path: Path, most: int = LARGEST_WHOLE) -> bytes:
    """Read a file or a pipe of at most `most` bytes; BadInputError names it when that cannot be done."""
    with open_bytes(path) as stream:
        large = os.fstat(stream.fileno()).st_size > most
        data = b"" if large else b"".join(islice(_blocks(stream), most // BLOCK + 1))
    if large or len(data) > most:
        raise BadInputError(f"{path}: more than {most} bytes")
    return data


def _blocks(stream: BufferedReader) -> Iterator[bytes]:
    return iter(partial(stream.read, BLOCK), b"")


def sha256_of(path: Path, *, in_lines: bool) -> str:
    """SHA-256 of a plain file. Raises BadInputError for what cannot be read twice, and, `in_lines`, for a line that is
    too long to be held."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadInputError(f"{path}: no plain file; it is read twice, so write it to one first")
    digest, line = hashlib.sha256(), 1
    with open_bytes(path) as stream:
        for block in _blocks(stream):
            if in_lines and len(block) == BLOCK and b"\n" not in block and b"\r" not in block:
                raise BadInputError(f"{path}:{line}: a line of more than {BLOCK} bytes; is this a table of scores?")
            line += block.count(b"\n")
            digest.update(block)
    return digest.hexdigest()


def _places(path: Path, names: Sequence[str], columns: Columns) -> list[int]:
    """Where the three columns stand. Raises BadInputError for each that is missing or stands there twice."""
    found = []
    for name, option in zip(
        columns, ("", "; name it with --score-column", "; name it with --label-column"), strict=True
    ):
        if names.count(name) > 1:
            found.append(f"{path}: column {name} stands there {names.count(name)} times; rename all but one")
        elif name not in names:
            found.append(f"{path}: no column {name} (columns: {', '.join(names) or 'none'}){option}")
    if found:
        raise BadInputError("\n".join(found))
    return [names.index(name) for name in columns]


class _Table(NamedTuple):
    """A CSV reader behind the header, the number of columns, and the places of the three."""

    reader: Any
    width: int
    places: list[int]


def _table(stream: TextIO, path: Path, columns: Columns) -> _Table:
    csv.field_size_limit(BLOCK)
    delimiter = DELIMITERS[path.suffix.lower()]
    # in TSV a quote is a character: no cell holds a tab or a line break that it would have to hide
    if delimiter == "\t":
        reader = csv.reader(stream, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
    header = next(reader, None)
    if header is None:
        raise BadInputError(f"{path}: empty; the first line names the columns")
    names = [name.strip() for name in header]
    return _Table(reader, len(names), _places(path, names, columns))


def _table_chunks(path: Path, columns: Columns) -> Chunks:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        table = _table(stream, path, columns)
        while read := list(islice(table.reader, CHUNK)):
            rows = list(filter(None, read))
            if set(map(len, rows)) - {table.width}:
                raise NotInOrderError
            a, b, c = ([*map(itemgetter(place), rows)] for place in table.places)
            yield a, b, c


def _table_rows(path: Path, columns: Columns) -> Rows:
    refuse(_undecodable(path))
    line = 1
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            table = _table(stream, path, columns)
            line = table.reader.line_num + 1
            for row in table.reader:
                if row:
                    yield f"{path}:{line}", _row(row, table)
                line = table.reader.line_num + 1
        except csv.Error as error:
            yield f"{path}:{line}", f"{error}; is a quote not closed?"


def _row(row: Sequence[str], table: _Table) -> Cells | str:
    if len(row) != table.width:
        return f"{len(row)} cells for {table.width} columns"
    return Cells(*(row[place] for place in table.places))


def _undecodable(path: Path) -> Iterator[str]:
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                yield f"{path}:{number}: not UTF-8 ({error.reason} at byte {error.start}); save the file as UTF-8"


def _lines(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as stream:
        first = next(stream, b"")
        yield from chain([first.removeprefix(BOM)], stream)


def _jsonl_chunks(path: Path, columns: Columns) -> Chunks:
    row = msgspec.defstruct("Row", Cells._fields, rename=dict(zip(Cells._fields, columns, strict=True)))
    decoder = msgspec.json.Decoder(row)
    with open_bytes(path) as stream:
        stream.seek(len(BOM) * stream.peek(len(BOM)).startswith(BOM))
        while read := stream.readlines(BLOCK):
            rows = decoder.decode_lines(b"".join(read))
            a, b, c = ([*map(attrgetter(name), rows)] for name in Cells._fields)
            yield a, b, c


def _jsonl_rows(path: Path, columns: Columns) -> Rows:
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            yield f"{path}:{number}", _jsonl_row(line, columns)


def _jsonl_row(line: bytes, columns: Columns) -> Cells | str:
    """Python's JSON, which reads the NaN that Python writes, so that it can be named."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON ({error})"
    if not isinstance(row, dict):
        return f"expected an object, got {type(row).__name__}"
    lacking = [name for name in columns if name not in row]
    if lacking:
        return f"no {', '.join(lacking)} (keys: {', '.join(row) or 'none'}); see --score-column and --label-column"
    return Cells(*(row[name] for name in columns))


def _no_json(path: Path) -> Iterator[str]:
    """Lines that Python's JSON reads and JSON's own rules do not allow, as a NaN in another column."""
    for number, line in enumerate(_lines(path), 1):
        try:
            msgspec.json.decode(line if line.strip() else b"null")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            yield f"{path}:{number}: not JSON ({error})"


def _parquet_chunks(path: Path, columns: Columns) -> Chunks:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise BadInputError(f"{path}: {PARQUET_REMEDY}") from error
    with open_bytes(path) as stream:
        try:
            file = ParquetFile(stream)
            _places(path, file.schema_arrow.names, columns)
            for batch in file.iter_batches(CHUNK, columns=list(columns)):
                a, b, c = (batch.column(name).to_pylist() for name in columns)
                yield a, b, c
        except (ArrowException, OSError, ValueError, OverflowError) as error:
            raise BadInputError(f"{path}: {error}") from error


def _parquet_rows(path: Path, columns: Columns) -> Rows:
    cells = chain.from_iterable(zip(*chunk, strict=True) for chunk in _parquet_chunks(path, columns))
    return ((f"{path}: row {number}", Cells(*row)) for number, row in enumerate(cells, 1))


_TABLE, _JSONL = Format(_table_chunks, _table_rows), Format(_jsonl_chunks, _jsonl_rows)
_PARQUET = Format(_parquet_chunks, _parquet_rows)
FORMATS = {".tsv": _TABLE, ".csv": _TABLE, ".jsonl": _JSONL, ".parquet": _PARQUET}


def read_threshold(path: str | Path) -> Threshold:
    """Read a sealed threshold, exactly what was sealed and nothing beside it. Raises BadInputError."""
    data = read_whole(Path(path), BLOCK)
    try:
        frozen = msgspec.json.decode(data, type=Threshold)
        same = msgspec.json.decode(data) == msgspec.to_builtins(frozen)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: no threshold that `frostline calibrate` wrote ({error})") from error
    if not same:
        raise BadInputError(f"{path}: holds keys that no threshold has; run `frostline calibrate` again")
    if wrong := list(threshold_findings(frozen)):
        raise BadInputError("\n".join(f"{path}: {text}" for text in wrong))
    return frozen
