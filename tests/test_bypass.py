"""Three ways in which DVC by itself lets a wrong threshold through, and what stops each."""

import json
import shutil

import pytest
import yaml

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
    """DVC passes over it; verify names it, and so does any stage that runs."""
    damaged.edit("dvc.yaml", "  write_report:\n", "  write_report:\n    frozen: true\n")
    with (damaged.root / "stages/report/page.py").open("ab") as stream:
        stream.write(b"\n")
    assert "Stage 'write_report' didn't change, skipping" in damaged.dvc("repro").stdout
    told = "BadInputError: dvc.yaml: write_report.frozen: not in this pipeline; remove it\n"
    assert damaged.python("-m", "stages.cli", "verify", status=1).stderr == told
    assert damaged.run_stage("build_index", status=1) == told


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


def froze_again(project: Project) -> float | None:
    """The threshold after dvc.lock forgot it: DVC asks its run cache first."""
    path = project.root / "dvc.lock"
    lock = yaml.safe_load(path.read_bytes())
    del lock["stages"]["freeze_threshold"]
    path.write_text(yaml.safe_dump(lock), encoding="utf-8")
    project.dvc("repro", "--quiet", "-s", "freeze_threshold")
    return threshold(project)


def test_poison_is_gone_only_with_the_run_cache(damaged: Project) -> None:
    """A forced run mends what is here, but leaves the poisoned entry as the newest."""
    right = threshold(damaged)
    poison(damaged)
    damaged.dvc("repro", "--quiet", "-f", "--no-run-cache", "-s", "freeze_threshold")
    assert threshold(damaged) == right
    assert froze_again(damaged) == POISON
    shutil.rmtree(damaged.root / ".dvc/cache/runs")
    damaged.git("checkout", "--quiet", "dvc.lock", "artifacts")
    damaged.dvc("checkout", "--quiet")
    assert damaged.git("status", "--porcelain") == ""
    damaged.python("-m", "stages.cli", "verify")
    assert froze_again(damaged) == right
