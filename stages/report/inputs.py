"""What the report is made from: the rows that other stages wrote, as far as they are shown."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stages.calibration.ledger import Seen, holdout_hash
from stages.calibration.threshold import Threshold
from stages.errors import BadInputError
from stages.measures.evaluate import Judged
from stages.measures.ledger import Look
from stages.records import Candidate, Context, Label, Question, Status, TopKind


@dataclass(frozen=True, slots=True)
class Query:
    """One holdout question of queries.json; `refusal` is the support check's own reason, whatever the gate said."""

    id: str
    text: str
    status: Status
    reason: str | None
    refusal: str | None
    support: bool
    top: TopKind | None
    signal: float | None
    image: str | None
    answer: str | None
    reranked: tuple[Candidate, ...]
    relevant: tuple[str, ...]
    context: Context
    correct: bool
    label: Label


@dataclass(frozen=True, slots=True)
class Queries:
    """queries.json of one system, in the order of the questions file."""

    system: str
    queries: tuple[Query, ...]


class Boundary(NamedTuple):
    """One row of a sweep as it is drawn; `threshold` is None for "refuse all"."""

    threshold: float | None
    weighted_error: float | None
    answer_f1: float | None
    refusal_f1: float | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything about one system. `dev` and `holdout` are its part of dev_metrics.json and metrics.json.

    boundaries  by rising threshold, "refuse all" last.
    judged      the development questions.
    """

    system: str
    threshold: Threshold
    dev: dict[str, Any]
    holdout: dict[str, Any]
    boundaries: tuple[Boundary, ...]
    judged: tuple[Judged, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The whole page.

    seen_by      the distinct systems that have met this holdout.
    rerank       the reranker is switched on.
    encoder      the encoder's part of metrics.json, None where no system has one.
    comparisons  that of pairs of systems, shown where the questions are independent draws.
    """

    dataset: str
    independent_draws: bool
    group_by: str | None
    originals: int
    entries: int
    snapshot: str
    seen_by: tuple[Look, ...]
    rerank: bool
    encoder: dict[str, Any] | None
    sheets: tuple[Sheet, ...]
    comparisons: dict[str, Any] | None = None


def parse_sweep(text: str, name: str) -> tuple[Boundary, ...]:
    """Parse a sweep's CSV, an empty cell being None; BadInputError names the file and what does not fit."""
    reader = csv.DictReader(io.StringIO(text))
    lacking = [column for column in Boundary._fields if column not in (reader.fieldnames or ())]
    if lacking:
        raise BadInputError(f"{name}: missing columns {', '.join(lacking)}; run `dvc repro sweep_thresholds`")
    try:
        return tuple(Boundary(*(_cell(row[column]) for column in Boundary._fields)) for row in reader)
    except ValueError as error:
        raise BadInputError(f"{name}:{reader.line_num}: {error}") from error


def _cell(text: str | None) -> float | None:
    return float(text) if text else None


def on_holdout(ledger: Iterable[Seen], queries: Sequence[Query]) -> list[Seen]:
    """The ledger's lines on the holdout made of these questions and labels."""
    holdout = holdout_hash([Question(one.id, one.text) for one in queries], [one.label for one in queries])
    return [line for line in ledger if line.holdout == holdout]
