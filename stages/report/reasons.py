"""How often each kind of question met each reason: a refusal is not right for the right reason by itself."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from stages.measures.answers import FITTING_REASONS
from stages.records import REASONS, UNANSWERABLE_KINDS
from stages.report.inputs import Query

ANSWERABLE = "answerable"
ANSWERED = "answered"
COLUMNS = (*UNANSWERABLE_KINDS, ANSWERABLE)


class Cell(NamedTuple):
    """`fits`: the reason names this kind of question."""

    questions: int
    fits: bool


def reason_table(queries: Iterable[Query]) -> dict[str, list[Cell]]:
    """Give one row for "answered" and one for each of REASONS, with a cell for each of COLUMNS.

    Every question is counted once, so that a column sums up to the number of questions of its kind.
    """
    counts = Counter((one.reason or ANSWERED, one.label.unanswerable_kind or ANSWERABLE) for one in queries)
    return {
        reason: [Cell(counts[reason, kind], reason in FITTING_REASONS.get(kind, ())) for kind in COLUMNS]
        for reason in (ANSWERED, *REASONS)
    }
