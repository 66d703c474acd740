"""Whether the ledger has lost a line: git knows every version of the file that was committed or staged."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stages import files
from stages.calibration.ledger import Seen, gone, key
from stages.errors import StaleThresholdError
from stages.git import run_git
from stages.hashing import canonical_json

SPECIAL, BACKSLASHED = re.compile(r"[][.*^$/\\]"), r"\\\g<0>"
"""What means something in a basic regular expression, and the same as plain characters."""
CHANGED = shlex.quote('"changed":')
AFTERWARDS = "  afterwards `dvc repro -f -s evaluate_holdout && dvc repro` sorts them in"


class History(NamedTuple):
    """Every version of the ledger.

    lines     (revision, line), oldest version first. A revision is what stands before `:./path` in git's names: a
              commit, and "" for the index.
    findings  historic lines that are no lines of a ledger.
    shallow   how many commits a shallow clone has, None in a whole one.
    """

    lines: list[tuple[str, Seen]]
    findings: list[str]
    shallow: int | None


def check(root: str | Path, ledger: str | Path) -> list[str]:
    """Compare the ledger with all that HEAD's history and the index hold of it; returns what there is to say.

    Where there is no git or no checkout, that is said. Raises StaleThresholdError with every line that is gone and the
    command that brings it back, BadInputError when git fails or the ledger as it is now cannot be read.
    """
    path = Path(ledger).resolve()
    unchecked = _unchecked(path.parent)
    if unchecked:
        return [f"not checked whether a committed line is gone: {unchecked}"]
    name = os.path.relpath(path, Path(root).resolve())
    history, now = read_history(path), files.read_jsonl(ledger, Seen, missing_ok=True)
    notes = [f"no line of a ledger, passed over: {one}" for one in history.findings]
    if history.shallow is not None:
        notes.append(f"a shallow clone: only {history.shallow} commits could be looked at (`git fetch --unshallow`)")
    lost = gone(history.lines, now)
    if lost:
        edited = {key(line) for line in now}
        told = [text for revision, line in lost for text in _told(name, revision, line, key(line) in edited)]
        raise StaleThresholdError(
            "\n".join([f"{name}: lines that were committed or staged are gone:", *told, AFTERWARDS, *notes])
        )
    return [*notes, "no line of HEAD's history is gone" if history.lines else f"{name}: not committed yet"]


def _unchecked(folder: Path) -> str | None:
    """Why git cannot be asked about a folder, or None when it can."""
    if not any((one / ".git").exists() for one in (folder, *folder.parents)):
        return "the ledger lies in no git checkout"
    return None if shutil.which("git") else "git is not installed"


def _told(name: str, revision: str, line: Seen, edited: bool) -> Iterator[str]:
    """What is gone, and the command that brings it back, for the project's folder."""
    file, pattern = shlex.quote(name), f"{line.holdout[:12]}.*{line.system}"
    found, delete = f"grep {shlex.quote(pattern)} | grep -v {CHANGED}", f'/{pattern}/{{/"changed":/!d}}'
    if line.changed:
        pattern = f'"changed":{SPECIAL.sub(BACKSLASHED, canonical_json(line.changed).decode())}.*{pattern}'
        found, delete = f"grep {shlex.quote(pattern)}", f"/{pattern}/d"
    # the second expression ends a last line that has no end
    expressions = [delete, "$a\\"] if edited else ["$a\\"]
    prepared = " ".join(["touch", file, "&&", "sed", "-i", *(f"-e {shlex.quote(one)}" for one in expressions), file])
    folder, last = os.path.split(name)
    again = f", asked again with {line.changed}" if line.changed else ""
    yield f"  system {line.system}{again}{', edited' if edited else ''}: in {_place(revision)}; bring it back:"
    shown = f"git -C {shlex.quote(folder or '.')} show {shlex.quote(f'{revision}:./{last}')}"
    yield f"    {prepared} && {shown} | {found} >> {file}"


def _place(revision: str) -> str:
    return "the index" if revision[:1] in ("", ":") else revision[:12]


def read_history(path: Path) -> History:
    """Every version of a file in a checkout that HEAD's history and the index have; BadInputError when git fails."""
    folder, name, lines, findings = path.parent, path.name, [], []
    for blob, revision in _versions(folder, name).items():
        data = run_git(folder, "cat-file", "blob", blob)
        rows, wrong = files.parse_jsonl(data, Seen)
        lines += [(revision, row) for row in rows.values()]
        findings += [f"{_place(revision)}:{name}:{number}: {text}" for number, text in wrong]
    shallow = run_git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true"
    return History(lines, findings, int(run_git(folder, "rev-list", "--count", "HEAD")) if shallow else None)


def _versions(folder: Path, name: str) -> dict[str, str]:
    """Object names of all contents the file ever had to the revision that had each first, oldest first."""
    found: dict[str, str] = {}
    for commit in _commits(folder, name):
        for entry in _entries(run_git(folder, "ls-tree", "-z", commit, "--", name)):
            if entry[1] == "blob":
                found.setdefault(entry[2], commit)
    for entry in _entries(run_git(folder, "ls-files", "--stage", "-z", "--", name)):
        found.setdefault(entry[1], "" if entry[2] == "0" else f":{entry[2]}")
    return found


def _commits(folder: Path, name: str) -> list[str]:
    """Commits that changed the file, oldest first, also those on a branch whose change a merge threw away."""
    if not run_git(folder, "rev-parse", "--quiet", "--verify", "HEAD", unborn=True):
        return []
    order = ("--reverse", "--topo-order", "--full-history")
    return run_git(folder, "rev-list", *order, "HEAD", "--", name).decode("ascii").split()


def _entries(listing: bytes) -> Iterator[list[str]]:
    """Columns of what git lists with -z, without the names."""
    for entry in listing.split(b"\0")[:-1]:
        yield entry.partition(b"\t")[0].decode("ascii").split()
