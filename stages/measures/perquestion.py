"""One row a question for `queries.json`: what the system did, what was right, and whether it was."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stages.measures.evaluate import Judged, outcome
from stages.measures.relevance import relevant_ids
from stages.records import Decision, Entry, Label, Record


def query_rows(
    records: Sequence[Record],
    decisions: Sequence[Decision],
    labels: Mapping[str, Label],
    judged: Sequence[Judged],
    entries: Mapping[str, Entry],
) -> list[dict[str, Any]]:
    """Join everything about each question, in the records' order; ValueError for unequal lengths.

    `relevant` lists the ids of all relevant entries of the index, `label` is the label row as it stands.
    """
    return [
        {
            **msgspec.to_builtins(record),
            **msgspec.to_builtins(decision),
            "correct": outcome(row, decision).correct,
            "relevant": sorted(relevant_ids(labels[record.id], entries.values())),
            "label": msgspec.to_builtins(labels[record.id]),
        }
        for record, decision, row in zip(records, decisions, judged, strict=True)
    ]
