"""Lists every folder backwards: as `sitecustomize`, Python loads it at its start (tests/settings.py)."""

import os
from collections.abc import Iterator
from typing import Any

listdir, scandir = os.listdir, os.scandir


class Backwards:
    """What os.scandir returns, in the reverse order of names."""

    def __init__(self, path: Any = ".") -> None:
        with scandir(path) as entries:
            self.rest = sorted(entries, key=lambda entry: entry.name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self.rest:
            raise StopIteration
        return self.rest.pop()

    def __enter__(self) -> "Backwards":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.rest.clear()


os.listdir = lambda path=".": sorted(listdir(path), reverse=True)  # type: ignore[assignment]
os.scandir = Backwards  # type: ignore[assignment]
