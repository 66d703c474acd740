"""The label firewall, and the list of what a stage opened: an audit hook of CPython (PEP 578).

It sees every `open` in Python code, imports included, every rename and link, and every process that is started. It does
not see what compiled code opens by itself (tests/test_firewall.py compares with strace), nor a copy made before.
"""

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from stages.errors import LabelFirewallError
from stages.records import File
from stages.stage.declared import covers

GUARDED = ("evaluation-only", "training")
"""Folders of a dataset that hold labels and captions."""
PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")
CLOSED = "labels and captions are closed to whatever dvc.yaml does not hand them to; what answers may never open them"
_BYTECODE = re.compile(r"__pycache__/(.*)\.cpython-\d+(\.opt-\d)?\.pyc$")


def relative(root: str | Path, path: str | Path) -> str:
    """A path as seen from the project's folder, links resolved, with forward slashes; bytecode counts as its source."""
    real = os.path.relpath(os.path.realpath(Path(root) / path), os.path.realpath(root))
    return _BYTECODE.sub(r"\1.py", real.replace(os.sep, "/"))


def is_outside(path: str) -> bool:
    """True for a relative path that leads out of the project."""
    return path == ".." or path.startswith("../")


def is_guarded(path: str, dataset: str) -> bool:
    """True for labels and captions, of the dataset or another one in the project; both paths as `relative` has them."""
    inside = path.removeprefix(f"{dataset}/") if covers([dataset], path) else path
    return not is_outside(inside) and any(part in GUARDED for part in inside.split("/"))


class Watch:
    """Once `sys.addaudithook` has it, notes what is read and written in a project and refuses what is closed.

    root     the project's folder; where Python and its packages are installed nothing is closed or noted.
    dataset  the dataset's folder, which may lie elsewhere; relative to root, as all paths.
    listed   what may be opened of the project and its dataset; None opens all but labels and captions.
    blind    closes labels and captions even where they are listed.
    read     File by path, as it was when it was opened first.
    written  paths; a file renamed counts under its last name.
    """

    def __init__(self, root: Path, dataset: str, listed: Iterable[str] | None, *, blind: bool) -> None:
        self.root = Path(os.path.realpath(root))
        self.installed = relative(self.root, sys.prefix)
        self.dataset = relative(self.root, dataset)
        self.listed = None if listed is None else {relative(self.root, path) for path in listed}
        self.blind = blind
        self.read: dict[str, File] = {}
        self.written: set[str] = set()
        self.hashing = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take one audit event."""
        if event == "open" and not isinstance(arguments[0], int) and not self.hashing:
            name, mode, flags = arguments
            writes = flags & (os.O_WRONLY | os.O_RDWR) if mode is None else set(mode) & set("wax+")
            if writes or not flags & os.O_DIRECTORY:  # what is opened as a folder holds nothing to read
                path = self._checked(name)
                self._note_written(path) if writes else self._note_read(path)
        elif event in ("os.rename", "os.link"):
            self.written.discard(self._checked(arguments[0]))
            self._note_written(self._checked(arguments[1]))
        elif event in PROCESSES and self.listed is not None:
            raise LabelFirewallError(f"{event}: a stage starts no other process; nobody would watch what that opens")

    def note_sources(self) -> None:
        """Count the sources of all modules that are loaded by now as read: most were before anybody watched."""
        for module in list(sys.modules.values()):
            if name := getattr(module, "__file__", None):
                self._note_read(relative(self.root, name))

    def now(self, path: str) -> File:
        """Hash a file, unseen by this watch; OSError when it cannot be read."""
        self.hashing = True
        try:
            with (self.root / path).open("rb") as stream:
                return File(path, hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell())
        finally:
            self.hashing = False

    def _note_read(self, path: str) -> None:
        if self._is_own(path) and path not in self.read and (self.root / path).is_file():
            self.read[path] = self.now(path)

    def _note_written(self, path: str) -> None:
        if self._is_own(path):
            self.written.add(path)

    def _is_own(self, path: str) -> bool:
        """True for what belongs to the project or its dataset."""
        inside = not is_outside(path) or covers([self.dataset], path)
        return inside and not covers([self.installed], path)

    def _checked(self, name: str | bytes | os.PathLike[str]) -> str:
        path = relative(self.root, os.fsdecode(name))
        if self._is_own(path):
            guarded = is_guarded(path, self.dataset)
            listed = not guarded if self.listed is None else self._is_listed(path, self.listed)
            if guarded and (self.blind or not listed):
                raise LabelFirewallError(f"{path}: {CLOSED}")
            if not listed:
                raise LabelFirewallError(f"{path}: dvc.yaml does not list it for this stage; add it there")
        return path

    def _is_listed(self, path: str, listed: Collection[str]) -> bool:
        """True too for the name under which `stages.files` writes a listed file before it renames it."""
        folder, name = os.path.split(path)
        wanted = (os.path.split(one) for one in listed)
        return covers(listed, path) or any(folder == where and name.startswith(f".{last}.") for where, last in wanted)
