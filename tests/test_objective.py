"""What a threshold is chosen for: rules that name all that decides, and certified objectives through the pipeline."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stages.calibration.bykind import best_rows
from stages.calibration.certificate import Certified, max_false_accept, max_selective_risk, percent
from stages.calibration.objective import choose_rows, rule
from stages.calibration.threshold import Threshold
from stages.files import read_json, read_jsonl
from stages.measures.evaluate import Judged
from stages.params import OBJECTIVES, CalibrateParams, Objective
from tests.project import SMALL, Project
from tests.test_bykind import ONES, One

PARAMS = CalibrateParams(fp_weight=2, by_kind=[])
CHANGES: dict[str, dict[str, Any]] = {"alpha": {"alpha": 0.051}, "delta": {"delta": 0.2}, "from": {"min_answers": 1}}
DECIDES = {"weighted_error": 0, "max_false_accept": 2, "max_selective_risk": 3}
SYSTEMS = ("lexical", "neural", "hybrid")


def test_a_rule_names_the_params_that_decide_and_no_other() -> None:
    for objective in OBJECTIVES:
        one = replace(PARAMS, objective=objective)
        rules = {rule(replace(one, **change)) for change in CHANGES.values()} | {rule(one)}
        assert len(rules) == 1 + DECIDES[objective]
    assert len({rule(replace(PARAMS, objective=objective)) for objective in OBJECTIVES}) == len(OBJECTIVES)


def test_the_confidence_is_written_with_all_its_decimals() -> None:
    assert [percent(delta) for delta in (0.1, 0.05, 0.001, 1e-9, 0.5)] == [
        *("90 %", "95 %", "99.9 %", "99.9999999 %", "50 %")
    ]


@given(st.lists(ONES, max_size=30), st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from([0.1, 0.5]), st.integers(1, 9))
def test_the_choice_is_that_of_its_procedure(asked: list[One], alpha: float, delta: float, at: int) -> None:
    signals, known = [one.signal for one in asked], [one.answerable for one in asked]
    goal = replace(PARAMS, alpha=alpha, delta=delta, min_answers=at)
    for by_kind in (True, False):
        assert choose_rows(asked, known, goal, by_kind) == (best_rows(asked, known, Fraction(2), by_kind), None)
    found_by: dict[Objective, Certified] = {
        "max_false_accept": max_false_accept(signals, known, Fraction(2), alpha, delta),
        "max_selective_risk": max_selective_risk(signals, known, Fraction(2), alpha, delta, at),
    }
    for objective, found in found_by.items():
        rows, certificate = choose_rows(asked, known, replace(goal, objective=objective), by_kind=False)
        assert rows == {"any": found.row} and certificate is not None
        assert (certificate.bound is None) == found.row.refuse_all
        assert (certificate.errors, certificate.trials, certificate.why_not) == (*found[1:3], found.why_not)
        assert certificate.sentence.startswith("not certifiable: " if found.why_not else "certified: ")


def certify(project: Project, **goal: object) -> None:
    path = project.root / "params.yaml"
    params = yaml.safe_load(path.read_bytes())
    params["calibrate"] |= {"by_kind": [], **goal}
    path.write_text(yaml.safe_dump(params), encoding="utf-8")


def declare_independent(project: Project) -> None:
    project.edit(
        f"{SMALL}/dataset.yaml",
        "independent_draws: false\ngroup_by: document",
        "independent_draws: true\ngroup_by: null",
    )


@pytest.mark.pipeline
def test_questions_that_are_no_independent_draws_carry_no_certificate(damaged: Project) -> None:
    certify(damaged, objective="max_false_accept")
    before = damaged.bytes_below("artifacts/threshold")
    printed = damaged.run_stage("freeze_threshold", status=1)
    assert printed.startswith(f"BadInputError: {SMALL}/dataset.yaml: independent_draws is false")
    assert "set calibrate.objective to weighted_error" in printed
    assert damaged.bytes_below("artifacts/threshold") == before


@pytest.mark.pipeline
def test_nothing_certifiable_refuses_everything_up_to_the_report(damaged: Project) -> None:
    declare_independent(damaged)
    certify(damaged, objective="max_false_accept")
    why = "with 0 false accepts, alpha 0.05 at 90 % needs at least 45 unanswerable questions; you have 18"
    printed = damaged.dvc("repro").stdout
    for system in SYSTEMS:
        assert f"{system}: not certifiable: {why}\n" in printed
        frozen = read_json(damaged.root / f"artifacts/threshold/{system}.json", Threshold)
        assert (frozen.threshold, frozen.refuse_all) == (None, True)
        answers = json.loads((damaged.root / f"artifacts/holdout/{system}/answers.json").read_bytes())
        assert {one["status"] for one in answers["decisions"]} == {"refused"}
    assert (damaged.root / "artifacts/report/index.html").read_text(encoding="utf-8").count(why) == len(SYSTEMS)
    damaged.python("-m", "stages.cli", "verify")
    damaged.edit(f"{SMALL}/dataset.yaml", "independent_draws: true", "independent_draws: false")
    assert f"{SMALL}/dataset.yaml: recorded sha256" in damaged.python("-m", "stages.cli", "verify", status=3).stderr


@pytest.mark.pipeline
@pytest.mark.parametrize("objective", OBJECTIVES[1:])
def test_a_certified_threshold_is_frozen_used_and_verified(objective: Objective, damaged: Project) -> None:
    declare_independent(damaged)
    certify(damaged, objective=objective, alpha=0.45, delta=0.4, min_answers=5)
    damaged.dvc("repro", "--quiet")
    for system in SYSTEMS:
        frozen = read_json(damaged.root / f"artifacts/threshold/{system}.json", Threshold)
        judged = read_jsonl(damaged.root / f"artifacts/judged/{system}.jsonl", Judged)
        goal = replace(PARAMS, objective=objective, alpha=0.45, delta=0.4, min_answers=5)
        rows, certificate = choose_rows(judged, [one.answerable for one in judged], goal, by_kind=False)
        assert frozen.threshold == rows["any"].threshold and frozen.certificate == certificate
    lexical = read_json(damaged.root / "artifacts/threshold/lexical.json", Threshold)
    assert lexical.threshold is not None and lexical.certificate is not None
    page = (damaged.root / "artifacts/report/index.html").read_text(encoding="utf-8")
    assert lexical.certificate.sentence[1:] in page
    damaged.python("-m", "stages.cli", "verify")
    printed = damaged.python("-m", "stages.cli", "weights", "1", "5", "--system", "lexical").stdout
    assert " ".join(printed.split()) == f"lexical: the weight decides nothing under this rule: {lexical.rule}"
