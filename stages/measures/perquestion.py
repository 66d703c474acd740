"""One row a question for `queries.json`: what the system did, what was right, whether it was, and why not."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stages.measures.attribution import cause
from stages.measures.evaluate import Judged, outcome
from stages.records import Decision, Label, Record


def query_rows(
    records: Sequence[Record], decisions: Sequence[Decision], labels: Mapping[str, Label], judged: Sequence[Judged]
) -> list[dict[str, Any]]:
    """Join everything about each question, in the records' order; ValueError for unequal lengths.

    `relevant` lists the ids of all relevant entries of the index, `holders` the same for each necessary group of
    evidence; `cause` is what made it wrong, None where it is right; `label` is the label row as it stands.
    """
    return [
        {
            **msgspec.to_builtins(record),
            **msgspec.to_builtins(decision),
            "correct": outcome(row, decision).correct,
            "relevant": sorted({name for group in row.holders for name in group}),
            "holders": row.holders,
            "cause": msgspec.to_builtins(cause(row, decision)),
            "label": msgspec.to_builtins(labels[record.id]),
        }
        for record, decision, row in zip(records, decisions, judged, strict=True)
    ]
