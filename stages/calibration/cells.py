"""Cells of a table of scores: into arrays at once where all are in order, else a finding for each that is not.

A cell is what a file holds: text, a number, true or false. An id is text or a whole number and keeps its zeros; a
score is a finite number, or text that reads as one; a label is 0 or 1, true or false in any case.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stages.calibration.sweep import Floats
from stages.hashing import hash_of, sha256

Keys: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]
LABELS: dict[object, bool] = {
    text: known
    for known, words in ((False, ("0", "0.0", "false", "False", "FALSE")), (True, ("1", "1.0", "true", "True", "TRUE")))
    for text in (*words, known)
}
"""The usual spellings, for whole columns; True and False stand for 1 and 0 as well, which Python takes for equal."""

REMEDY = "mend it, or leave the row out"
LONGEST = 60


class Columns(NamedTuple):
    """What the three columns are called."""

    id: str
    score: str
    label: str


class Cells(NamedTuple):
    """The cells of one row."""

    id: object
    score: object
    label: object


class Items(NamedTuple):
    """Scored items: `keys` are 64-bit hashes of the ids, `scores` finite and as in the file; all (n,), in its order."""

    keys: Keys
    scores: Floats
    answerable: Bools


class NotInOrderError(Exception):
    """Some cell is not what it should be; `findings` says which."""


def convert(ids: Sequence[Any], scores: Sequence[Any], labels: Sequence[Any]) -> Items:
    """Turn three columns of n cells into arrays, without a loop in Python. Raises NotInOrderError."""
    known = list(map(LABELS.get, labels))
    if None in known:
        known = [label_of(label) for label in labels]
    values = _numbers(scores)
    if None in known or not np.isfinite(values).all():
        raise NotInOrderError
    return Items(_keys(ids), values, np.array(known, dtype=np.bool_))


def _numbers(cells: Sequence[Any]) -> Floats:
    """Correctly rounded, as Python reads them: a faster parser that is off in the last digit would move a boundary."""
    texts = "".join(cell for cell in cells if isinstance(cell, str))
    if "_" in texts or bool in set(map(type, cells)):
        raise NotInOrderError
    return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))


def _keys(ids: Sequence[Any]) -> Keys:
    """Hash the ids as pandas does: the same on every machine, and fixed by its own tests."""
    import pandas as pd

    if not set(map(type, ids)) <= {str, int} or "" in ids:
        raise NotInOrderError
    names = list(map(str, ids))
    if any(mark in "".join(names) for mark in "\r\n"):
        raise NotInOrderError
    keys: Keys = pd.util.hash_array(np.array(names, dtype=object), categorize=False)
    return keys


def repeats(keys: Keys) -> bool:
    """True when a key stands there twice."""
    ascending = np.sort(keys)
    return bool((ascending[1:] == ascending[:-1]).any())


def items_hash(items: Items) -> str:
    """Hash of ids and labels, whatever the order of the rows, the scores and the format of the file."""
    sides = {"answerable": items.keys[items.answerable], "unanswerable": items.keys[~items.answerable]}
    return hash_of({name: sha256(np.sort(keys).astype("<u8").tobytes()) for name, keys in sides.items()})


def findings(rows: Iterable[tuple[str, Cells | str]], columns: Columns) -> Iterator[str]:
    """Yield what is wrong, row by row, each with its place; a row that could not be read is the text that says why."""
    seen: dict[str, str] = {}
    for place, cells in rows:
        if isinstance(cells, str):
            yield f"{place}: {cells}"
            continue
        yield from (f"{place}: {text}" for text in _of_row(cells, columns) if text)
        name = str(cells.id)
        if seen.setdefault(name, place) != place:
            yield f"{place}: {columns.id} {name!r} is already that of {seen[name]}; give each item a row of its own"


def _of_row(cells: Cells, columns: Columns) -> Iterator[str | None]:
    yield _id_finding(cells.id, columns.id)
    yield _score_finding(cells.score, columns.score)
    if label_of(cells.label) is None:
        yield f"{columns.label} {_shown(cells.label)}: expected 0 or 1, true or false; {REMEDY}"


def _id_finding(cell: object, name: str) -> str | None:
    if type(cell) not in (str, int):
        return f"{name} {_shown(cell)}: expected text or a whole number"
    if cell == "":
        return f"{name} is empty"
    broken = isinstance(cell, str) and ("\n" in cell or "\r" in cell)
    return f"{name} {_shown(cell)}: holds a line break; is a quote not closed?" if broken else None


def _score_finding(cell: object, name: str) -> str | None:
    value = score_of(cell)
    usable = value is not None and math.isfinite(value)
    return None if usable else f"{name} {_shown(cell)}: expected a finite number; {REMEDY}"


def _shown(cell: object) -> str:
    text = repr(cell)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def score_of(cell: object) -> float | None:
    """The number of a cell, NaN and infinities included; None where it is none."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float) or (isinstance(cell, str) and "_" in cell):
        return None
    try:
        return float(cell)
    except ValueError:
        return None
    except OverflowError:
        return math.inf


def label_of(cell: object) -> bool | None:
    """True for answerable, False for unanswerable; None where the cell says neither."""
    if isinstance(cell, str):
        return LABELS.get(cell.strip().lower())
    return LABELS.get(cell) if isinstance(cell, bool | int | float) else None
