"""Who has seen the holdout: a sorted set with one line for each distinct system that was evaluated on it.

Running the same thing again adds nothing, so a second machine reproduces the file byte for byte. It is no log: it knows
no time and no order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stages.hashing import hash_of
from stages.records import Label, Question

SYSTEM_PARAMS = ("systems", "index", "retrieval", "context", "support")
SYSTEM_SOURCES = (
    *("stages/corpus", "stages/retrieval", "stages/answering", "stages/calibration"),
    *("stages/assemble.py", "stages/records.py"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """Weighted errors of one frozen threshold, gate alone: what the development set promised, what the holdout gave."""

    dev_weighted_error: float
    holdout_weighted_error: float


@dataclass(frozen=True, slots=True)
class Seen:
    """One line: hashes of the holdout, of the contract in it, of everything that decides; results by system."""

    holdout: str
    contract: str
    system: str
    results: dict[str, Result]


def holdout_hash(questions: Iterable[Question], labels: Iterable[Label]) -> str:
    """Hash of labels with the texts of their questions, whatever their order in the files."""
    texts = {question.id: question.text for question in questions}
    return hash_of(sorted((label.id, texts.get(label.id), hash_of(label)) for label in labels))


def system_hash(seals: Mapping[str, str], params: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """Hash of all that decides: the seals of all thresholds (the weight is in them), params, answering sources."""
    return hash_of({"seals": seals, "params": {name: params.get(name) for name in SYSTEM_PARAMS}, "sources": sources})


def add(seen: Iterable[Seen], line: Seen) -> list[Seen]:
    """The set with `line` in it, sorted by its three hashes; what was there before stays as it is."""
    lines = {hash_of(one): one for one in [*seen, line]}
    return sorted(lines.values(), key=lambda one: (one.holdout, one.contract, one.system, hash_of(one)))
