"""The originals of a corpus and their index: which there are, and their bytes. Nothing outside the corpus is one."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from stages.errors import BadInputError
from stages.files import is_stray, read_bytes, read_json, refuse, refuse_made
from stages.hashing import hash_of
from stages.records import File, Index
from stages.wellformed import ORIGINAL_SUFFIXES, index_findings, path_finding


def list_originals(corpus: str | Path) -> list[str]:
    """Paths of all originals relative to `corpus`, sorted. What cannot be one is an error, all listed."""
    paths, findings = find_originals(corpus)
    refuse(f"{place}: {text}" for place, text in findings)
    return paths


def find_originals(corpus: str | Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Paths of all originals relative to `corpus`, sorted, and (place, what is wrong) of whatever else is there.

    What is stray is left out. Wrong are links, to folders too, names that no path may have (`path_finding`), files that
    are neither .png nor .md, what is neither file nor folder, and a corpus that is not there or empty.
    """
    root = Path(corpus)
    if not root.is_dir():
        return [], [(str(root), "no such folder; it holds the originals of the dataset")]
    visible = sorted(item for item in root.rglob("*") if not is_stray(item.relative_to(root)))
    unusable = {item: list(_unusable(item, root)) for item in visible}
    paths = sorted(item.relative_to(root).as_posix() for item in visible if item.is_file() and not unusable[item])
    findings = [(os.fsencode(item).decode("utf-8", "replace"), text) for item in visible for text in unusable[item]]
    return paths, findings if findings or paths else [(str(root), "no .png or .md file")]


def _unusable(item: Path, root: Path) -> Iterator[str]:
    if item.is_symlink():
        yield "a link; put the file itself there"
    elif item.is_dir() and item.name.lower().endswith(ORIGINAL_SUFFIXES):
        yield "a folder with the name of a file; rename it"
    elif not item.is_dir() and not item.is_file():
        yield "neither a file nor a folder; move it out"
    elif item.is_file() and not item.name.lower().endswith(ORIGINAL_SUFFIXES):
        yield "neither .png nor .md; move it out"
    elif item.is_file() and (found := path_finding(item.relative_to(root).as_posix())):
        yield f"rename it or its folder: {found}"
    if any("\udc80" <= character <= "\udcff" for character in item.name):
        yield "its name is not UTF-8; rename it"


def read_original(corpus: str | Path, path: str) -> bytes:
    """Read one original. Raises BadInputError for a path that is none, and for one that leads over a link."""
    if found := path_finding(path):
        raise BadInputError(f"{corpus}: {found}")
    if os.path.realpath(Path(corpus) / path) != str(Path(os.path.realpath(corpus), path)):
        raise BadInputError(f"{Path(corpus) / path}: leads over a link; put the file itself there")
    return read_bytes(Path(corpus) / path)


def snapshot_hash(originals: Iterable[File]) -> str:
    """Hash of (path, sha256) of all originals, in the order of their paths."""
    return hash_of(sorted((one.path, one.sha256) for one in originals))


def read_index(path: str | Path) -> Index:
    """Read index.json; every original, entry and place that it names is there."""
    index = read_json(path, Index)
    refuse_made(path, index_findings(index))
    if index.snapshot != snapshot_hash(index.originals):
        refuse_made(path, ["snapshot: not the hash of its originals"])
    return index
