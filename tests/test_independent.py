"""What only independent draws allow stands nowhere for a dataset that has none, and stands there for one that has."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.project import ROOT, SMALL, Project
from tests.test_pipeline import items_below, read
from tests.test_report import INFERENCE

pytestmark = pytest.mark.pipeline

PRINTED = (["table"], ["ledger"], ["verify"], ["weights", "1", "2", "5"], ["ask", "small purple cross"])
ADDED = re.compile(r"(.*_ci95|[^.]+\.shift|comparisons)(\..*)?")


def shown(page: str) -> str:
    """The page up to the questions and quotes, in which any word may stand."""
    head, heading, _ = page.partition("<h2>Every wrong holdout decision</h2>")
    assert heading
    return head


def findings(root: Path) -> list[str]:
    """Words and keys of inference in the figures, the sweeps, the thresholds and the report below a folder."""
    figures = [
        *root.glob("artifacts/*metrics.json"),
        *root.glob("artifacts/sweep/*"),
        *root.glob("artifacts/threshold/*"),
    ]
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*figures, root / "artifacts/seen.jsonl")}
    texts["report"] = shown((root / "artifacts/report/index.html").read_text(encoding="utf-8"))
    assert len(texts) >= 6
    keys = {
        name for path in figures if path.suffix == ".json" for name, _ in items_below(json.loads(path.read_bytes()))
    }
    tests = [name for name in keys if name.rpartition(".")[2] in ("p", "p_holm", "shift", "comparisons")]
    return tests + [f"{name}: {found[0]}" for name, text in texts.items() for found in INFERENCE.finditer(text)]


def test_nothing_is_inferred_from_questions_that_are_no_independent_draws(finished: Project) -> None:
    assert findings(finished.root) == []
    for arguments in PRINTED:
        done = finished.python("-m", "stages.cli", *arguments)
        assert not INFERENCE.search(done.stdout + done.stderr), arguments


def test_nothing_is_inferred_from_the_course() -> None:
    assert yaml.safe_load((ROOT / "data/course/dataset.yaml").read_bytes())["independent_draws"] is False
    assert findings(ROOT) == []


@pytest.fixture
def independent(damaged: Project) -> Project:
    """The finished project evaluated again, its questions being called independent draws."""
    damaged.edit(
        f"{SMALL}/dataset.yaml",
        "independent_draws: false\ngroup_by: document",
        "independent_draws: true\ngroup_by: null",
    )
    for stage in ("evaluate_holdout", "write_report"):
        assert not INFERENCE.search(damaged.run_stage(stage))
    return damaged


def test_independent_draws_add_intervals_tests_and_a_section(finished: Project, independent: Project) -> None:
    before, after = (dict(items_below(read(one, "artifacts/metrics.json"))) for one in (finished, independent))
    added = {name for name in after if ADDED.fullmatch(name)}
    leaves = {name: value for name, value in after.items() if name not in added and not isinstance(value, dict)}
    assert leaves == {name: value for name, value in before.items() if not isinstance(value, dict)}
    of = [name for name in before if re.fullmatch(r".*\.(gate|support|decision)\..*_of", name)]
    assert len(of) == 3 * 3 * 6 and added >= {f"{name[:-3]}_ci95" for name in of}
    assert added >= {"lexical.answers.correct_ci95", "lexical.answers.reasons.by_kind.missing.refused_ci95"}
    assert {"lexical.shift.answerable.p_holm", "comparisons.lexical_vs_hybrid.right.ci95"} <= added
    for name in of:
        rate, interval = before[name[:-3]], after[f"{name[:-3]}_ci95"]
        assert interval is rate is None or interval[0] <= rate <= interval[1]
    page = shown((independent.root / "artifacts/report/index.html").read_text(encoding="utf-8"))
    assert {"Wilson", "Holm", "bootstrap", "randomisation", "Two-sample"} <= set(re.findall(r"[\w-]+", page))


def test_grouped_questions_are_compared_whole_and_have_no_interval_each(damaged: Project) -> None:
    damaged.edit(f"{SMALL}/dataset.yaml", "independent_draws: false", "independent_draws: true")
    for stage in ("evaluate_holdout", "write_report"):
        damaged.run_stage(stage)
    figures = read(damaged, "artifacts/metrics.json")
    added = {name for name, _ in items_below(figures) if ADDED.fullmatch(name)}
    assert added and all(name.startswith("comparisons") for name in added)
    page = shown((damaged.root / "artifacts/report/index.html").read_text(encoding="utf-8"))
    assert "share a document are exchanged and drawn together" in page and "Wilson" not in page


def test_the_same_bytes_again(independent: Project) -> None:
    paths = ("artifacts/metrics.json", "artifacts/report/index.html")
    before = independent.bytes_below(*paths)
    for stage in ("evaluate_holdout", "write_report"):
        independent.run_stage(stage)
    assert independent.bytes_below(*paths) == before


def test_what_a_borrowed_threshold_costs_stands_in_the_metrics(finished: Project) -> None:
    metrics, systems = read(finished, "artifacts/metrics.json"), ("lexical", "neural", "hybrid")
    for system in systems:
        own = metrics[system]["gate"]["weighted_error"]
        assert metrics[system]["borrowed"].keys() == set(systems) - {system}
        for cost in metrics[system]["borrowed"].values():
            assert cost["weighted_error"] - own == cost["difference"]
        bar, asked = metrics[system]["threshold"], 50
        gap = (bar["dev_weighted_error"] - bar["holdout_weighted_error"]) / asked
        assert bar["optimism"] == pytest.approx(gap)


def test_another_grouping_is_refused_by_name(damaged: Project) -> None:
    card = f"{SMALL}/dataset.yaml"
    damaged.edit(card, "independent_draws: false\ngroup_by: document", "independent_draws: true\ngroup_by: author")
    assert "group_by: expected document or null, got 'author'" in damaged.run_stage("evaluate_holdout", status=1)
