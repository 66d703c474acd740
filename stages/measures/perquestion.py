"""One row a question for `queries.json`: what the system did, what was right, and whether it was."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    by_path: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries.values():
        by_path[entry.path].append(entry)
    return [
        {
            **msgspec.to_builtins(record),
            **msgspec.to_builtins(decision),
            "correct": outcome(row, decision).correct,
            "relevant": sorted(relevant_ids(labels[record.id], _near(labels[record.id], by_path))),
            "label": msgspec.to_builtins(labels[record.id]),
        }
        for record, decision, row in zip(records, decisions, judged, strict=True)
    ]


def _near(label: Label, by_path: Mapping[str, Sequence[Entry]]) -> Iterator[Entry]:
    """Entries of the originals that a label names, and images with the same pixels: no other can be relevant."""
    named = {span.path for group in label.evidence for span in group} | {label.expected_image or ""}
    twins = {path for name in named for entry in by_path.get(name, ()) for path in entry.twins}
    for path in (named | twins) & by_path.keys():
        yield from by_path[path]
