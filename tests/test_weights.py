"""Other weights: the frontier against a slow search, the figures against the stage that freezes, no holdout."""

import json
import shutil
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages import cli
from stages.calibration.threshold import Threshold
from stages.calibration.weights import End, frontier
from stages.files import read_json, read_jsonl
from stages.measures.evaluate import Judged
from stages.measures.weights import compare, frontier_text
from stages.records import TOP_KINDS, TopKind
from tests.project import SMALL, Project
from tests.test_bykind import ONES, One
from tests.test_sweep import slow_choice, slow_sweep

N = 8
NEAR = Fraction(1, 1000)
CROSSINGS = sorted({Fraction(fn, fp) for fn in range(1, N + 1) for fp in range(1, N + 1)})
"""All weights at which two boundaries over N questions can cost the same; they are farther apart than NEAR."""
SYSTEMS = ("lexical", "neural", "hybrid")


def slow(asked: list[One], weight: Fraction, by_kind: bool) -> list[float | None]:
    """The thresholds that a weight chooses, one or one a kind, by the slow twins."""
    parts = [[one for one in asked if (one.top or "text") == kind] for kind in TOP_KINDS] if by_kind else [asked]
    swept = (slow_sweep([one.signal for one in part], [one.answerable for one in part], weight) for part in parts)
    return [slow_choice(rows).threshold for rows in swept]


def inside(end: End | None, weight: Fraction, side: int) -> bool:
    """True for a weight that lies on this side of an end of the interval."""
    return end is None or (weight - end.weight) * side > 0 or (end.holds and weight == end.weight)


@given(st.lists(ONES, max_size=N), st.sampled_from([*CROSSINGS, Fraction("0.01"), Fraction(100)]), st.booleans())
def test_the_choice_stays_within_the_frontier_and_nowhere_else(asked: list[One], at: Fraction, by_kind: bool) -> None:
    below, above = frontier(asked, [one.answerable for one in asked], at, by_kind)
    frozen = slow(asked, at, by_kind)
    for weight in (crossing + step for crossing in CROSSINGS for step in (-NEAR, 0, NEAR)):
        stays = inside(below, weight, 1) and inside(above, weight, -1)
        assert stays == (slow(asked, weight, by_kind) == frozen), weight
    for end, step in ((below, -NEAR), (above, NEAR)):
        if end:
            assert end.weight > 0
            assert [row.threshold for row in end.beyond.values()] == slow(asked, end.weight + step, by_kind)


def ones(text: str, top: TopKind) -> list[One]:
    """Questions from `0.9+ 0.5-`: signals, + for an answerable one."""
    return [One(None if word[:-1] == "none" else float(word[:-1]), top, word[-1] == "+") for word in text.split()]


HOLDS = "0.9- 0.9+ 0.9+ 0.8+ 0.8+ 0.8+ 0.7+ 0.7- 0.7- 0.7-"
GIVES_WAY = "0.9+ 0.7+ 0.7- 0.7- 0.7- none+ none+"


@pytest.mark.parametrize(
    ("image", "text", "stays"),
    [
        ("0.9+", "", "at every weight"),
        ("0.9+ 0.5+ 0.5-", "", "while 1 < weight; it first moves to 0.5000 below"),
        (HOLDS, "", "while 0.3333 (1/3) <= weight <= 5; it first moves to 0.7000 below, to refuse all above"),
        (GIVES_WAY, "", "while 0.3333 (1/3) < weight; it first moves to 0.7000 below"),
        (
            *(HOLDS, GIVES_WAY),
            "while 0.3333 (1/3) < weight <= 5; "
            "it first moves to image 0.7000 text 0.7000 below, to image none text 0.9000 above",
        ),
    ],
)
def test_the_frontier_says_whether_its_ends_belong_to_it(image: str, text: str, stays: str) -> None:
    asked = [*ones(image, "image"), *ones(text, "text")]
    found = frontier(asked, [one.answerable for one in asked], Fraction(2), by_kind=bool(text))
    assert frontier_text(found) == f"the frozen threshold stays {stays}"


@pytest.mark.parametrize("weight", ["", "two", "0", "-1", "nan", "inf", "1e10", "1e-400"])
def test_an_unusable_weight_is_shown(weight: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["weights", "1", weight])
    assert caught.value.code == 2
    assert f"expected a number above 0 and at most 1000000000, got {weight!r}" in capsys.readouterr().err


def weights(project: Project, *arguments: str, status: int = 0) -> str:
    done = project.python("-m", "stages.cli", "weights", *arguments, status=status)
    return done.stderr if status else done.stdout


def frozen_at(project: Project, weight: int) -> Any:
    """Freeze at another weight with the stages; returns the development metrics."""
    project.edit("params.yaml", "fp_weight: 2\n", f"fp_weight: {weight}\n")
    project.run_stage("sweep_thresholds")
    project.run_stage("freeze_threshold")
    return json.loads((project.root / "artifacts/dev_metrics.json").read_bytes())


def answers(judged: list[Judged], threshold: Threshold) -> set[str]:
    """Ids of the questions that a threshold answers, counted apart from everything in stages/calibration."""
    bars = threshold.by_kind or dict.fromkeys(TOP_KINDS, threshold.threshold)
    met = ((one, one.signal, bars[one.top or "text"]) for one in judged)
    return {
        one.id for one, signal, bar in met if one.support and signal is not None and bar is not None and signal >= bar
    }


@pytest.mark.pipeline
@pytest.mark.parametrize("weight", [1, 5])
def test_figures_are_those_that_freezing_at_the_weight_gives(weight: int, finished: Project, damaged: Project) -> None:
    metrics = frozen_at(damaged, weight)
    for system in SYSTEMS:
        frozen, there = (
            read_json(project.root / f"artifacts/threshold/{system}.json", Threshold) for project in (finished, damaged)
        )
        judged = read_jsonl(finished.root / f"artifacts/judged/{system}.jsonl", Judged)
        one = compare(judged, frozen, Fraction(weight))
        assert one.threshold == there
        assert (one.gate, one.decision) == (metrics[system]["gate"], metrics[system]["decision"])
        before, after = answers(judged, frozen), answers(judged, there)
        assert (set(one.refused), set(one.answered)) == (before - after, after - before)
    gate, decision = metrics["lexical"]["gate"], metrics["lexical"]["decision"]
    printed = weights(finished, str(weight), "--system", "lexical")
    shown = next(line.split() for line in printed.splitlines() if line.startswith(f"{weight} "))
    assert shown[1] == f"{metrics['lexical']['threshold']['value']:.4f}"
    assert shown[2:6] == [str(gate["fp"]), str(gate["fn"]), f"{gate['answer_f1']:.4f}", f"{gate['refusal_f1']:.4f}"]
    assert shown[6:8] == [str(decision["fp"]), str(decision["fn"])]


@pytest.mark.pipeline
def test_weights_need_nothing_of_the_holdout_and_no_labels(finished: Project, damaged: Project) -> None:
    for name in ("training", "evaluation-only"):
        shutil.rmtree(damaged.root / SMALL / name)
    (damaged.root / SMALL / "queries/holdout.jsonl").unlink()
    for name in ("holdout", "report"):
        shutil.rmtree(damaged.root / "artifacts" / name)
    for name in ("metrics.json", "seen.jsonl"):
        (damaged.root / "artifacts" / name).unlink()
    printed = weights(damaged, "5", "2.0", "1", "2", "5.0")
    assert printed == weights(finished, "1", "5")
    of_systems = printed.split("\n\n")
    assert [text.partition(",")[0] for text in of_systems] == list(SYSTEMS)
    for text in of_systems:
        assert [line.split()[0] for line in text.splitlines()[2:5]] == ["1", "2*", "5"]


@pytest.mark.pipeline
def test_weights_are_not_compared_on_what_is_stale(damaged: Project) -> None:
    assert "oracle: no system in params.yaml" in weights(damaged, "5", "--system", "oracle", status=1)
    judged = damaged.root / "artifacts/judged/lexical.jsonl"
    judged.write_bytes(judged.read_bytes().replace(b'"support":false', b'"support":true'))
    printed = weights(damaged, "5", status=3)
    assert "artifacts/judged/lexical.jsonl: recorded sha256" in printed and "freeze_threshold`" in printed
    damaged.edit("params.yaml", "fp_weight: 2\n", "fp_weight: 5\n")
    assert "fp_weight: frozen 2.0, found 5.0" in weights(damaged, "5", status=3)
