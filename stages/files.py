"""The one room that opens files. Everything read is checked here; everything written is whole or not there at all.

JSON is written with sorted keys, shortest round-trip floats, UTF-8 and "\\n" line ends, so that equal content is equal
bytes. Nothing that is read is ever executed: JSON by msgspec into declared types, YAML by the safe loader.
"""

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from stages.corpus.text import decode_text
from stages.errors import BadInputError
from stages.hashing import canonical_json, hash_of, plain_numbers, sha256
from stages.params import SECTIONS, NeighboursParams
from stages.records import Caption, File, Label, Question, label_findings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Row = TypeVar("Row", bound="DataclassInstance")

ORIGINAL_SUFFIXES = (".png", ".md")


def of_system(folder: str | Path, system: str, suffix: str = ".json") -> Path:
    """The file of one system in a folder that holds one for each."""
    return Path(folder) / f"{system}{suffix}"


def in_system(folder: str | Path, system: str, name: str) -> Path:
    """A file of one system in a folder that holds a folder for each."""
    return Path(folder) / system / name


def hash_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    return sha256(read_bytes(path))


def read_bytes(path: str | Path) -> bytes:
    """Read a whole file; BadInputError names it when that cannot be done."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror}); run `dvc repro`") from error


def read_text(path: str | Path) -> str:
    """Read a whole UTF-8 file, every character and line end as it is."""
    data = read_bytes(path)
    try:
        return decode_text(data)
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from error


def read_json(path: str | Path, kind: type[T]) -> T:
    """Read one JSON value of the declared type; BadInputError names the file and the place that does not fit."""
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: {error}") from error


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
    rows, findings = parse_jsonl(str(path), read_bytes(path), kind)
    if findings:
        raise BadInputError("\n".join(findings))
    return rows


def parse_jsonl(name: str, data: bytes, kind: type[Row]) -> tuple[list[Row], list[str]]:
    """The rows of JSON lines, and a finding for each line that is none of `kind`: `name`, its number, what is wrong."""
    rows: list[Row] = []
    findings = []
    known = {item.name for item in fields(kind)}
    if data.startswith(b"\xef\xbb\xbf"):
        return [], [f"{name}: begins with a byte order mark; save it as UTF-8 without one"]
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=kind)
            unknown = set(msgspec.json.decode(line)) - known
            if unknown:
                findings.append(f"{name}:{number}: unknown keys {', '.join(sorted(unknown))}")
            else:
                rows.append(row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            findings.append(f"{name}:{number}: {error}")
    return rows, findings


@dataclass(frozen=True)
class _QuestionRow:
    id: str
    text: str


def read_questions(path: str | Path) -> list[Question]:
    """Read {"id","text"} rows in file order; duplicate ids are an error."""
    rows = [Question(row.id, row.text) for row in read_jsonl(path, _QuestionRow)]
    _refuse_duplicates(path, [row.id for row in rows])
    return rows


def read_labels(path: str | Path) -> list[Label]:
    """Read label rows in file order; duplicate ids and rows that contradict themselves are errors, all listed."""
    rows = read_jsonl(path, Label)
    _refuse_duplicates(path, [row.id for row in rows])
    findings = [f"{path}: {row.id}: {text}" for row in rows for text in label_findings(row)]
    if findings:
        raise BadInputError("\n".join(findings))
    return rows


def _refuse_duplicates(path: str | Path, ids: Sequence[str]) -> None:
    twice = sorted({name for name in ids if ids.count(name) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise BadInputError(f"{path}: duplicate ids {', '.join(twice)}")


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a YAML mapping with the safe loader; a key that stands twice is an error."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = read_text(path)
    try:
        findings = [f"{path}:{line}: {key!r} stands there twice" for key, line in _repeated(yaml.compose(text, loader))]
        value = yaml.load(text, loader)
        plain_numbers(value)  # walks through all of it: an anchor that holds itself is endless
    except (yaml.YAMLError, RecursionError) as error:
        raise BadInputError(f"{path}: {error}") from error
    if findings:
        raise BadInputError("\n".join(findings))
    if not isinstance(value, dict):
        raise BadInputError(f"{path}: expected a mapping, got {type(value).__name__}")
    return value


def _repeated(node: Any) -> Iterator[tuple[str, int]]:
    """Yield (key, line) of every scalar key that its YAML mapping already holds."""
    seen: set[str] = set()
    pairs = node.value if node is not None and node.id == "mapping" else []
    for key, value in pairs:
        name = str(key.value)
        if name in seen:
            yield name, key.start_mark.line + 1
        seen.add(name)
        yield from _repeated(value)


def read_params(path: str | Path) -> dict[str, Any]:
    """Read params.yaml; a section that nobody knows is an error. Each stage checks the sections that it uses."""
    params = read_yaml(path)
    unknown = sorted(str(key) for key in params.keys() - set(SECTIONS))
    if unknown:
        raise BadInputError(f"{path}: unknown {', '.join(unknown)} (known: {', '.join(SECTIONS)})")
    return params


def read_vocabulary() -> dict[str, Any]:
    """Read the words that a description may use and a question may contain: a source like the code beside it."""
    return read_yaml(Path(__file__).parent / "corpus" / "vocabulary.yaml")


def list_originals(corpus: str | Path) -> list[str]:
    """Paths of all originals relative to `corpus`, sorted. Dot files are left out.

    Links, names that are not UTF-8 and files that are neither .png nor .md are errors, all listed.
    """
    root = Path(corpus)
    if not root.is_dir():
        raise BadInputError(f"{root}: no such folder; it holds the originals of the dataset in params.yaml")
    visible = [
        item for item in root.rglob("*") if not any(part.startswith(".") for part in item.relative_to(root).parts)
    ]
    findings = [
        f"{os.fsencode(item).decode('utf-8', 'replace')}: {text}"
        for item in sorted(visible)
        for text in _unusable(item)
    ]
    if findings:
        raise BadInputError("\n".join(findings))
    paths = sorted(item.relative_to(root).as_posix() for item in visible if item.is_file())
    if not paths:
        raise BadInputError(f"{root}: no .png or .md file")
    return paths


def _unusable(item: Path) -> Iterator[str]:
    if item.is_symlink():
        yield "a link; put the file itself there"
    elif item.is_file() and not item.name.lower().endswith(ORIGINAL_SUFFIXES):
        yield "neither .png nor .md; move it out"
    if any("\udc80" <= character <= "\udcff" for character in item.name):
        yield "its name is not UTF-8; rename it"


def hashed(folder: str | Path, path: str) -> tuple[File, bytes]:
    """Read a file of a folder (an original of the corpus) with its identity, `path` as it is given."""
    data = read_bytes(Path(folder) / path)
    return File(path, sha256(data), len(data)), data


def hash_sources(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of source files named from the project's folder; of a folder every *.py and *.yaml below it."""
    root = Path(__file__).parent.parent
    found: dict[str, str] = {}
    for path in (root / name for name in names):
        inside = [item for suffix in ("*.py", "*.yaml") for item in path.rglob(suffix)] if path.is_dir() else [path]
        found.update((item.relative_to(root).as_posix(), sha256(read_bytes(item))) for item in inside)
    return dict(sorted(found.items()))


def snapshot_hash(originals: Iterable[File]) -> str:
    """Hash of (path, sha256) of all originals, in the order of their paths."""
    return hash_of(sorted((one.path, one.sha256) for one in originals))


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> str:
    """Write numpy arrays as .npz without pickle (byte-stable: no time in it); returns the file's sha256."""
    import numpy as np

    stream = io.BytesIO()
    np.savez(stream, **arrays)
    write_bytes(path, stream.getvalue())
    return sha256(stream.getvalue())


def read_arrays(path: str | Path, expected: str) -> dict[str, Any]:
    """Read an .npz that `write_arrays` wrote; BadInputError when its sha256 is not the expected one."""
    import numpy as np

    data = read_bytes(path)
    if sha256(data) != expected:
        raise BadInputError(f"{path}: sha256 {sha256(data)}, expected {expected}; run `dvc repro -f --no-run-cache`")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def read_captions(path: str | Path) -> list[Caption]:
    """Read {"image","caption"} rows in file order."""
    return read_jsonl(path, Caption)


def write_hnsw(path: str | Path, vectors: Any, settings: NeighboursParams) -> str:
    """Build an HNSW index by inner product in one thread with a seed, and write it; returns the file's sha256."""
    import hnswlib
    import numpy as np

    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(len(vectors), M=settings.m, ef_construction=settings.ef_construction, random_seed=settings.seed)
    index.add_items(vectors.astype(np.float32), np.arange(len(vectors)), num_threads=1)
    with tempfile.TemporaryDirectory() as folder:
        index.save_index(str(Path(folder) / "hnsw"))
        data = read_bytes(Path(folder) / "hnsw")
    write_bytes(path, data)
    return sha256(data)


def read_hnsw(path: str | Path, expected: str, vectors: Any, ef: int) -> Callable[[Any, int], Any]:
    """Load an index that `write_hnsw` wrote, as a function from (vector, k) to about k near rows, in any order.

    BadInputError when the file's sha256 is not the expected one: the library would trust any bytes.
    """
    import hnswlib
    import numpy as np

    if hash_file(path) != expected:
        raise BadInputError(f"{path}: not the index that vectors.json names; run `dvc repro embed_corpus`")
    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.load_index(str(path))

    def propose(vector: Any, k: int) -> Any:
        index.set_ef(max(ef, k))
        return index.knn_query(vector.astype(np.float32), k=k, num_threads=1)[0][0].astype(np.int64)

    return propose


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write under a temporary name, sync, rename: a reader never sees half a file."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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


def write_csv(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a header and rows; None is an empty cell."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_bytes(path, stream.getvalue().encode("utf-8"))
