"""Stage: everything that was measured -> the page that people look at."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from stages import artifacts, files, results, settings
from stages.calibration.binding import check_seal
from stages.calibration.ledger import Seen
from stages.evaluated import read_queries
from stages.hashing import sha256
from stages.measures.ablation import Ablated, ablation_findings
from stages.measures.damage import Condition, Perturbed, damage_findings
from stages.measures.ledger import asked_again, looks
from stages.originals import read_index, read_original
from stages.params import DatasetCard, RetrievalParams, load_section, load_systems, of_params
from stages.records import File, Index, Rejected
from stages.report.inputs import Damaged, Report, Sheet, on_holdout, parse_sweep
from stages.report.page import render
from stages.stage.run import run_stage

PATHS = (
    *("dataset", "index", "rejected", "dev_metrics", "metrics", "sweep", "judged", "threshold"),
    *("holdout", "ledger", "altered", "perturbation", "ablation", "template", "report"),
)


def read_rejected(path: str | Path, index: Index) -> tuple[Rejected, ...]:
    """Read which originals were left out of an index, and why."""
    rejected = files.read_json(path, tuple[Rejected, ...])
    same = tuple(one.file for one in rejected) == index.rejected
    files.refuse_made(path, [] if same else ["not the originals that index.json calls rejected"])
    return rejected


def read_sheet(paths: Namespace, system: str, dev: dict[str, Any], holdout: dict[str, Any]) -> Sheet:
    """Everything about one system; `dev` and `holdout` are its figures."""
    frozen = artifacts.read_frozen(paths.threshold, system)
    check_seal(frozen, system)
    sweep = files.of_system(paths.sweep, system, ".csv")
    return Sheet(
        system=system,
        threshold=frozen,
        dev=dev,
        holdout=holdout,
        boundaries=parse_sweep(files.read_text(sweep), str(sweep)),
        judged=tuple(results.read_judged(paths.judged, system)),
        queries=read_queries(paths.holdout, system),
    )


def read_damaged(path: str | Path, altered: str | Path) -> Damaged:
    """What became of damaged images, and of the one that is shown the file under every condition, by its name."""
    found, listing = files.read_json(path, Perturbed), Path(altered, "originals.json")
    files.refuse_made(path, damage_findings(found))
    listed = files.read_json(listing, dict[str, tuple[File, ...]])
    shown = {Condition(one.change, one.strength).name: found.expected[one.id] for one in found.shown}
    known = {(name, one.path): one for name, items in listed.items() for one in items}
    lacking = [f"shown: {name}: no {image} in {listing}" for name, image in shown.items() if (name, image) not in known]
    files.refuse_made(path, lacking)
    pictures = {name: read_original(Path(altered, name), image) for name, image in shown.items()}
    other = (
        f"{name}: {image} has another sha256"
        for name, image in shown.items()
        if sha256(pictures[name]) != known[name, image].sha256
    )
    files.refuse_made(listing, other)
    return Damaged(found, pictures)


def read_ablated(path: str | Path) -> Ablated:
    """What one factor at a time changed."""
    found = files.read_json(path, Ablated)
    files.refuse_made(path, ablation_findings(found))
    return found


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write the report, one self-contained HTML file; a ledger that is not there has no lines."""
    card = load_section(DatasetCard, paths.dataset, settings.read_yaml(paths.dataset))
    index = read_index(paths.index)
    systems = load_systems(params)
    dev = results.read_figures(paths.dev_metrics, systems)
    metrics = results.read_figures(paths.metrics, systems, intervals=card.independent_draws and card.group_by is None)
    sheets = tuple(read_sheet(paths, system, dev[system], metrics[system]) for system in systems)
    seen = on_holdout(files.read_jsonl(paths.ledger, Seen, missing_ok=True), sheets[0].queries)
    report = Report(
        dataset=card.name,
        independent_draws=card.independent_draws,
        group_by=card.group_by,
        originals=len(index.originals),
        rejected=read_rejected(paths.rejected, index),
        entries=len(index.entries),
        snapshot=index.snapshot,
        seen_by=looks(seen, metrics.get("system"), len(sheets[0].judged), len(sheets[0].queries)),
        rerank=of_params(RetrievalParams, "retrieval", params).rerank,
        encoder=metrics.get("encoder"),
        sheets=sheets,
        comparisons=metrics.get("comparisons"),
        asked_again=asked_again(seen),
        damaged=read_damaged(paths.perturbation, paths.altered),
        ablated=read_ablated(paths.ablation),
    )
    files.write_bytes(paths.report, render(files.read_text(paths.template), report).encode("utf-8"))


if __name__ == "__main__":
    run_stage("write_report", __doc__, PATHS, main)
