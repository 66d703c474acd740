"""The whole pipeline on the small dataset: what it leaves behind, that it does so twice, and the commands around it."""

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest

from stages.records import REASONS, Label
from tests.project import LEDGER, SMALL, Project

pytestmark = pytest.mark.pipeline

ARTIFACTS = {
    "index/index.json",
    "index/lexical.npz",
    "dev/lexical.json",
    "sweep/lexical.csv",
    "threshold/lexical.json",
    "dev_metrics.json",
    "holdout/lexical/answers.json",
    "holdout/lexical/queries.json",
    "metrics.json",
    "report/index.html",
}
COUNTS = {"correct", "total"}
RANKING = {"hit_at_1", "hit_at_5", "mrr_at_5"}
RATES = {f"{kind}_{rate}" for kind in ("answer", "refusal") for rate in ("precision", "recall", "f1")}
CONTEXT_RATES = {"recall", "precision", "redundancy", "budget_utilization", "provenance_complete"}
CATEGORIES = {"image", "field", "passage", "refusal", "heldout"}


def read(project: Project, path: str) -> Any:
    return json.loads((project.root / path).read_bytes())


def rows(project: Project, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.root / path).read_bytes().splitlines()]


def items_below(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of nested JSON with its value, keys joined by dots."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}{key}", item
            yield from items_below(item, f"{path}{key}.")
    elif isinstance(value, list):
        for item in value:
            yield from items_below(item, path)


def ask(project: Project, *arguments: str) -> str:
    return project.python("-m", "stages.cli", "ask", *arguments).stdout


def without_labels(project: Project) -> Project:
    for folder in ("training", "evaluation-only"):
        shutil.rmtree(project.root / SMALL / folder)
    return project


def test_every_artifact_has_its_name(finished: Project) -> None:
    assert {f"artifacts/{name}" for name in ARTIFACTS} <= finished.bytes_below("artifacts").keys()
    assert len(rows(finished, LEDGER)) == 1


@pytest.mark.parametrize("path", ["artifacts/metrics.json", "artifacts/dev_metrics.json"])
def test_metrics_hold_the_keys_of_the_contract(finished: Project, path: str) -> None:
    figures: Mapping[str, Any] = read(finished, path)["lexical"]
    for group in ("contract", "answers"):
        assert figures[group].keys() >= COUNTS | CATEGORIES
        assert all(figures[group][category].keys() == COUNTS for category in CATEGORIES)
    assert RANKING | {"n"} <= figures["contract"]["retrieval"].keys()
    assert figures["retrieval"].keys() == {"before_rerank", "after_rerank"}
    assert all(RANKING | {"n"} <= one.keys() for one in figures["retrieval"].values())
    for group in ("gate", "support", "decision"):
        assert {"tp", "fp", "fn", "tn", "weighted_error"} | RATES <= figures[group].keys()
    assert CONTEXT_RATES | {"precision_unit", "truncated", "n"} <= figures["context"].keys()
    assert figures["citations"].keys() >= {"answered", "with_citation", "verified"}
    assert {"value", "dev_weighted_error"} <= figures["threshold"].keys()
    assert ("holdout_weighted_error" in figures["threshold"]) == (path == "artifacts/metrics.json")


@pytest.mark.parametrize("path", ["artifacts/metrics.json", "artifacts/dev_metrics.json"])
def test_every_rate_stands_beside_its_numerator_and_denominator(finished: Project, path: str) -> None:
    found = dict(items_below(read(finished, path)))
    rates = {name for name in found if name.rpartition(".")[2] in RANKING | RATES}
    rates |= {name for name in found if ".context." in name and name.rpartition(".")[2] in CONTEXT_RATES}
    assert len(rates) == 3 * (3 * len(RANKING) + 3 * len(RATES) + len(CONTEXT_RATES)), "three systems"
    for name in rates:
        top, bottom = found[f"{name}_of"]
        assert found[name] is None if bottom == 0 else math.isclose(found[name], top / bottom), name


def test_the_numbers_of_the_gate_are_those_of_the_labels(finished: Project) -> None:
    """Counted again from the answers and the labels, apart from everything in stages/measures."""
    labels = {row["id"]: row for row in rows(finished, f"{SMALL}/evaluation-only/holdout.jsonl")}
    answers = read(finished, "artifacts/holdout/lexical/answers.json")
    gate = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
    for record, decision in zip(answers["scored"]["records"], answers["decisions"], strict=True):
        answerable = labels.pop(record["id"])["category"] != "refusal"
        gate[{(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}[answerable, decision["gate"]]] += 1
    assert not labels
    figures = read(finished, "artifacts/metrics.json")["lexical"]
    assert {name: figures["gate"][name] for name in gate} == gate
    assert figures["gate"]["weighted_error"] == gate["fn"] + 2 * gate["fp"]


def test_what_answers_holds_nothing_of_the_labels(finished: Project) -> None:
    label_keys = {field.name for field in fields(Label)} - {"id"}
    for split, path in (("dev", "artifacts/dev/lexical.json"), ("holdout", "artifacts/holdout/lexical/answers.json")):
        text = (finished.root / path).read_text(encoding="utf-8")
        keys = {name.rpartition(".")[2] for name, _ in items_below(json.loads(text))}
        assert not keys & label_keys
        labels = rows(finished, f"{SMALL}/evaluation-only/{split}.jsonl")
        reasons = [row["unanswerable_reason"] for row in labels if row["category"] == "refusal"]
        assert reasons and not [reason for reason in reasons if reason in text]


def test_a_second_repro_runs_nothing(damaged: Project) -> None:
    before = damaged.bytes_below("dvc.lock", "artifacts", LEDGER)
    assert "Running stage" not in damaged.dvc("repro").stdout
    assert damaged.bytes_below("dvc.lock", "artifacts", LEDGER) == before


def test_a_forced_second_run_gives_the_same_bytes(damaged: Project) -> None:
    before = damaged.bytes_below("dvc.lock", "artifacts", LEDGER)
    done = damaged.dvc("repro", "-f", "--no-run-cache")
    assert done.stdout.count("Running stage") == len(damaged.dvc("stage", "list", "--name-only").stdout.split())
    after = damaged.bytes_below("dvc.lock", "artifacts", LEDGER)
    assert [name for name in before if before[name] != after.get(name)] == []
    assert damaged.git("status", "--porcelain") == ""


def test_the_index_comes_from_the_corpus_alone(damaged: Project) -> None:
    names = damaged.stage("build_index").outs
    before = damaged.bytes_below(*names)
    for name in names:
        (damaged.root / name).unlink()
    without_labels(damaged).run_stage("build_index")
    assert damaged.bytes_below(*names) == before


def test_ask_answers_with_image_and_citation(finished: Project, damaged: Project) -> None:
    expected = {row["id"]: row["expected_image"] for row in rows(finished, f"{SMALL}/evaluation-only/holdout.jsonl")}
    answer = ask(finished, "small purple cross")
    assert answer.startswith(f"answered: {expected['c12']}\n  source: {expected['c12']} sha256 ")
    assert ask(without_labels(damaged), "small purple cross") == answer


def test_ask_answers_with_a_verbatim_value(finished: Project) -> None:
    record = json.loads(ask(finished, "D3 door glass part number", "--json"))
    citation = record["citations"][0]
    original = (finished.root / SMALL / "corpus" / citation["path"]).read_bytes().decode("utf-8")
    assert record["status"] == "answered"
    assert record["answer"] == citation["quote"] == original[citation["start"] : citation["end"]]


def test_ask_refuses_with_a_reason(finished: Project) -> None:
    record = json.loads(ask(finished, "small red cross", "--json", "--system", "lexical"))
    assert record["status"] == "refused" and record["reason"] in REASONS
    assert ask(finished, "small red cross").startswith(f"refused: {record['reason']} (")


def test_ask_names_an_unknown_system(finished: Project) -> None:
    done = finished.python("-m", "stages.cli", "ask", "small purple cross", "--system", "oracle", status=1)
    assert "oracle" in done.stderr and "lexical" in done.stderr and "Traceback" not in done.stderr


def test_the_commands_of_dvc_work(damaged: Project) -> None:
    damaged.edit("params.yaml", "fp_weight: 2\n", "fp_weight: 3\n")
    assert "calibrate.fp_weight" in damaged.dvc("params", "diff").stdout
    damaged.git("checkout", "--quiet", "params.yaml")
    assert "lexical.decision.answer_f1" in damaged.dvc("metrics", "show").stdout
    damaged.dvc("metrics", "diff")
    assert "index.html" in damaged.dvc("plots", "show").stdout
    assert "evaluate_holdout" in damaged.dvc("dag").stdout


def test_weights_are_compared_on_dev(damaged: Project) -> None:
    before = damaged.bytes_below("artifacts/holdout", "artifacts/metrics.json", LEDGER)
    damaged.dvc("exp", "run", "-n", "dear", "-S", "calibrate.fp_weight=5", "freeze_threshold")
    assert "dear" in damaged.dvc("exp", "show", "--csv").stdout
    assert "lexical.gate.weighted_error" in damaged.dvc("metrics", "diff").stdout
    assert read(damaged, "artifacts/threshold/lexical.json")["fp_weight"] == 5
    assert damaged.bytes_below("artifacts/holdout", "artifacts/metrics.json", LEDGER) == before
