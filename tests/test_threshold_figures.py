"""What is said about a threshold beside it, on the small dataset: selective figures, cost frontier, flat, spread."""

import csv
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from stages.calibration.spread import draws, flat_optimum, spread
from stages.files import read_labels
from stages.measures.evaluate import Judged
from stages.measures.selective import selective_metrics
from stages.measures.stability import RESAMPLES, SEED
from stages.measures.units import units_of
from stages.params import SYSTEMS
from tests.project import SMALL, Project
from tests.test_pipeline import items_below, read, rows

pytestmark = pytest.mark.pipeline

WEIGHT = Fraction(2)
RESAMPLED = ("spread", "quantile", "resample", "bootstrap", "interval", "percentile")


def judged(project: Project, system: str) -> list[Any]:
    return msgspec.convert(rows(project, f"artifacts/judged/{system}.jsonl"), list[Judged])


def asked(project: Project, system: str) -> tuple[list[float | None], list[bool]]:
    """Signals and labels of the holdout, apart from everything in stages/measures."""
    labels = {row["id"]: row for row in rows(project, f"{SMALL}/evaluation-only/holdout.jsonl")}
    records = read(project, f"artifacts/holdout/{system}/answers.json")["scored"]["records"]
    return [one["signal"] for one in records], [labels[one["id"]]["category"] != "refusal" for one in records]


def assert_selective(found: dict[str, Any], signals: Sequence[float | None], known: Sequence[bool]) -> None:
    assert found == selective_metrics(signals, known)
    scored = [(signal, good) for signal, good in zip(signals, known, strict=True) if signal is not None]
    lowest = min(signal for signal, _ in scored) - 1
    ranked = [lowest if signal is None else signal for signal in signals]
    assert found["auroc"] == pytest.approx(roc_auc_score(known, ranked), rel=1e-12)
    gained = average_precision_score([good for _, good in scored], [signal for signal, _ in scored])
    reached = sum(good for _, good in scored) / sum(known)
    assert found["average_precision"] == pytest.approx(gained * reached, rel=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_selective_figures_are_those_of_signals_and_labels(finished: Project, system: str) -> None:
    dev, holdout = (read(finished, f"artifacts/{name}.json")[system] for name in ("dev_metrics", "metrics"))
    ones = judged(finished, system)
    assert_selective(dev["selective"], [one.signal for one in ones], [one.answerable for one in ones])
    assert_selective(holdout["selective"], *asked(finished, system))


def belongs(row: dict[str, str], weight: float) -> bool:
    """True when the row is chosen at this weight."""
    low, high = float(row["weight_from"]), float(row["weight_to"] or "inf")
    return low < weight < high or (
        weight in (low, high) and row["from_holds" if weight == low else "to_holds"] == "True"
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_frontier_holds_the_frozen_threshold_at_the_frozen_weight(finished: Project, system: str) -> None:
    frozen = read(finished, f"artifacts/threshold/{system}.json")
    bars = {f".{kind}": bar for kind, bar in (frozen["by_kind"] or {}).items()} or {"": frozen["threshold"]}
    assert bool(frozen["by_kind"]) == (system == "neural")
    fp = fn = 0
    for suffix, bar in bars.items():
        path = finished.root / f"artifacts/sweep/{system}{suffix}.frontier.csv"
        (chosen,) = [row for row in csv.DictReader(path.open(encoding="utf-8")) if belongs(row, frozen["fp_weight"])]
        assert chosen["threshold"] == ("" if bar is None else repr(bar))
        assert chosen["refuse_all"] == str(bar is None)
        fp, fn = fp + int(chosen["fp"]), fn + int(chosen["fn"])
    assert (fp, fn) == (frozen["dev"]["fp"], frozen["dev"]["fn"])


def test_the_flat_optimum_stands_beside_the_threshold(finished: Project) -> None:
    figures = read(finished, "artifacts/dev_metrics.json")
    ones = judged(finished, "lexical")
    flat = flat_optimum([one.signal for one in ones], [one.answerable for one in ones], WEIGHT)
    assert figures["lexical"]["threshold"]["flat"] == {"any": {**flat._asdict(), "width": flat.width}}
    assert figures["neural"]["threshold"]["flat"].keys() == {"image", "text"}


def test_questions_that_hang_together_have_no_spread_anywhere(finished: Project) -> None:
    for name in ("dev_metrics", "metrics"):
        keys = " ".join(path for path, _ in items_below(read(finished, f"artifacts/{name}.json")))
        assert not [word for word in RESAMPLED if word in keys]
    page = (finished.root / "artifacts/report/index.html").read_text(encoding="utf-8").lower()
    assert not [word for word in RESAMPLED if word in page]


def test_independent_draws_have_a_spread_over_whole_documents(damaged: Project) -> None:
    damaged.edit(f"{SMALL}/dataset.yaml", "independent_draws: false", "independent_draws: true")
    damaged.run_stage("freeze_threshold")
    found = read(damaged, "artifacts/dev_metrics.json")["lexical"]["threshold"]["spread"]
    unit_of = units_of(read_labels(damaged.root / SMALL / "evaluation-only/dev.jsonl"), "document")
    ones = judged(damaged, "lexical")
    units = [unit_of[one.id] for one in ones]
    assert len(set(units)) < len(units)
    expected = spread(ones, [one.answerable for one in ones], WEIGHT, False, draws(units, RESAMPLES, SEED))
    bar = expected.thresholds["any"]
    assert found["thresholds"]["any"]["refuse_all"] == bar.refuse_all
    assert tuple(found["thresholds"]["any"]["quantiles"].values()) == bar.quantiles
    assert tuple(found["weighted_error"].values()) == tuple(map(float, expected.weighted_error))
    assert (found["resamples"], found["units"]) == (RESAMPLES, len(set(units)))
    assert json.dumps(read(damaged, "artifacts/metrics.json")).count("spread") == 0
