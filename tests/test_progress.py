"""A bar on a terminal, from two seconds on; elsewhere nothing, and the items are always all there."""

import io
import os
import pty
import sys
import time
from itertools import count

import pytest

from stages.stage.progress import CLEAR, bar, progress


def pass_items(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """Let 40 items pass, `step` seconds each."""
    clock = count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) * step)
    assert list(progress(range(40), 40, "questions")) == list(range(40))


def shown(monkeypatch: pytest.MonkeyPatch, step: float) -> str:
    """What a terminal shows of 40 items."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        pass_items(patched, step)
    told = b""
    try:
        while read := os.read(ours, 4096):
            told += read
    except OSError:  # so Linux says that nobody writes there any more
        pass
    os.close(ours)
    return told.decode()


def test_a_bar_tells_counts_and_rate_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = shown(monkeypatch, 0.125).split(CLEAR)[1:]
    assert looks[0] == "questions [###########...................] 15/40 7.5/s"
    assert looks[-1] == "" and len(looks) == 14


def test_nothing_is_shown_of_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 0.04) == ""


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (memory := io.StringIO(), closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        pass_items(monkeypatch, 1.0)
    assert memory.getvalue() == ""


def test_a_terminal_that_is_gone_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        os.close(ours)
        with pytest.raises(OSError):
            os.write(theirs, b"gone")
        pass_items(monkeypatch, 1.0)


def test_what_nobody_has_counted_has_no_bar() -> None:
    assert bar(3, None, 2.0, "blocks") == "blocks 3 1.5/s"
