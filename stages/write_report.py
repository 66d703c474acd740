"""Stage: everything that was measured -> the page that people look at."""

from argparse import Namespace
from typing import Any

from stages import files
from stages.calibration.ledger import Seen
from stages.calibration.threshold import Threshold
from stages.errors import BadInputError
from stages.measures.evaluate import Judged
from stages.measures.ledger import looks
from stages.params import DatasetCard, RetrievalParams, load_section, load_systems
from stages.records import Index
from stages.report.inputs import Queries, Report, Sheet, on_holdout, parse_sweep
from stages.report.page import render
from stages.stage.run import run_stage

PATHS = (
    *("dataset", "index", "dev_metrics", "metrics", "sweep", "judged", "threshold"),
    *("holdout", "ledger", "template", "report"),
)


def read_metrics(path: str, system: str) -> dict[str, Any]:
    """One system's part of a metrics file."""
    metrics = files.read_json(path, dict[str, Any])
    if system not in metrics:
        raise BadInputError(f"{path}: no figures for {system}; run `dvc repro`")
    return dict(metrics[system])


def read_sheet(paths: Namespace, system: str) -> Sheet:
    """Everything about one system."""
    sweep = str(files.of_system(paths.sweep, system, ".csv"))
    return Sheet(
        system=system,
        threshold=files.read_sealed(files.of_system(paths.threshold, system), Threshold),
        dev=read_metrics(paths.dev_metrics, system),
        holdout=read_metrics(paths.metrics, system),
        boundaries=parse_sweep(files.read_text(sweep), sweep),
        judged=tuple(files.read_jsonl(files.of_system(paths.judged, system, ".jsonl"), Judged)),
        queries=files.read_json(files.in_system(paths.holdout, system, "queries.json"), Queries).queries,
    )


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write the report, one self-contained HTML file; a ledger that is not there has no lines."""
    card = load_section(DatasetCard, paths.dataset, files.read_yaml(paths.dataset))
    index = files.read_json(paths.index, Index)
    sheets = tuple(read_sheet(paths, system) for system in load_systems(params))
    metrics = files.read_json(paths.metrics, dict[str, Any])
    seen = on_holdout(files.read_jsonl(paths.ledger, Seen, missing_ok=True), sheets[0].queries)
    report = Report(
        dataset=card.name,
        independent_draws=card.independent_draws,
        group_by=card.group_by,
        originals=len(index.originals),
        entries=len(index.entries),
        snapshot=index.snapshot,
        seen_by=looks(seen, metrics.get("system"), len(sheets[0].judged), len(sheets[0].queries)),
        rerank=load_section(RetrievalParams, "retrieval", params.get("retrieval")).rerank,
        encoder=metrics.get("encoder"),
        sheets=sheets,
        comparisons=metrics.get("comparisons"),
    )
    files.write_bytes(paths.report, render(files.read_text(paths.template), report).encode("utf-8"))


if __name__ == "__main__":
    run_stage("write_report", __doc__, PATHS, main)
