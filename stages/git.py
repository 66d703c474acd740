"""The one module that runs git. Names are handed over as arguments, never through a shell."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from stages.errors import BadInputError

OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
EXPERIMENT = re.compile(r"refs/exps/[0-9a-f]{2}/[0-9a-f]{38}/(.+)")
"""Where DVC keeps an experiment: below the commit that it began at, under its name."""
OBJECT = re.compile(r"[0-9a-f]{40,64}")
PLAIN_FILES = ("100644", "100755")


def run_git(folder: Path, *arguments: str, unborn: bool = False, given: bytes | None = None) -> bytes:
    """What git prints; BadInputError with its message when it fails.

    unborn: status 1, or any without a message, says no, it is no failure. given: its standard input.
    """
    # a hook's own variables would point git at another place than the folder
    inherited = {name: value for name, value in os.environ.items() if name not in OF_A_HOOK}
    command = ["git", "--literal-pathspecs", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=inherited, input=given, capture_output=True, check=False)
    except ValueError as error:  # a name that no program can be handed
        raise BadInputError(f"git {arguments[0]}: {error}") from error
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode and not (unborn and (done.returncode == 1 or not said)):
        raise BadInputError(f"git {arguments[0]}: exit status {done.returncode}: {said}")
    return done.stdout


def find_commit(folder: Path, name: str) -> str:
    """The commit of a git revision or of a DVC experiment. Raises BadInputError for a name that is none, or several."""
    if (found := _object(folder, name)) and (commit := _object(folder, f"{found}^{{commit}}")):
        return commit
    listed = run_git(folder, "for-each-ref", "--format=%(objectname) %(refname)", "refs/exps")
    rows = [line.partition(" ") for line in listed.decode("utf-8", "surrogateescape").splitlines()]
    commits = [commit for commit, _, ref in rows if (match := EXPERIMENT.fullmatch(ref)) and match[1] == name]
    if len(commits) == 1:
        return commits[0]
    if not commits:
        ranged = "; a range is several, give two as two arguments" if ".." in name else ""
        raise BadInputError(f"{name}: no git revision and no DVC experiment here{ranged}")
    raise BadInputError(f"{name}: {len(commits)} DVC experiments; name one of {', '.join(one[:7] for one in commits)}")


def _object(folder: Path, name: str) -> str | None:
    """What a name stands for, or None; a range, and what is left out of one, are several."""
    found = run_git(folder, "rev-parse", "--quiet", "--verify", "--end-of-options", name, unborn=True)
    text = found.decode("ascii").strip()
    return text if OBJECT.fullmatch(text) else None


def files_at(folder: Path, commit: str, *paths: str) -> dict[str, bytes]:
    """Every plain file of a commit that is one of these paths, or lies below one; all relative to the folder.

    Raises BadInputError for one whose contents git does not have, as in a partial or damaged clone.
    """
    listed = run_git(folder, "ls-tree", "-r", "-z", commit, "--", *paths).split(b"\0")[:-1]
    blobs: dict[str, str] = {}
    for head, _, name in (one.partition(b"\t") for one in listed):
        mode, _, blob = head.decode("ascii").split()
        path = os.fsdecode(name)
        if mode in PLAIN_FILES and ".." not in PurePosixPath(path).parts:
            blobs[path] = blob
    given = "".join(f"{blob}\n" for blob in blobs.values()).encode("ascii")
    return dict(zip(blobs, _contents(run_git(folder, "cat-file", "--batch", given=given)), strict=True))


def _contents(batch: bytes) -> Iterator[bytes]:
    """The contents that `git cat-file --batch` printed: each behind a line that ends with its size."""
    place = 0
    while place < len(batch):
        start = batch.index(b"\n", place) + 1
        blob, kind, *size = batch[place:start].decode("ascii").split()
        if not size:
            raise BadInputError(f"git cat-file: {blob} {kind}; `git fsck` says what else")
        end = start + int(size[0])
        yield batch[start:end]
        place = end + 1
