"""Three ways in which DVC by itself lets a wrong threshold through, and what stops each."""

import json

import pytest

from stages.calibration.threshold import Threshold, sealed
from stages.files import read_json, write_json
from tests.project import Project

pytestmark = pytest.mark.pipeline

THRESHOLD = "artifacts/threshold/lexical.json"
POISON = 0.01
CLEAN = "Data and pipelines are up to date.\n"
REFUSED = 255
"""What DVC makes of a stage's exit status 3."""


BROKEN = "  the chain breaks first at freeze_threshold:\n"


def assert_refused(project: Project, *fields: str) -> None:
    printed = project.python("-m", "stages.cli", "verify", status=3).stderr
    assert BROKEN in printed
    assert all(f"  {field}: frozen " in printed for field in fields), printed


def poison(project: Project) -> None:
    """Write another threshold, make its seal fit, and tell DVC to accept it."""
    path = project.root / THRESHOLD
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"threshold": POISON}), encoding="utf-8")
    write_json(path, sealed(read_json(path, Threshold)))
    project.dvc("commit", "--force")
    assert project.dvc("status").stdout == CLEAN


def threshold(project: Project) -> float | None:
    return read_json(project.root / THRESHOLD, Threshold).threshold


def test_a_frozen_stage(damaged: Project) -> None:
    """DVC passes over it; the next stage refuses the threshold that it left."""
    damaged.edit("dvc.yaml", "  freeze_threshold:\n", "  freeze_threshold:\n    frozen: true\n")
    damaged.edit("params.yaml", "fp_weight: 2\n", "fp_weight: 5\n")
    done = damaged.dvc("repro", status=REFUSED)
    assert "Stage 'freeze_threshold' didn't change, skipping" in done.stdout
    assert "  fp_weight: frozen 2.0, found 5.0\n" in done.stderr
    assert_refused(damaged, "fp_weight")


def test_a_hand_edit_that_dvc_was_told_to_accept(damaged: Project) -> None:
    """DVC finds nothing to do; the chain and the threshold swept again say otherwise."""
    right = threshold(damaged)
    poison(damaged)
    assert "Running stage" not in damaged.dvc("repro").stdout
    assert_refused(damaged, "threshold")
    damaged.run_stage("evaluate_holdout", status=3)
    damaged.dvc("repro", "-f", "--no-run-cache")
    assert threshold(damaged) == right
    damaged.python("-m", "stages.cli", "verify")


def test_a_poisoned_run_cache(damaged: Project) -> None:
    """The accepted edit comes back from the run cache in a project that is as it was committed."""
    right = threshold(damaged)
    poison(damaged)
    damaged.git("checkout", "--quiet", "--", THRESHOLD)
    (damaged.root / "dvc.lock").unlink()
    assert "'freeze_threshold' is cached - skipping run" in damaged.dvc("repro", "freeze_threshold").stdout
    assert threshold(damaged) == POISON != right
    assert_refused(damaged, "threshold")
