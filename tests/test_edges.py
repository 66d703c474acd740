"""Edges of DVC and git: each is handled here, or its remedy, as the README has it, leaves a right project."""

import re
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from stages.errors import BadInputError
from stages.files import hash_sources
from stages.originals import list_originals
from stages.params import Source
from stages.settings import read_params, read_yaml
from stages.stage.declared import declared_stages
from tests.project import LEDGER, ROOT, SMALL, Project

pytestmark = pytest.mark.pipeline

CLEAN = "Data and pipelines are up to date.\n"
VERIFY = ("-m", "stages.cli", "verify")
STRAY = (".DS_Store", "._0001.png", ".a.md.swp", "Thumbs.db", "desktop.ini", "a.md~", "#a.md#", ".~lock.a.md#")
NO_NAME = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
"""What no name may be on Windows."""


def assert_right(project: Project) -> None:
    """Everything belongs together, for git, DVC and us."""
    assert project.git("status", "--porcelain", "--untracked-files=all") == ""
    assert project.dvc("status").stdout == CLEAN
    project.python(*VERIFY)


def changed_lines(project: Project, path: str) -> list[str]:
    """Lines that a file lost and won against HEAD."""
    told = project.git("diff", "--unified=0", path)
    return [line for line in told.splitlines() if re.match(r"[-+](?![-+]{2} )", line)]


def branch(project: Project, name: str, old: str, new: str) -> None:
    """Change a parameter, run everything up to the threshold and commit it, on a branch of main."""
    project.git("checkout", "--quiet", "-b", name, "main")
    project.edit("params.yaml", old, new)
    project.dvc("repro", "--quiet", "freeze_threshold")
    project.git("commit", "--quiet", "--all", f"--message={name}")


def test_branches_that_both_changed_results_merge_by_repro(damaged: Project) -> None:
    """git mixes no results and leaves dvc.lock readable; the ledger keeps both sides' lines."""
    branch(damaged, "weight", "fp_weight: 2\n", "fp_weight: 5\n")
    branch(damaged, "depth", "top_k: 5\n", "top_k: 3\n")
    theirs = damaged.bytes_below("artifacts/dev_metrics.json", "dvc.lock")
    told = damaged.run("git", "merge", "weight", status=1).stdout
    assert all(f"CONFLICT (content): Merge conflict in {path}\n" in told for path in theirs)
    assert damaged.bytes_below(*theirs) == theirs
    damaged.python(*VERIFY, status=3)
    damaged.dvc("repro", "--quiet")
    damaged.git("add", "--all")
    damaged.git("commit", "--quiet", "--no-edit")
    assert_right(damaged)
    damaged.python("-m", "stages.cli", "ledger")


def overrides(params: dict[str, Any]) -> list[str]:
    """Another value for every number, switch and word below a section, as `-S` takes it."""
    sections = {name: held for name, held in params.items() if isinstance(held, dict)}
    leaves = [(f"{section}.{name}", value) for section, held in sections.items() for name, value in held.items()]
    return [f"{name}={another(value)}" for name, value in leaves if not isinstance(value, list | dict)]


def another(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return str(not value).lower()
    if isinstance(value, str):
        return {"error": "skip"}.get(value, f"other_{value}")
    return repr(value + 1 if isinstance(value, int) else value / 1e3)


def test_a_parameter_set_by_dvc_is_a_diff_of_one_line(damaged: Project) -> None:
    """The style of params.yaml is the one that DVC writes; what it writes are the values that we read."""
    sets = overrides(read_params(damaged.root / "params.yaml"))
    damaged.dvc("exp", "run", "--quiet", *(part for one in sets for part in ("-S", one)), "build_index")
    lines = changed_lines(damaged, "params.yaml")
    gone, new = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
    assert len(gone) == len(new) == len(sets) > 30
    assert sorted(line.split(":")[0] for line in gone) == sorted(line.split(":")[0] for line in new)
    assert read_params(damaged.root / "params.yaml")["encoder"]["learning_rate"] == 1e-6


def test_a_list_set_by_dvc_is_a_diff_of_its_items(damaged: Project) -> None:
    sets = ("-S", "systems=[lexical,neural]", "-S", "calibrate.by_kind=[neural,hybrid]")
    damaged.dvc("exp", "run", "--quiet", *sets, "build_index")
    assert changed_lines(damaged, "params.yaml") == ["-- hybrid", "+  - hybrid"]


@pytest.mark.parametrize("written", ["1e-05", "1e+16", "1E5", "-.5e3", "2.e1", "1.5e-07"])
def test_a_number_with_an_exponent_is_a_number(written: str, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(f"value: {written}\n", encoding="utf-8")
    assert read_yaml(tmp_path / "params.yaml") == {"value": float(written)}


def test_a_parameter_that_is_not_there_is_rejected_and_changes_nothing(damaged: Project) -> None:
    for name in ("calibrate.fp_wieght", "fp_weight"):
        assert f"'{name}'" in damaged.dvc("exp", "run", "-S", f"{name}=5", status=255).stderr
    assert damaged.git("status", "--porcelain") == ""


def test_a_value_that_a_stage_rejects_is_undone_by_checkout(damaged: Project) -> None:
    """DVC has removed the stage's outputs by then; in a folder of its own it touches nothing here."""
    bad = ("-S", "calibrate.fp_weight=two", "freeze_threshold")
    told = "BadInputError: params.yaml: calibrate.fp_weight: expected float, got 'two'\n"
    assert told in damaged.dvc("exp", "run", "--temp", *bad, status=255).stderr
    assert damaged.git("status", "--porcelain") == ""
    assert told in damaged.dvc("exp", "run", *bad, status=255).stderr
    assert " D artifacts/sweep/lexical.csv\n" in damaged.git("status", "--porcelain")
    damaged.git("checkout", "--quiet", "params.yaml", "dvc.lock", "artifacts")
    damaged.dvc("checkout", "--quiet")
    assert_right(damaged)


def test_an_appended_key_that_no_stage_has_read_is_refused_by_verify(damaged: Project) -> None:
    damaged.dvc("exp", "run", "--quiet", "-S", "+calibrate.extra=1", "build_index")
    assert "calibrate.extra: unknown key" in damaged.python(*VERIFY, status=1).stderr


WEAK = {
    "frozen": True,
    "always_changed": True,
    "wdir": "stages",
    "matrix": {"system": ["lexical"]},
    "plots": ["artifacts/sweep"],
}


def test_what_weakens_a_stage_in_dvc_yaml_is_named() -> None:
    """All of it at once."""
    pipeline = read_yaml(ROOT / "dvc.yaml")
    entry = pipeline["stages"]["freeze_threshold"]
    entry |= WEAK
    entry["outs"][1]["${path.threshold}"]["persist"] = True
    pipeline["stages"]["write_report"]["cmd"] = ["true", "python -m stages.write_report"]
    with pytest.raises(BadInputError) as caught:
        declared_stages(pipeline, Source(SMALL, "holdout"))
    lines = str(caught.value).splitlines()
    assert [line for line in lines if not line.endswith("; remove it")] == [
        "dvc.yaml: write_report.cmd: expected one command, got ['true', 'python -m stages.write_report']"
    ]
    places = [line.removeprefix("dvc.yaml: freeze_threshold.").rpartition(":")[0] for line in lines[:-1]]
    assert places == [*WEAK, "outs: persist"]


@pytest.mark.parametrize("setting", ["core.autocrlf=true", "core.eol=crlf"])
def test_a_checkout_on_windows_has_the_same_bytes(setting: str, damaged: Project, tmp_path: Path) -> None:
    odd = f"{SMALL}/corpus/docs/odd.md"
    (damaged.root / odd).write_bytes(b"# Odd\r\n\nline ends\n as they come\r\n")
    damaged.git("add", "--all")
    damaged.git("commit", "--quiet", "--message=odd")
    damaged.git("-c", setting, "clone", "--quiet", "--config", setting, ".", str(tmp_path / "clone"))
    clone, names = Project(tmp_path / "clone"), damaged.git("ls-files").splitlines()
    assert odd in names and clone.bytes_below(*names) == damaged.bytes_below(*names)
    assert clone.git("status", "--porcelain") == ""


def test_every_file_can_be_checked_out_on_any_system() -> None:
    """No link, no name that Windows refuses or cuts, no two that differ only in case or in how accents are written."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    told = subprocess.run(["git", "ls-files", "--stage", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    modes, names = zip(*(line.split(maxsplit=3)[::3] for line in told.stdout.split("\0") if line), strict=True)
    assert set(modes) <= {"100644", "100755"}
    assert [name for name in names if len(name) > 120 or any(NO_NAME.search(part) for part in name.split("/"))] == []
    paths = {str(parent) for name in names for parent in (Path(name), *Path(name).parents)}
    assert len({unicodedata.normalize("NFC", path).casefold() for path in paths}) == len(paths)


def test_what_systems_and_editors_leave_behind_changes_nothing(damaged: Project) -> None:
    corpus = damaged.root / SMALL / "corpus"
    folders = (corpus, corpus / "docs", *(damaged.root / name for name in ("stages/corpus", "artifacts/threshold")))
    before = list_originals(corpus)
    for folder in folders:
        for name in STRAY:
            (folder / name).write_bytes(b"stray")
        (folder / "__pycache__").mkdir(exist_ok=True)
        (folder / "__pycache__/stray.cpython-311.pyc").write_bytes(b"stray")
        (folder / "empty").mkdir()
        (folder / ".#a.py").symlink_to("somebody@somewhere.1234")
    assert list_originals(corpus) == before
    assert_right(damaged)
    assert "Running stage" not in damaged.dvc("repro").stdout


def test_a_lock_of_an_editor_is_no_source(damaged: Project) -> None:
    (damaged.root / "stages/corpus/.#text.py").symlink_to("somebody@somewhere.1234")
    code = "from stages.files import hash_sources; print(*hash_sources(['stages/corpus']))"
    assert damaged.python("-c", code).stdout.split() == list(hash_sources(["stages/corpus"]))


def test_a_second_repro_elsewhere_leaves_everything_as_it_is(damaged: Project) -> None:
    """With other rights, time zone, language and order of hashes."""
    before = damaged.bytes_below("dvc.lock", "artifacts", LEDGER)
    times = {path: (damaged.root / path).stat().st_mtime_ns for path in before}
    repro = "umask 077; TZ=Asia/Kathmandu LC_ALL=C PYTHONHASHSEED=7 python -m dvc repro"
    assert damaged.run("sh", "-c", repro).stdout.endswith(CLEAN)
    assert damaged.bytes_below("dvc.lock", "artifacts", LEDGER) == before
    assert {path: (damaged.root / path).stat().st_mtime_ns for path in before} == times
    assert_right(damaged)


def test_the_lock_of_a_fresh_clone_is_checked_without_running(damaged: Project, tmp_path: Path) -> None:
    """As the workflow checks it, whatever the exit status of DVC, which is 0 for some stages that would run."""
    steps = read_yaml(ROOT / ".github/workflows/reproduce.yml")["jobs"]["reproduce"]["steps"]
    (check,) = [step["run"] for step in steps if "--dry" in step.get("run", "")]
    damaged.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    clone.run("sh", "-c", check)
    for path in ("stages/report/page.py", f"{SMALL}/evaluation-only/dev.jsonl", "artifacts/metrics.json"):
        with (clone.root / path).open("ab") as stream:
            stream.write(b"\n")
        clone.run("sh", "-c", check, status=1)
        clone.git("checkout", "--quiet", path)
    lock = (clone.root / "dvc.lock").read_text(encoding="utf-8")
    (clone.root / "dvc.lock").write_text(re.sub(r"md5: \w", "md5: _", lock, count=1), encoding="utf-8")
    clone.run("sh", "-c", check, status=1)
