"""Who has seen the holdout: a sorted set with one line for each distinct system that was evaluated on it, and one more
for everything that was changed when such a system was asked again.

Running the same thing again adds nothing, so a second machine reproduces the file byte for byte. It is no log: it knows
no time and no order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from stages.errors import StaleThresholdError
from stages.hashing import hash_of
from stages.records import Label, Question

SYSTEM_PARAMS = ("systems", "index", "encoder", "neighbours", "retrieval", "context", "support")
SYSTEM_SOURCES = (
    *("stages/corpus", "stages/encoder", "stages/retrieval", "stages/answering", "stages/calibration/gate.py"),
    *("stages/assemble.py", "stages/arrays.py", "stages/artifacts.py", "stages/atomic.py", "stages/exact.py"),
    *("stages/files.py", "stages/hashing.py", "stages/originals.py", "stages/params.py", "stages/records.py"),
    *("stages/settings.py", "stages/wellformed.py"),
)
"""What answers. The rest of calibration decides nothing but thresholds, and their seals are hashed beside these."""


Word = Annotated[str, Meta(pattern=r"\A[ -~]+\Z")]
"""Printable ASCII, not empty: a terminal gets it as it stands."""


@dataclass(frozen=True, slots=True)
class Result:
    """Weighted errors of one frozen threshold, gate alone: what the development set promised, what the holdout gave."""

    dev_weighted_error: float
    holdout_weighted_error: float


@dataclass(frozen=True, slots=True)
class Seen:
    """One line: hashes of the holdout, of the contract in it, of everything that decides; results by system.

    changed  what was different when this system was asked again, `retrieval.rerank=false`, without results; not there
             in the line of its evaluation.
    """

    holdout: Word
    contract: Word
    system: Word
    results: dict[str, Result]
    changed: Word | UnsetType = UNSET


def holdout_hash(questions: Iterable[Question], labels: Iterable[Label]) -> str:
    """Hash of labels with the texts of their questions, whatever their order in the files."""
    texts = {question.id: question.text for question in questions}
    return hash_of(sorted((label.id, texts.get(label.id), hash_of(label)) for label in labels))


def system_hash(seals: Mapping[str, str], params: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """Hash of all that decides: the seals of all thresholds (the weight is in them), params, answering sources."""
    return hash_of({"seals": seals, "params": {name: params.get(name) for name in SYSTEM_PARAMS}, "sources": sources})


def key(line: Seen) -> tuple[str, str, str, str]:
    """What makes a line distinct, and its place in the file."""
    return line.holdout, line.contract, line.system, line.changed or ""


def add(seen: Iterable[Seen], *lines: Seen) -> list[Seen]:
    """The set with `lines` in it, sorted by key.

    Raises StaleThresholdError when the same system is there with other results: one of the two was edited.
    """
    by_key: dict[tuple[str, str, str, str], Seen] = {}
    for one in (*seen, *lines):
        before = by_key.setdefault(key(one), one)
        if before != one:
            raise StaleThresholdError(
                f"ledger: system {one.system} gave {before.results} before, {one.results} now; the answers or the "
                "ledger were edited: restore the ledger from git, then `dvc repro -f --no-run-cache`"
            )
    return [by_key[place] for place in sorted(by_key)]


def gone(history: Iterable[tuple[str, Seen]], now: Iterable[Seen]) -> list[tuple[str, Seen]]:
    """Lines that were there once and are not there `now`, each with the revision that had it first, sorted.

    history: (revision, line) of every version of the file, oldest first. Of two lines about the same system the older
    one counts: the other is an edit of it.
    """
    first: dict[tuple[str, str, str, str], tuple[str, Seen]] = {}
    for revision, line in history:
        first.setdefault(key(line), (revision, line))
    there = list(now)
    return [first[place] for place in sorted(first) if first[place][1] not in there]


def result(threshold: Mapping[str, float]) -> Result:
    """The ledger's share of a system's metrics."""
    return Result(float(threshold["dev_weighted_error"]), float(threshold["holdout_weighted_error"]))
