"""How far something is that takes longer than two seconds: a bar with counts and rate, on a terminal alone."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

DELAY, EVERY = 2.0, 0.2
"""Seconds before a bar is shown, and between two looks of it."""
WIDTH, COLUMNS = 30, 80
"""Characters of a bar, and of a terminal that does not say how wide it is."""
CLEAR = "\r\x1b[K"


def progress(items: Iterable[T], total: int | None, what: str) -> Iterator[T]:
    """Yield `items`, `total` at most, and show on stderr how many are done; nothing where stderr is no terminal.

    total: None where nobody knows it yet; then there are counts and rate alone.
    """
    terminal = _terminal()
    return iter(items) if terminal is None else _shown(items, total, what, terminal)


def _terminal() -> int | None:
    """The descriptor of stderr; None where it is no terminal, closed or not there."""
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return number if os.isatty(number) else None


def _shown(items: Iterable[T], total: int | None, what: str, terminal: int) -> Iterator[T]:
    start = time.monotonic()
    due = start + DELAY
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now >= due:
                due = now + EVERY
                _write(terminal, bar(done, total, now - start, what))
            yield item
    finally:
        if due > start + DELAY:
            _write(terminal, "")


def _write(terminal: int, line: str) -> None:
    """Put a line in the place of the last one. A terminal that is gone changes nothing for whoever works on."""
    # past the stream's buffer: what cannot be written may not wait there, it would spoil the exit status
    with suppress(OSError):
        columns = os.get_terminal_size(terminal).columns or COLUMNS
        os.write(terminal, (CLEAR + line[: columns - 1]).encode())


def bar(done: int, total: int | None, seconds: float, what: str) -> str:
    """One line: what, a bar, counts, items a second."""
    if total is None:
        return f"{what} {done} {done / seconds:.1f}/s"
    filled = WIDTH * done // max(total, 1)
    return f"{what} [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total} {done / seconds:.1f}/s"
