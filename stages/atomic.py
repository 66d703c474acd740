"""A file is written whole or not at all, also when the disk is full or the process is killed."""

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stages.errors import BadInputError

PART = ".part"
"""How the name ends under which a file is written; git and DVC ignore it."""
REMEDIES = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room in your quota",
    errno.EROFS: "mount it for writing, or work in a copy elsewhere",
    errno.EACCES: "let it be written there, or work in a copy elsewhere",
    errno.EPERM: "let it be written there, or work in a copy elsewhere",
    errno.EISDIR: "move that folder away",
    errno.ENOTDIR: "move away the file that stands where a folder belongs",
    errno.EEXIST: "move away the file that stands where a folder belongs",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ENOENT: "run one at a time: something else writes or removes it",
}
"""What to do about an error of the system, before running it again."""


@contextmanager
def told(path: str | Path) -> Iterator[None]:
    """An error of the system becomes a BadInputError with the path, the reason and what to do."""
    try:
        yield
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "mend that")
        raise BadInputError(f"{path}: cannot be written ({error.strerror}); {remedy} and run it again") from error


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path` to write into; then it is synced and renamed: a reader never sees half a file.

    What a killed run left of the same file is removed first. So is what another process is writing there right now,
    which then ends with an error.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}{PART}")
    with told(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_left(target)
        temporary.open("xb").close()
        try:
            yield temporary
            _sync(temporary, os.O_RDWR)
            temporary.replace(target)
            with suppress(OSError):  # not every file system can sync a folder
                _sync(target.parent, os.O_DIRECTORY)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """A folder, made where it is missing, that nobody else has who asks for it in this way."""
    with told(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_left(target: Path) -> None:
    """Remove temporary files and folders of `target`, whoever left them."""
    name = re.compile(rf"\.{re.escape(target.name)}\.\d+{re.escape(PART)}")
    for one in target.parent.iterdir():
        if not name.fullmatch(one.name):
            continue
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)


def _sync(path: Path, flags: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
