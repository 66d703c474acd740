"""What became of the holdout's questions, as `evaluate_holdout` wrote it: labels are in it."""

from pathlib import Path

from stages import files
from stages.report.inputs import Queries, Query, query_findings


def read_queries(folder: str | Path, system: str) -> tuple[Query, ...]:
    """Read the holdout questions of a system with what became of them, sound by themselves."""
    path = files.in_system(folder, system, "queries.json")
    found = files.read_json(path, Queries)
    files.refuse_made(path, query_findings(found, system))
    return found.queries
