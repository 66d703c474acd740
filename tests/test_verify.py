"""`frostline verify`: every file and parameter that anything was made from, hashed again without DVC and git."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from stages.calibration.gate import Gate
from stages.errors import BadInputError, StaleThresholdError
from stages.files import read_json
from stages.params import Source
from stages.records import Answered, Part
from stages.settings import read_yaml
from stages.stage.declared import before, behind, declared_stages
from stages.verify import load_gate
from tests.project import LEDGER, ROOT, SMALL, Project

pytestmark = pytest.mark.pipeline

STAGES = list(yaml.safe_load((ROOT / "dvc.yaml").read_bytes())["stages"])
VERIFY = ("-m", "stages.cli", "verify")
FIRST = re.compile(r"^  the chain breaks first at (\w+):\n((?:    .+\n)+)  behind it: (.+)$", re.MULTILINE)
EDITED = {
    f"{SMALL}/corpus/docs/catalogue.md": "build_index",
    f"{SMALL}/training/captions.jsonl": "train_encoder",
    f"{SMALL}/queries/dev.jsonl": "score_dev",
    f"{SMALL}/evaluation-only/dev.jsonl": "sweep_thresholds",
    f"{SMALL}/evaluation-only/holdout.jsonl": "evaluate_holdout",
    f"{SMALL}/dataset.yaml": "freeze_threshold",
    "artifacts/index/lexical.npz": "build_index",
    "artifacts/encoder/checkpoint.npz": "train_encoder",
    "artifacts/vectors/hnsw.bin": "embed_corpus",
    "artifacts/dev/neural.json": "score_dev",
    "artifacts/sweep/hybrid.csv": "sweep_thresholds",
    "artifacts/threshold/lexical.json": "freeze_threshold",
    "artifacts/perturbation/results.json": "perturb_images",
    "artifacts/perturbation/originals/noise-32/images/0001.png": "perturb_images",
    "artifacts/ablation/results.json": "ablate",
    "artifacts/holdout/hybrid/answers.json": "answer_holdout",
    "artifacts/metrics.json": "evaluate_holdout",
    "artifacts/report/index.html": "write_report",
    "stages/files.py": "build_index",
    "stages/encoder/training.py": "train_encoder",
    "stages/measures/refusal.py": "sweep_thresholds",
    "stages/perturbation/png.py": "perturb_images",
    "stages/variant.py": "ablate",
    "stages/report/page.py": "write_report",
}


def first_broken(project: Project) -> tuple[str, str, list[str]]:
    """The stage at which the chain breaks first, what is told of it, and what lies behind."""
    printed = project.python(*VERIFY, status=3).stderr
    assert printed.startswith("StaleThresholdError: ") and "Traceback" not in printed
    found = FIRST.search(printed)
    assert found, printed
    return found[1], found[2], [] if found[3] == "nothing" else found[3].split(", ")


def test_what_belongs_together_is_verified_anywhere(damaged: Project, tmp_path: Path) -> None:
    """In a copy under another name, without git and DVC."""
    for name in (".git", ".dvc"):
        shutil.rmtree(damaged.root / name)
    moved = damaged.copy(tmp_path / "somewhere else")
    alone = "import sys; sys.modules['dvc'] = None; from stages.cli import main; main(['verify'])"
    done = moved.run("env", "PATH=/nowhere", sys.executable, "-c", alone)
    assert done.stdout.startswith(f"verified: {len(STAGES)} stages, ") and done.stderr == ""


@pytest.mark.parametrize("path", EDITED)
def test_the_first_broken_link_is_named(path: str, damaged: Project) -> None:
    data = (damaged.root / path).read_bytes()
    (damaged.root / path).write_bytes(data + b"\n")
    stage, told, _ = first_broken(damaged)
    assert (stage, path in told) == (EDITED[path], True)


@pytest.mark.parametrize("stage", STAGES)
def test_behind_a_stage_is_what_dvc_says(stage: str, finished: Project) -> None:
    told = finished.dvc("repro", "--dry", "--force", "--downstream", stage).stdout
    declared = declared_stages(read_yaml(ROOT / "dvc.yaml"), Source(SMALL, "holdout"))
    assert {stage, *behind(declared, stage)} == set(re.findall(r"^Running stage '(\w+)'", told, re.MULTILINE))
    assert set(before(declared, stage)) == {stage, *(name for name in STAGES if stage in behind(declared, name))}


def test_everything_broken_is_told_with_all_that_lies_behind(damaged: Project) -> None:
    """A new original, a missing artifact, a parameter that no threshold is bound to, a part that is gone."""
    (damaged.root / SMALL / "corpus/docs/new.md").write_bytes(b"# New\n")
    (damaged.root / "artifacts/vectors/hnsw.bin").unlink()
    damaged.edit("params.yaml", "budget: 600", "budget: 601")
    (damaged.root / "artifacts/chain/write_report.json").unlink()
    stage, told, behind_it = first_broken(damaged)
    assert (stage, behind_it) == ("build_index", STAGES[1:])
    assert told == f"    {SMALL}/corpus/docs/new.md: was not there when the corpus was indexed\n"
    printed = damaged.python(*VERIFY, status=3).stderr
    for name, finding in {
        "embed_corpus": r"artifacts/vectors/hnsw\.bin: recorded sha256 \w{64}, cannot be read",
        "score_dev": r"params\.yaml: context\.budget: recorded 600, found 601",
        "write_report": r"artifacts/chain/write_report\.json: cannot be read .+",
    }.items():
        assert re.search(rf"^  it also breaks at {name}:\n    {finding}$", printed, re.MULTILINE), printed


PART = "artifacts/chain/score_dev.json"
HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda data: data[:-20], f"{PART}: "),
    "empty": (lambda data: b"", f"{PART}: "),
    "of other types": (lambda data: data.replace(b'"size":', b'"size":"many","x":'), f"{PART}: "),
    "of another stage": (
        lambda data: data.replace(b'"score_dev"', b'"build_index"'),
        f"{PART}: the part of build_index",
    ),
    "without what was read": (
        lambda data: re.sub(rb'"read": \[.*?\n\]', b'"read": []', data, flags=re.DOTALL),
        f"{PART}: does not say that it read artifacts/index/index.json",
    ),
    "that leads elsewhere": (
        lambda data: data.replace(b'"artifacts/index/index.json"', b'"/../nowhere\\u0000"'),
        f"{PART}: does not say that it read artifacts/index/index.json",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_part_that_was_tampered_with_is_told(name: str, damaged: Project) -> None:
    tamper, finding = HOSTILE[name]
    path = damaged.root / PART
    before = path.read_bytes()
    path.write_bytes(tamper(before))
    assert path.read_bytes() != before
    stage, told, _ = first_broken(damaged)
    assert stage == "score_dev" and finding in told


@pytest.mark.parametrize(
    ("stage", "option", "declared"),
    [("score_dev", "--questions", "queries/dev"), ("evaluate_holdout", "--labels", "evaluation-only/${holdout}")],
)
def test_a_stage_that_was_run_on_other_files_is_told(stage: str, option: str, declared: str, damaged: Project) -> None:
    """Questions or labels under another name, while dvc.yaml had that name."""
    arguments = damaged.stage(stage).arguments
    own = arguments[arguments.index(option) + 1]
    other = own.replace(".jsonl", "-other.jsonl")
    shutil.copyfile(damaged.root / own, damaged.root / other)
    path = damaged.root / "dvc.yaml"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(f"{declared}.jsonl", f"{declared}-other.jsonl"), encoding="utf-8")
    damaged.python(*(other if one == own else one for one in arguments))
    path.write_text(before, encoding="utf-8")
    found, told, _ = first_broken(damaged)
    assert found == stage and "which is not what dvc.yaml says" in told
    assert f"{other}, which dvc.yaml does not list" in told


def test_a_file_that_changes_while_a_stage_runs_is_refused(damaged: Project) -> None:
    source = f"{SMALL}/corpus/docs/catalogue.md"
    late = f"    main(handed, paths)\n    watch.hashing = True\n    Path({source!r}).write_text('# New')\n"
    damaged.edit("stages/stage/run.py", "    main(handed, paths)\n", f"{late}    watch.hashing = False\n")
    before = damaged.bytes_below("artifacts/chain")
    printed = damaged.run_stage("build_index", status=1)
    assert printed == f"BadInputError: {source}: changed while build_index ran; run it again\n"
    assert damaged.bytes_below("artifacts/chain") == before


def test_a_linked_dataset_with_a_space_in_its_name_is_verified(damaged: Project, tmp_path: Path) -> None:
    (damaged.root / SMALL).rename(tmp_path / "a data set")
    (damaged.root / "tests/data/my link").symlink_to(tmp_path / "a data set")
    damaged.edit("params.yaml", f"dataset: {SMALL}\n", "dataset: tests/data/my link\n")
    damaged.dvc("repro", "--quiet")
    damaged.python(*VERIFY)
    (tmp_path / "a data set/corpus/docs/new.md").write_bytes(b"# New\n")
    assert "new.md: was not there" in damaged.python(*VERIFY, status=3).stderr


def test_a_line_that_is_gone_from_the_ledger_is_missed(damaged: Project) -> None:
    (damaged.root / LEDGER).write_bytes(b"")
    assert f"{LEDGER}: its lines on this holdout" in damaged.python(*VERIFY, status=3).stderr


def test_no_project_is_no_stale_one(tmp_path: Path, finished: Project) -> None:
    environment = os.environ | {"PYTHONPATH": str(finished.root)}
    done = subprocess.run([sys.executable, *VERIFY], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "no dvc.yaml" in done.stderr


def test_the_gate_decides_as_the_pipeline_did(finished: Project, tmp_path: Path) -> None:
    """Loaded by somebody else's program, in a copy without labels and captions."""
    project = finished.copy(tmp_path / "project")
    for folder in ("training", "evaluation-only"):
        shutil.rmtree(project.root / SMALL / folder)
    for system in ("lexical", "neural", "hybrid"):
        loaded = load_gate(project.root, system)
        answered = read_json(project.root / f"artifacts/holdout/{system}/answers.json", Answered)
        pairs = zip(answered.scored.records, answered.decisions, strict=True)
        assert all(loaded.decide(record.signal, record.top or "text") == made.gate for record, made in pairs)
    with pytest.raises(BadInputError, match="oracle: no system"):
        load_gate(project.root, "oracle")
    (project.root / "stages/answering/signal.py").unlink()
    with pytest.raises(StaleThresholdError, match=r"stages/answering/signal\.py: recorded sha256 \w+, cannot be read"):
        load_gate(project.root, "lexical")


def test_the_example_of_the_gate_runs(finished: Project) -> None:
    """What the docstring shows, with the path of a project in the place of its own."""
    code = textwrap.dedent("\n".join(re.findall(r"^( {8}.*|)$", str(Gate.__doc__), re.MULTILINE)))
    done = finished.python("-c", code.replace("path/to/project", "."))
    assert done.stdout in ("answer\n", "I don't know\n")


def test_the_chain_holds_what_dvc_hashed(finished: Project) -> None:
    """Each stage's outputs, and what it opened of its deps, with the sizes that DVC saw."""
    locked = yaml.safe_load((finished.root / "dvc.lock").read_bytes())["stages"]
    for name in STAGES:
        part = read_json(finished.root / f"artifacts/chain/{name}.json", Part)
        known = (*locked[name]["deps"], *locked[name]["outs"])
        files = {one["path"]: one for one in known if "nfiles" not in one}
        listed = {one.path: one for one in (*part.read, *part.wrote)}
        plain = {path: one for path, one in files.items() if "nfiles" not in one and path in listed}
        assert {path: one["size"] for path, one in plain.items()} == {path: listed[path].size for path in plain}
        assert {path for path in files if "nfiles" not in files[path]} - listed.keys() == {
            f"artifacts/chain/{name}.json"
        }
