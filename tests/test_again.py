"""The holdout asked again: the ledger records it first, no label file is opened, what is unchanged stays as it was."""

import csv
import json
from pathlib import Path

import pytest

from stages import files
from stages.calibration.ledger import Seen
from stages.measures.ablation import Ablated
from stages.measures.damage import Perturbed
from tests.project import LEDGER, SMALL, Project

pytestmark = pytest.mark.pipeline

SYSTEMS = ("lexical", "neural", "hybrid")
LABELS = f"{SMALL}/evaluation-only/holdout.jsonl"


def again(project: Project, section: str, dest: Path, status: int = 0) -> str:
    """What the command printed, where it failed on stderr."""
    done = project.python("-m", "stages.cli", "again", section, str(dest), status=status)
    return done.stderr if status else done.stdout


def lines(project: Project) -> list[dict[str, object]]:
    return [json.loads(line) for line in (project.root / LEDGER).read_bytes().splitlines()]


def test_each_change_is_a_line_that_the_report_takes_in(damaged: Project, tmp_path: Path) -> None:
    (before,) = lines(damaged)
    printed = again(damaged, "ablations", tmp_path / "one")
    assert "4 new lines" in printed and before in lines(damaged)
    new = [one for one in lines(damaged) if one != before]
    assert [one["changed"] for one in new] == [
        "neighbours.exact=true",
        "retrieval.rerank=false",
        "switch.gate=false",
        "switch.support=false",
    ]
    assert all(one | {"results": before["results"]} == before | {"changed": one["changed"]} for one in new)
    assert "no new line" in again(damaged, "ablations", tmp_path / "two")
    assert (tmp_path / "one/results.json").read_bytes() == (tmp_path / "two/results.json").read_bytes()
    told = damaged.python("-m", "stages.cli", "verify", status=3).stderr
    assert "dvc repro -f -s evaluate_holdout && dvc repro" in told
    damaged.dvc("repro", "--force", "--single-item", "evaluate_holdout")
    damaged.dvc("repro")
    damaged.python("-m", "stages.cli", "verify")
    assert "and was asked about it again" in damaged.python("-m", "stages.cli", "ledger").stdout.replace("\n", " ")
    page = (damaged.root / "artifacts/report/index.html").read_text(encoding="utf-8")
    version = str(before["system"])[:12]
    assert f"{version} was asked again with neighbours.exact=true, retrieval.rerank=false" in page
    assert f"{version} was asked again with" in damaged.python("-m", "stages.cli", "ledger").stdout


def test_ablations_of_the_holdout_agree_with_its_figures(damaged: Project, tmp_path: Path) -> None:
    """Without gate or support the other alone decides; the label file is not there to be opened."""
    (damaged.root / LABELS).unlink()
    again(damaged, "ablations", tmp_path / "made")
    figures = json.loads((damaged.root / "artifacts/metrics.json").read_bytes())
    found = files.read_json(tmp_path / "made/results.json", Ablated).compared
    assert [one.system for one in found] == [*SYSTEMS] * 4
    for one in found:
        known = figures[one.system]
        assert (one.before.fp, one.before.fn) == (known["decision"]["fp"], known["decision"]["fn"])
        assert sum(one.before.right.values()) == known["answers"]["correct"]
        if one.name in ("no_gate", "no_support"):
            alone = known["support" if one.name == "no_gate" else "gate"]
            assert (one.after.fp, one.after.fn) == (alone["fp"], alone["fn"])


def test_clean_images_give_the_figures_of_the_holdout(damaged: Project, tmp_path: Path) -> None:
    (damaged.root / LABELS).unlink()
    printed = again(damaged, "perturbation", tmp_path / "made")
    assert "3 new lines" in printed and "clean" in printed
    changes = {"hue": "[30,240]", "noise": "[32]", "rotation": "[90]"}  # another seed is another look
    recorded = [one["changed"] for one in lines(damaged) if "changed" in one]
    assert recorded == [f"perturbation.{name}={value} (seed 0)" for name, value in changes.items()]
    figures = json.loads((damaged.root / "artifacts/metrics.json").read_bytes())
    found = files.read_json(tmp_path / "made/results.json", Perturbed)
    for one in found.effects:
        if one.change == "clean":
            assert {"correct": one.answered_right, "total": one.n} == figures[one.system]["answers"]["image"]
    with (tmp_path / "made/cases.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum(one.n for one in found.effects) and len(found.effects) == 3 * 5


def test_what_the_ledger_does_not_know_is_not_asked(damaged: Project, tmp_path: Path) -> None:
    ledger = damaged.root / LEDGER
    ledger.write_bytes(ledger.read_bytes().replace(b'"system":"', b'"system":"0'))
    before = ledger.read_bytes()
    assert "no line on this evaluation" in again(damaged, "ablations", tmp_path / "made", status=3)
    damaged.edit("params.yaml", "  budget: 600\n", "  budget: 599\n")
    assert "does not belong to what is here" in again(damaged, "perturbation", tmp_path / "made", status=3)
    (tmp_path / "taken").write_bytes(b"")
    assert "already there" in again(damaged, "ablations", tmp_path / "taken", status=1)
    assert ledger.read_bytes() == before and not (tmp_path / "made").exists()


def test_a_folder_that_cannot_be_or_belongs_to_the_project_costs_no_look(damaged: Project, tmp_path: Path) -> None:
    before = lines(damaged)
    (tmp_path / "file").write_bytes(b"")
    assert "cannot be written" in again(damaged, "ablations", tmp_path / "file" / "made", status=1)
    for place in (f"{SMALL}/corpus", f"{SMALL}/evaluation-only", "artifacts/holdout", "stages"):
        told = again(damaged, "ablations", damaged.root / place / "made", status=1)
        assert "name a folder elsewhere" in told and not (damaged.root / place / "made").exists()
    assert lines(damaged) == before


@pytest.mark.parametrize("value", ["", "\x1b[2J", "a\n", "\u202e"])
def test_what_a_terminal_would_obey_is_no_line_of_a_ledger(value: str) -> None:
    line = {"holdout": "h", "contract": "c", "system": "s", "results": {}}
    for row in (line | {"changed": value}, line | {"system": value}):
        rows, wrong = files.parse_jsonl(json.dumps(row).encode(), Seen)
        assert not rows and wrong
