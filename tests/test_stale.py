"""A threshold that does not belong to what it meets is refused by name, whoever runs the stage, DVC or not."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stages.calibration.threshold import Threshold, sealed
from stages.files import read_json, write_json
from tests.project import LEDGER, ROOT, SMALL, Project

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


def param(section: str, name: str, value: object) -> Damage:
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


def certifying(objective: str) -> Damage:
    """Choose a certified objective, with all that it needs of params.yaml and of dataset.yaml."""

    def damage(project: Project) -> None:
        project.edit(
            f"{SMALL}/dataset.yaml",
            "independent_draws: false\ngroup_by: document",
            "independent_draws: true\ngroup_by: null",
        )
        param("calibrate", "by_kind", [])(project)
        param("calibrate", "objective", objective)(project)

    return damage


def froze_certified(objective: str, name: str, value: object) -> Damage:
    """Freeze under a certified objective, then change one of its params."""

    def damage(project: Project) -> None:
        certifying(objective)(project)
        project.run_stage("freeze_threshold")
        param("calibrate", name, value)(project)

    return damage


def froze_on_another_branch(project: Project) -> None:
    """Bring the thresholds of a branch with another reranked depth, and nothing else of it."""
    project.git("checkout", "--quiet", "-b", "other")
    param("retrieval", "top_k", 3)(project)
    for stage in ("score_dev", "sweep_thresholds", "freeze_threshold"):
        project.run_stage(stage)
    project.git("commit", "--quiet", "--all", "--message=other")
    project.git("checkout", "--quiet", "main")
    project.git("checkout", "--quiet", "other", "--", "artifacts/threshold")


def write(path: str, data: bytes) -> Damage:
    return lambda project: (project.root / path).write_bytes(data)


def rename(old: str, new: str) -> Damage:
    return lambda project: (project.root / old).rename(project.root / new)


def copied_from(system: str) -> Damage:
    return lambda project: shutil.copyfile(
        project.root / f"artifacts/threshold/{system}.json", project.root / THRESHOLD
    )


DEV_LABELS, DEV_SET = f"{SMALL}/evaluation-only/dev.jsonl", "binding.dev_set"
CATALOGUE, EMBEDDING = f"{CORPUS}/docs/catalogue.md", "artifacts/vectors/vectors.json"
CERTIFICATE = {
    **{"objective": "max_false_accept", "alpha": 0.05, "delta": 0.1},
    **{"bound": 0.04, "errors": 0, "trials": 99, "why_not": None},
}
OF_ANOTHER_DATASET = write(THRESHOLD, (ROOT / THRESHOLD).read_bytes())
STALE: dict[str, tuple[Damage, str]] = {
    "document edited": (append(CATALOGUE, b"\n"), "lexical binding.snapshot"),
    "document removed": (remove(CATALOGUE), "lexical binding.snapshot"),
    "document added": (write(f"{CORPUS}/docs/new.md", b"# New\n"), "lexical binding.snapshot"),
    "document renamed": (rename(CATALOGUE, f"{CORPUS}/docs/list.md"), "lexical binding.snapshot"),
    "image edited": (append(f"{CORPUS}/images/0001.png", b"\n"), "neural binding.snapshot"),
    "index edited": (append("artifacts/index/index.json", b"\n"), "lexical binding.index"),
    "checkpoint": (append("artifacts/encoder/checkpoint.npz", b"\n"), "neural binding.checkpoint"),
    "dimension of the vectors": (
        replace(EMBEDDING, '"dimension": 512', '"dimension": 511'),
        "hybrid binding.dimension",
    ),
    "encoder's name": (replace(EMBEDDING, '"caption-encoder"', '"clip"'), "neural binding.model"),
    "dimension param": (param("encoder", "dimension", 256), "neural binding.scoring"),
    "retrieval param": (param("retrieval", "bm25_b", 0.123), "lexical binding.scoring"),
    "chunking param": (param("index", "chunk_tokens", 123), "lexical binding.scoring"),
    "neighbours param": (param("neighbours", "ef_search", 401), "hybrid binding.scoring"),
    "source that scores": (append("stages/answering/signal.py", b"\n"), "lexical binding.scoring"),
    "vocabulary": (append("stages/corpus/vocabulary.yaml", b"\n"), "lexical binding.scoring"),
    "weight": (param("calibrate", "fp_weight", 2.1), "lexical fp_weight"),
    "objective": (certifying("max_false_accept"), "lexical rule"),
    "alpha": (froze_certified("max_false_accept", "alpha", 0.1), "lexical rule"),
    "delta": (froze_certified("max_false_accept", "delta", 0.05), "hybrid rule"),
    "min_answers": (froze_certified("max_selective_risk", "min_answers", 99), "neural rule"),
    "certificate edited": (frozen(certificate=CERTIFICATE), "lexical seal"),
    "threshold edited": (frozen(threshold=0.1), "lexical seal"),
    "refuse all edited": (frozen(threshold=None, refuse_all=True), "lexical seal"),
    "weight edited, resealed": (resealed(fp_weight=1.0), "lexical fp_weight"),
    "rule edited, resealed": (resealed(rule="least fp"), "lexical rule"),
    "dev records": (append(RECORDS, b"\n"), "lexical binding.dev_records"),
    "threshold of another weight": (froze_with_weight_5, "lexical fp_weight"),
    "threshold of another system": (copied_from("neural"), "lexical system"),
    "threshold of another branch": (froze_on_another_branch, "hybrid binding.scoring"),
    "threshold of another dataset": (OF_ANOTHER_DATASET, "lexical binding.snapshot"),
}
STALE_FOR_LABELS: dict[str, tuple[Damage, str]] = {
    "dev label": (replace(DEV_LABELS, '"d33", "category": "refusal"', '"d33", "category": "field"'), DEV_SET),
    "dev question": (append(f"{SMALL}/queries/dev.jsonl", b"\n"), DEV_SET),
    "threshold edited, resealed": (resealed(threshold=0.1), "threshold"),
    "refuse all, resealed": (resealed(threshold=None, refuse_all=True), "refuse_all"),
    "certificate, resealed": (resealed(certificate=CERTIFICATE), "certificate"),
    "holdout question": (append(f"{SMALL}/queries/holdout.jsonl", b"\n"), "answers.questions"),
}


def assert_told(printed: str, system: str, field: str) -> str:
    """Field with frozen and found value under the system's name, a command, no traceback. Returns the command."""
    assert printed.startswith("StaleThresholdError: ") and "Traceback" not in printed
    told = re.search(rf"{system}: what is frozen does not belong here; (.+):\n((?:  .+\n)+)", printed)
    assert told, printed
    line = re.search(rf"^  {re.escape(field)}: frozen (.+), found (.+)$", told[2], re.MULTILINE)
    assert line and line[1] != line[2], printed
    remedy = REMEDY.search(told[1])
    assert remedy, printed
    return remedy[1]


def assert_stale(project: Project, stage: str, field: str, system: str = "lexical") -> str:
    """The stage refuses with status 3 and leaves everything as it was. Returns the command that mends it."""
    before = project.bytes_below("artifacts/holdout", "artifacts/metrics.json", LEDGER)
    printed = project.run_stage(stage, status=3)
    assert project.bytes_below("artifacts/holdout", "artifacts/metrics.json", LEDGER) == before
    return assert_told(printed, system, field)


def verify(project: Project, status: int) -> str:
    return project.python("-m", "stages.cli", "verify", status=status).stderr


@pytest.mark.parametrize("name", STALE)
def test_every_user_of_a_threshold_refuses(name: str, damaged: Project) -> None:
    damage, told = STALE[name]
    system, field = told.split()
    damage(damaged)
    assert_stale(damaged, ANSWER, field, system)
    assert_stale(damaged, EVALUATE, field, system)
    assert_told(verify(damaged, status=3), system, field)
    stderr = damaged.python("-m", "stages.cli", "ask", "small purple cross", "--system", system, status=3).stderr
    assert f"  {field}: frozen " in stderr


@pytest.mark.parametrize("name", STALE_FOR_LABELS)
def test_whoever_may_open_labels_refuses(name: str, damaged: Project) -> None:
    damage, field = STALE_FOR_LABELS[name]
    damage(damaged)
    assert_stale(damaged, EVALUATE, field)
    assert_told(verify(damaged, status=3), "lexical", field)


def test_the_development_set_that_was_swept_is_compared_without_its_labels(damaged: Project) -> None:
    replace("artifacts/sweep/lexical.json", '"dev_set": "', '"dev_set": "0')(damaged)
    assert_stale(damaged, ANSWER, DEV_SET)


@pytest.mark.parametrize("name", ["document edited", "weight", "threshold edited"])
def test_a_stage_refuses_under_dvc(name: str, damaged: Project) -> None:
    damage, told = STALE[name]
    damage(damaged)
    assert_told(damaged.dvc("repro", "-s", ANSWER, status=255).stderr, *told.split())


def test_every_mismatch_is_listed(damaged: Project) -> None:
    append(f"{CORPUS}/images/0001.png", b"\n")(damaged)
    append(RECORDS, b"\n")(damaged)
    param("calibrate", "fp_weight", 9)(damaged)
    printed = damaged.run_stage(ANSWER, status=3)
    everywhere = ["fp_weight", "binding.snapshot"]
    found = re.findall(r"^  (\S+): frozen", printed, re.MULTILINE)
    assert found == [*everywhere, "binding.dev_records", *everywhere, *everywhere]


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
