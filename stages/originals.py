"""The originals of a corpus and their index: which there are, and their bytes. Nothing outside the corpus is one.

Every file below the corpus is an original, usable or not; links are none, wherever they lead.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from stages.errors import BadInputError
from stages.files import hashed, is_stray, read_bytes, read_json, refuse, refuse_made
from stages.hashing import hash_of
from stages.records import File, Index
from stages.wellformed import ORIGINAL_SUFFIXES, index_findings, name_finding, path_finding


def list_originals(corpus: str | Path) -> list[str]:
    """Paths of all originals relative to `corpus`, sorted. What cannot be one is an error, all listed."""
    paths, findings = find_originals(corpus)
    refuse(f"{place}: {text}" for place, text in findings)
    return paths


def read_originals(corpus: str | Path) -> tuple[list[tuple[File, bytes]], list[str]]:
    """Every original with its bytes, by path; and a finding for whatever in the corpus is none, or cannot be read."""
    paths, unusable = find_originals(corpus)
    read, findings = [], [f"{place}: {text}" for place, text in unusable]
    for path in paths:
        try:
            read.append(hashed(corpus, path))
        except BadInputError as error:
            findings.append(str(error))
    return read, findings


def find_originals(corpus: str | Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Paths of all originals relative to `corpus`, sorted, and (place, what is wrong) of whatever else is there.

    What is stray is left out. Wrong are links, to folders too, names that no path may have (`name_finding`), what is
    neither file nor folder, folders that cannot be read, and a corpus that is not there or empty.
    """
    root = Path(corpus)
    if not root.is_dir():
        return [], [(str(root), "no such folder; it holds the originals of the dataset")]
    items, findings = _walk(root)
    unusable = {item: list(_unusable(item, root)) for item in items}
    findings += [(os.fsencode(item).decode("utf-8", "replace"), text) for item in items for text in unusable[item]]
    paths = sorted(item.relative_to(root).as_posix() for item in items if item.is_file() and not unusable[item])
    return paths, findings if findings or paths else [(str(root), "no .png or .md file")]


def _walk(root: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Everything below a folder that is not stray, sorted, links not followed; and each folder that cannot be read."""
    found: list[Path] = []
    failed: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=failed.append):
        folders[:] = [name for name in folders if not is_stray(Path(name))]
        found += [Path(folder, name) for name in (*folders, *names) if not is_stray(Path(name))]
    return sorted(found), [(str(one.filename), f"cannot be read ({one.strerror}); let it be read") for one in failed]


def _unusable(item: Path, root: Path) -> Iterator[str]:
    if item.is_symlink():
        yield "a link; put the file itself there"
    elif item.is_dir() and item.name.lower().endswith(ORIGINAL_SUFFIXES):
        yield "a folder with the name of a file; rename it"
    elif not item.is_dir() and not item.is_file():
        yield "neither a file nor a folder; move it out"
    elif item.is_file() and (found := name_finding(item.relative_to(root).as_posix())):
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
    if index.snapshot != snapshot_hash((*index.originals, *index.rejected)):
        refuse_made(path, ["snapshot: not the hash of its originals"])
    return index
