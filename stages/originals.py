"""The originals of a corpus and their index: which there are, and their bytes. Nothing outside the corpus is one.

Every file below the corpus is an original, usable or not. A link counts as what it leads to, under its own path, where
that is an original of the corpus too; a link that leads elsewhere, nowhere or round in a circle is none.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from stages.errors import BadInputError
from stages.files import hashed, is_stray, read_bytes, read_json, refuse, refuse_made
from stages.hashing import hash_of
from stages.records import File, Index
from stages.wellformed import ORIGINAL_SUFFIXES, index_findings, name_finding, path_finding

LARGEST_WALK = 1_000_000
"""Files and folders of a corpus, those that links lead to included."""


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

    What is stray is left out. Wrong are links out of the corpus and round in a circle, names that no path may have
    (`name_finding`), what is neither file nor folder, folders that cannot be read, and a corpus that is not there or
    empty.
    """
    root = Path(corpus)
    if not root.is_dir():
        return [], [(str(root), "no such folder; it holds the originals of the dataset")]
    items, findings = _walk(root)
    if len(items) > LARGEST_WALK:
        return [], [(str(root), f"more than {LARGEST_WALK} files and folders; do links to folders hold such links?")]
    unusable = {item: list(_unusable(item, root)) for item in items}
    findings += [(os.fsencode(item).decode("utf-8", "replace"), text) for item in items for text in unusable[item]]
    paths = sorted(item.relative_to(root).as_posix() for item in items if item.is_file() and not unusable[item])
    return paths, findings if findings or paths else [(str(root), "no .png or .md file")]


def _walk(root: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Everything below a folder that is not stray, sorted, links followed; and each folder that cannot be read.

    Ends early behind LARGEST_WALK items: links to folders with links multiply.
    """
    found: list[Path] = []
    failed: list[tuple[str, str]] = []
    waiting = [root]
    while waiting and len(found) <= LARGEST_WALK:
        folder = waiting.pop()
        try:
            items = [item for item in folder.iterdir() if not is_stray(Path(item.name))]
            folders = [item for item in items if item.is_dir()]
        except OSError as error:
            failed.append((str(folder), f"cannot be read ({error.strerror}); let it be read"))
            continue
        found += items
        waiting += [one for one in folders if not list(_link_findings(one, root))]
    return sorted(found), failed


def _unusable(item: Path, root: Path) -> Iterator[str]:
    if linked := list(_link_findings(item, root)):
        yield from linked
    elif item.is_dir() and item.name.lower().endswith(ORIGINAL_SUFFIXES):
        yield "a folder with the name of a file; rename it"
    elif not item.is_dir() and not item.is_file():
        yield "neither a file nor a folder; move it out"
    elif item.is_file() and (found := name_finding(item.relative_to(root).as_posix())):
        yield f"rename it or its folder: {found}"
    if any("\udc80" <= character <= "\udcff" for character in item.name):
        yield "its name is not UTF-8; rename it"


def _link_findings(item: Path, root: Path) -> Iterator[str]:
    """What is wrong with where a path really leads, links above it included."""
    try:
        real, home = Path(os.path.realpath(item, strict=True)), Path(os.path.realpath(root))
    except OSError as error:
        if item.is_symlink():
            yield f"a link that leads nowhere ({error.strerror}); put the file itself there"
        return
    if not real.is_relative_to(home) or is_stray(real.relative_to(home)):
        yield "a link out of the corpus; put the file itself there"
    elif item.is_symlink() and item.is_dir() and any(one.is_relative_to(real) for one in _above(item, root)):
        yield "a link to a folder that it is in; remove it"


def _above(item: Path, root: Path) -> list[Path]:
    """Where the folders are that a path names on its way from the corpus."""
    return [Path(os.path.realpath(one)) for one in item.parents if one.is_relative_to(root)]


def read_original(corpus: str | Path, path: str) -> bytes:
    """Read one original. Raises BadInputError for a path that is none, and for one that leads out of the corpus."""
    if found := path_finding(path):
        raise BadInputError(f"{corpus}: {found}")
    place = Path(corpus) / path
    refuse(f"{place}: {found}" for found in _link_findings(place, Path(corpus)))
    return read_bytes(place)


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
