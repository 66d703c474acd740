"""What the report is made from: the rows that other stages wrote, as far as they are shown."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite
from typing import Any, NamedTuple

from stages.calibration.ledger import Seen, holdout_hash
from stages.calibration.threshold import Threshold
from stages.errors import BadInputError
from stages.measures.ablation import Ablated
from stages.measures.damage import Perturbed
from stages.measures.evaluate import Judged
from stages.measures.evidence import Cause
from stages.measures.ledger import Look
from stages.measures.relevance import Holders
from stages.records import REASONS, Candidate, Context, Label, Question, Rejected, Status, TopKind
from stages.wellformed import label_findings, repeated

REMEDY = "run `dvc repro sweep_thresholds`"


@dataclass(frozen=True, slots=True)
class Query:
    """One holdout question of queries.json, as far as report and story tell it.

    `refusal` is the support check's own reason, whatever the gate said; `holders` as in `Judged`.
    """

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
    candidates: tuple[Candidate, ...]
    reranked: tuple[Candidate, ...]
    relevant: tuple[str, ...]
    holders: Holders
    context: Context
    correct: bool
    cause: Cause | None
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


class Damaged(NamedTuple):
    """What became of damaged images; `files` has the image that is shown, as PNG, by the name of each condition."""

    found: Perturbed
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Report:
    """The whole page.

    originals    how many were indexed; `rejected` are those that were left out.
    seen_by      the distinct systems that have met this holdout.
    rerank       the reranker is switched on.
    encoder      the encoder's part of metrics.json, None where no system has one.
    comparisons  that of pairs of systems, shown where the questions are independent draws.
    asked_again  what was changed when a system of `seen_by` was asked again, by its hash.
    damaged      dev questions about damaged images; ablated: dev questions with one factor changed.
    """

    dataset: str
    independent_draws: bool
    group_by: str | None
    originals: int
    rejected: tuple[Rejected, ...]
    entries: int
    snapshot: str
    seen_by: tuple[Look, ...]
    rerank: bool
    encoder: dict[str, Any] | None
    sheets: tuple[Sheet, ...]
    comparisons: dict[str, Any] | None = None
    asked_again: Mapping[str, Sequence[str]] = field(default_factory=dict)
    damaged: Damaged | None = None
    ablated: Ablated | None = None


def parse_sweep(text: str, name: str) -> tuple[Boundary, ...]:
    """Parse a sweep's CSV, an empty cell being None: finite numbers, thresholds rising, "refuse all" last.

    BadInputError names the file and what does not fit.
    """
    reader = csv.DictReader(io.StringIO(text))
    try:
        lacking = [column for column in Boundary._fields if column not in (reader.fieldnames or ())]
        if lacking:
            raise BadInputError(f"{name}: missing columns {', '.join(lacking)}; {REMEDY}")
        rows = tuple(Boundary(*(_cell(row[column]) for column in Boundary._fields)) for row in reader)
    except (ValueError, csv.Error) as error:
        raise BadInputError(f"{name}:{reader.line_num}: {error}; {REMEDY}") from error
    thresholds = [inf if row.threshold is None else row.threshold for row in rows]
    if thresholds[-1:] != [inf] or any(first >= second for first, second in pairwise(thresholds)):
        raise BadInputError(f"{name}: thresholds do not rise to one empty cell, which refuses all; {REMEDY}")
    return rows


def _cell(text: str | None) -> float | None:
    if not text:
        return None
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"expected a finite number, got {text}")
    return value


def query_findings(queries: Queries, system: str) -> Iterator[str]:
    """What is wrong with the questions of a system by themselves."""
    if queries.system != system:
        yield f"system: the questions of {queries.system}"
    yield from (f"{name}: stands there twice" for name in repeated(one.id for one in queries.queries))
    yield from (f"{one.id}: {text}" for one in queries.queries for text in _query_findings(one))


def _query_findings(one: Query) -> Iterator[str]:
    yield from (f"label: {text}" for text in label_findings(one.label))
    if one.id != one.label.id:
        yield f"label: that of {one.label.id}"
    if (one.status == "answered") != (one.reason is None) or one.reason not in (None, *REASONS):
        yield "reason: a refusal, and nothing else, has one that is known"
    if one.correct != (one.cause is None):
        yield "cause: a wrong decision, and nothing else, has one"


def on_holdout(ledger: Iterable[Seen], queries: Sequence[Query]) -> list[Seen]:
    """The ledger's lines on the holdout made of these questions and labels."""
    holdout = holdout_hash([Question(one.id, one.text) for one in queries], [one.label for one in queries])
    return [line for line in ledger if line.holdout == holdout]
