"""Run a stage and write down what it opened: python tests/opened.py OUT MODULE ARGUMENT...

OUT gets {"read": [...], "written": [...]}, absolute paths; a file written under another name and renamed counts under
its last name. Opening is what CPython's audit hook sees, imports included; compiled code does not pass there.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

read: set[str] = set()
written: set[str] = set()


def absolute(path: str | bytes | os.PathLike[str]) -> str:
    return str(Path(os.fsdecode(path)).absolute())


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note one event; opening a file descriptor opens no path."""
    if event == "open" and not isinstance(arguments[0], int):
        path, mode, flags = arguments
        writes = flags & (os.O_WRONLY | os.O_RDWR) if mode is None else set(mode) & set("wax+")
        if writes or not flags & os.O_DIRECTORY:
            (written if writes else read).add(absolute(path))
    elif event == "os.rename":
        written.discard(absolute(arguments[0]))
        written.add(absolute(arguments[1]))


if __name__ == "__main__":
    out, module = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = str(Path.cwd())
    sys.addaudithook(hook)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        found = json.dumps({"read": sorted(read), "written": sorted(written)})
        Path(out).write_text(found, encoding="utf-8")
