"""A threshold that does not belong to what it meets is refused by name, whoever runs the stage, DVC or not."""

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stages.calibration.binding import Threshold, sealed
from stages.files import read_json, write_json
from tests.project import LEDGER, SMALL, Project

pytestmark = pytest.mark.pipeline

ANSWER, EVALUATE = "answer_holdout", "evaluate_holdout"
THRESHOLD = "artifacts/threshold/lexical.json"
RECORDS = "artifacts/dev/lexical.json"
CORPUS = f"{SMALL}/corpus"
REMEDY = re.compile(r"run `(dvc repro -f --no-run-cache \w+)`")

Damage = Callable[[Project], object]


def append(path: str, data: bytes) -> Damage:
    def damage(project: Project) -> None:
        with (project.root / path).open("ab") as stream:
            stream.write(data)

    return damage


def replace(path: str, old: str, new: str) -> Damage:
    return lambda project: project.edit(path, old, new)


def param(section: str, name: str, value: float) -> Damage:
    def damage(project: Project) -> None:
        path = project.root / "params.yaml"
        params = yaml.safe_load(path.read_bytes())
        assert params[section][name] != value
        params[section][name] = value
        path.write_text(yaml.safe_dump(params), encoding="utf-8")

    return damage


def remove(path: str) -> Damage:
    return lambda project: (project.root / path).unlink()


def frozen(**changes: Any) -> Damage:
    """Edit the threshold by hand and leave its seal."""

    def damage(project: Project) -> None:
        path = project.root / THRESHOLD
        path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")

    return damage


def resealed(**changes: Any) -> Damage:
    """Edit the threshold by hand and make the seal fit."""

    def damage(project: Project) -> None:
        frozen(**changes)(project)
        write_json(project.root / THRESHOLD, sealed(read_json(project.root / THRESHOLD, Threshold)))

    return damage


def froze_with_weight_5(project: Project) -> None:
    """Leave the threshold of a run with another weight."""
    param("calibrate", "fp_weight", 5)(project)
    project.run_stage("freeze_threshold")
    param("calibrate", "fp_weight", 2)(project)


DEV_LABELS, DEV_SET = f"{SMALL}/evaluation-only/dev.jsonl", "binding.dev_set"
STALE: dict[str, tuple[Damage, str]] = {
    "document edited": (append(f"{CORPUS}/docs/catalogue.md", b"\n"), "binding.snapshot"),
    "document removed": (remove(f"{CORPUS}/docs/catalogue.md"), "binding.snapshot"),
    "image edited": (append(f"{CORPUS}/images/0001.png", b"\n"), "binding.snapshot"),
    "index edited": (append("artifacts/index/index.json", b"\n"), "binding.index"),
    "retrieval param": (param("retrieval", "bm25_b", 0.123), "binding.scoring"),
    "index param": (param("index", "chunk_tokens", 123), "binding.scoring"),
    "source that scores": (append("stages/answering/signal.py", b"\n"), "binding.scoring"),
    "vocabulary": (append("stages/corpus/vocabulary.yaml", b"\n"), "binding.scoring"),
    "weight": (param("calibrate", "fp_weight", 2.1), "fp_weight"),
    "threshold edited": (frozen(threshold=0.1), "seal"),
    "refuse all edited": (frozen(threshold=None, refuse_all=True), "seal"),
    "weight edited, resealed": (resealed(fp_weight=1.0), "fp_weight"),
    "system edited, resealed": (resealed(system="neural"), "system"),
    "rule edited, resealed": (resealed(rule="least fp"), "rule"),
    "dev records": (append(RECORDS, b"\n"), "binding.dev_records"),
    "threshold of another weight": (froze_with_weight_5, "fp_weight"),
}
STALE_IN_ONE: dict[str, tuple[str, Damage, str]] = {
    "dev set": (ANSWER, replace("artifacts/sweep/lexical.json", '"dev_set": "', '"dev_set": "0'), DEV_SET),
    "dev label": (EVALUATE, replace(DEV_LABELS, '"d33", "category": "refusal"', '"d33", "category": "field"'), DEV_SET),
    "dev question": (EVALUATE, append(f"{SMALL}/queries/dev.jsonl", b"\n"), DEV_SET),
    "threshold edited, resealed": (EVALUATE, resealed(threshold=0.1), "threshold"),
    "refuse all, resealed": (EVALUATE, resealed(threshold=None, refuse_all=True), "refuse_all"),
    "holdout question": (EVALUATE, append(f"{SMALL}/queries/holdout.jsonl", b"\n"), "answers.questions"),
}


def assert_stale(project: Project, stage: str, field: str) -> str:
    """The stage refuses: status 3, field with frozen and found value, a command, no traceback. Returns the command."""
    before = project.bytes_below("artifacts/holdout", "artifacts/metrics.json", LEDGER)
    printed = project.run_stage(stage, status=3)
    assert printed.startswith("StaleThresholdError: lexical: ") and "Traceback" not in printed
    line = re.search(rf"^  {re.escape(field)}: frozen (.+), found (.+)$", printed, re.MULTILINE)
    assert line and line[1] != line[2], printed
    assert project.bytes_below("artifacts/holdout", "artifacts/metrics.json", LEDGER) == before
    remedy = REMEDY.search(printed)
    assert remedy, printed
    return remedy[1]


@pytest.mark.parametrize("stage", [ANSWER, EVALUATE])
@pytest.mark.parametrize("name", STALE)
def test_both_stages_refuse(name: str, stage: str, damaged: Project) -> None:
    damage, field = STALE[name]
    damage(damaged)
    assert_stale(damaged, stage, field)


@pytest.mark.parametrize("name", STALE_IN_ONE)
def test_one_stage_refuses(name: str, damaged: Project) -> None:
    stage, damage, field = STALE_IN_ONE[name]
    damage(damaged)
    assert_stale(damaged, stage, field)


def test_every_mismatch_is_listed(damaged: Project) -> None:
    append(f"{CORPUS}/images/0001.png", b"\n")(damaged)
    append(RECORDS, b"\n")(damaged)
    param("calibrate", "fp_weight", 9)(damaged)
    printed = damaged.run_stage(ANSWER, status=3)
    assert re.findall(r"^  (\S+): frozen", printed, re.MULTILINE) == [
        "fp_weight",
        "binding.snapshot",
        "binding.dev_records",
    ]


def test_figures_edited_and_resealed_are_refused(damaged: Project) -> None:
    figures = json.loads((damaged.root / THRESHOLD).read_bytes())["dev"]
    resealed(dev=figures | {"weighted_error": 1.0})(damaged)
    damaged.run_stage(ANSWER)
    assert_stale(damaged, EVALUATE, "dev.weighted_error")


def test_decisions_edited_by_hand_are_refused(damaged: Project) -> None:
    """A decision follows from its record and the frozen threshold."""
    path = damaged.root / "artifacts/holdout/lexical/answers.json"
    answers = json.loads(path.read_bytes())
    answers["decisions"][0] = {"threshold": 0.0, "gate": True, "status": "answered", "reason": None}
    path.write_text(json.dumps(answers), encoding="utf-8")
    assert "StaleThresholdError" in damaged.run_stage(EVALUATE, status=3)


def test_answers_of_another_threshold_are_refused(damaged: Project) -> None:
    answers = "artifacts/holdout/lexical/answers.json"
    seal = read_json(damaged.root / THRESHOLD, Threshold).seal
    damaged.edit(answers, seal, "0" * 64)
    assert_stale(damaged, EVALUATE, "answers.threshold")


def test_ask_refuses_a_stale_threshold(damaged: Project) -> None:
    append(f"{CORPUS}/images/0001.png", b"\n")(damaged)
    printed = damaged.python("-m", "stages.cli", "ask", "small purple cross", status=3).stderr
    assert "binding.snapshot: frozen" in printed and REMEDY.search(printed)


@pytest.mark.parametrize("written", ["2.0", "2.00"])
def test_the_same_weight_written_otherwise_is_no_change(written: str, damaged: Project) -> None:
    names = [*damaged.stage(ANSWER).outs, *damaged.stage(EVALUATE).outs, LEDGER]
    before = damaged.bytes_below(*names)
    damaged.edit("params.yaml", "fp_weight: 2\n", f"fp_weight: {written}\n")
    damaged.run_stage(ANSWER)
    damaged.run_stage(EVALUATE)
    assert damaged.bytes_below(*names) == before


@pytest.mark.parametrize(
    ("damage", "stage", "field"),
    [
        (param("calibrate", "fp_weight", 5), ANSWER, "fp_weight"),
        (append(f"{CORPUS}/docs/catalogue.md", b"\n## New\n"), ANSWER, "binding.snapshot"),
    ],
)
def test_the_command_that_the_message_names_mends_it(damage: Damage, stage: str, field: str, damaged: Project) -> None:
    damage(damaged)
    program, *arguments = shlex.split(assert_stale(damaged, stage, field))
    assert program == "dvc"
    damaged.dvc(*arguments)
    damaged.run_stage(stage)
