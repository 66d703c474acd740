"""Each stage opens what dvc.yaml declares, and nothing else: no label where one answers, no source without a dep."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from stages.errors import LabelFirewallError
from stages.hashing import sha256
from stages.records import File
from stages.stage.watch import Watch
from tests.project import ENVIRONMENT, LEDGER, ROOT, SMALL, Project

pytestmark = pytest.mark.pipeline

DVC_YAML = yaml.safe_load((ROOT / "dvc.yaml").read_bytes())
STAGES = tuple(DVC_YAML["stages"])
ANSWERING = ("build_index", "score_dev", "answer_holdout")
HANDED = ("params.yaml", "dvc.yaml")
HOLDS_OPEN = {"sweep_thresholds": 2, "train_encoder": 2, "perturb_images": 2, "ablate": 1, "evaluate_holdout": 1}
"""Of labels of dev, of the holdout and captions, how many stay closed to a stage; three to all others."""
FORBIDDEN = (f"{SMALL}/evaluation-only", f"{SMALL}/training", "artifacts/judged")
OPENED = re.compile(r'^\d+ +(?:open|openat|openat2|creat)\((?:AT_FDCWD, )?"([^"]+)", (.*)\) = \d+', re.MULTILINE)


class Opened(NamedTuple):
    """Paths that one stage opened in the project, relative to it, and those of the checkout that the test runs in."""

    read: set[str]
    written: set[str]
    elsewhere: set[str]


def inside(root: Path, paths: list[str]) -> set[str]:
    """Those of some absolute paths that lie in `root`, relative to it; bytecode counts as its source."""
    found = {os.path.relpath(os.path.realpath(path), root.resolve()) for path in paths}
    return {re.sub(r"__pycache__/(.*)\.cpython-\d+\.pyc$", r"\1.py", path) for path in found if path[:2] != ".."}


def run_audited(project: Project, stage: str, out: Path) -> Opened:
    """Run a stage of the finished project again under an audit hook."""
    _, *arguments = project.stage(stage).arguments
    project.python(str(ROOT / "tests/opened.py"), str(out), *arguments)
    found = json.loads(out.read_bytes())
    checkout = inside(ROOT, found["read"] + found["written"])
    elsewhere = {path for path in checkout if not path.startswith(".venv/")}
    return Opened(inside(project.root, found["read"]), inside(project.root, found["written"]), elsewhere)


@pytest.fixture(scope="module")
def audited(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Opened]:
    """What a stage opens when it runs; every stage runs once, in one copy of the finished project."""
    folder = tmp_path_factory.mktemp("audited")
    project = finished.copy(folder / "project")
    found = {stage: run_audited(project, stage, folder / f"{stage}.json") for stage in STAGES}
    return found.__getitem__


def covered(path: str, declared: list[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in declared)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_opens_only_what_it_declares(stage: str, finished: Project, audited: Callable[[str], Opened]) -> None:
    opened, declared = audited(stage), finished.stage(stage)
    ledger = {LEDGER} if stage == "evaluate_holdout" else set()
    stray = {path for path in opened.read if not covered(path, [*declared.deps, *declared.outs, *HANDED])}
    assert stray == ledger
    kept_by_nobody = {f"{ENVIRONMENT}{stage}.json"}
    assert {path for path in opened.written if not covered(path, declared.outs)} == ledger | kept_by_nobody
    assert opened.elsewhere <= {"tests/opened.py"}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_declares_only_what_it_opens(stage: str, finished: Project, audited: Callable[[str], Opened]) -> None:
    opened, declared = audited(stage), finished.stage(stage)
    assert [one for one in declared.deps if not any(covered(path, [one]) for path in opened.read)] == []
    assert [one for one in declared.outs if not any(covered(path, [one]) for path in opened.written)] == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_needs_only_the_params_it_declares(stage: str, damaged: Project) -> None:
    before = damaged.bytes_below(*damaged.stage(stage).outs)
    params = yaml.safe_load((damaged.root / "params.yaml").read_bytes())
    declared = {name: params[name] for name in ["dataset", "holdout", *DVC_YAML["stages"][stage]["params"]]}
    (damaged.root / "params.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    damaged.run_stage(stage)
    assert damaged.bytes_below(*damaged.stage(stage).outs) == before


@pytest.mark.parametrize("stage", ANSWERING)
def test_what_answers_opens_no_label(stage: str, audited: Callable[[str], Opened]) -> None:
    opened = audited(stage)
    assert {path for path in opened.read | opened.written if covered(path, list(FORBIDDEN))} == set()


def test_compiled_code_opens_nothing_else(damaged: Project, audited: Callable[[str], Opened], tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    if subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True).returncode != 0:
        pytest.skip("strace may not trace processes here")
    trace, stage = tmp_path / "trace", damaged.stage("build_index")
    damaged.run(strace, "-f", "-s", "4096", "-e", "trace=file", "-o", str(trace), sys.executable, *stage.arguments)
    calls = OPENED.findall(trace.read_text(encoding="utf-8"))
    paths = [str(damaged.root / path) for path, flags in calls if "O_DIRECTORY" not in flags]
    found = {path for path in inside(damaged.root, paths) if not Path(path).name.startswith(".")}
    assert found == audited("build_index").read


GUARDED = tuple(
    f"{SMALL}/{name}"
    for name in ("evaluation-only/dev.jsonl", "evaluation-only/holdout.jsonl", "training/captions.jsonl")
)


def spy(project: Project, path: str) -> None:
    """Slip in code that opens a file while a stage runs."""
    project.edit("stages/stage/run.py", "    main(handed, paths)\n", f"    open({path!r})\n    main(handed, paths)\n")


def assert_closed(printed: str, path: str) -> None:
    assert printed.startswith(f"LabelFirewallError: {path}: ") and "Traceback" not in printed


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_cannot_open_labels_that_it_does_not_list(stage: str, damaged: Project) -> None:
    entry = json.dumps(DVC_YAML["stages"][stage]).replace("${dataset}", SMALL).replace("${holdout}", "holdout")
    closed = [path for path in GUARDED if path not in entry]
    assert len(closed) >= HOLDS_OPEN.get(stage, 3)
    before, source = damaged.bytes_below("artifacts"), (damaged.root / "stages/stage/run.py").read_bytes()
    for path in closed:
        spy(damaged, path)
        assert_closed(damaged.run_stage(stage, status=1), path)
        (damaged.root / "stages/stage/run.py").write_bytes(source)
    assert damaged.bytes_below("artifacts") == before


@pytest.mark.parametrize("stage", ["score_dev", "answer_holdout"])
def test_what_answers_cannot_open_labels_even_where_it_lists_them(stage: str, damaged: Project) -> None:
    labels = f"{SMALL}/evaluation-only/holdout.jsonl"
    path = damaged.root / "dvc.yaml"
    declared = yaml.safe_load(path.read_bytes())
    declared["stages"][stage]["deps"].append(labels)
    path.write_text(yaml.safe_dump(declared), encoding="utf-8")
    arguments = damaged.stage(stage).arguments
    arguments[arguments.index("--questions") + 1] = labels
    assert_closed(damaged.python(*arguments, status=1).stderr, labels)


def test_ask_cannot_open_labels(damaged: Project) -> None:
    code = f"import stages.cli as c; f = c.load_gate; c.load_gate = lambda *a: (open({GUARDED[0]!r}), f(*a)); "
    done = damaged.python("-c", f"{code}c.main(['ask', 'small purple cross'])", status=1)
    assert_closed(done.stderr, GUARDED[0])


def test_no_other_name_leads_to_a_guarded_file(tmp_path: Path) -> None:
    project, dataset = tmp_path / "training" / "project", tmp_path / "elsewhere"
    for folder in (project / "data/evaluation-only", dataset / "training", project / "links"):
        folder.mkdir(parents=True)
    labels, captions = project / "data/evaluation-only/dev.jsonl", dataset / "training/captions.jsonl"
    labels.write_bytes(b"{}")
    captions.write_bytes(b"{}")
    (project / "links/plain").symlink_to(labels)
    (project / "links/folder").symlink_to(dataset / "training")
    watch = Watch(project, "../../elsewhere", ["data/evaluation-only/allowed.jsonl", "queries.jsonl"], blind=False)
    closed = (labels, project / "links/../data/evaluation-only/dev.jsonl", project / "links/plain", captions)
    for path in (*closed, project / "links/folder/captions.jsonl", project / "data/evaluation-only/.dev.jsonl.tmp"):
        for event in (("open", (str(path), "rb", 0)), ("open", (os.fsencode(path), None, os.O_RDONLY))):
            with pytest.raises(LabelFirewallError):
                watch(*event)
        for event_name in ("os.rename", "os.link"):
            with pytest.raises(LabelFirewallError):
                watch(event_name, (path, project / "copy", -1, -1))
    own = {"data/evaluation-only/allowed.jsonl", "data/evaluation-only/.allowed.jsonl.x", "queries.jsonl"}
    for name in own:
        (project / name).write_bytes(b"first")
    for opened in (*own, sys.prefix, "../other"):
        watch("open", (project / opened, "r", 0))
    (project / "queries.jsonl").write_bytes(b"later")
    watch("open", (project / "queries.jsonl", "r", 0))
    assert watch.read == {name: File(name, sha256(b"first"), 5) for name in own}
    with pytest.raises(LabelFirewallError, match=r"other\.json: dvc\.yaml does not list it"):
        watch("open", (project / "other.json", "r", 0))
    with pytest.raises(LabelFirewallError, match="starts no other process"):
        watch("subprocess.Popen", ("true", [], None, None))


def test_no_stage_is_frozen() -> None:
    assert [name for name, stage in DVC_YAML["stages"].items() if stage.get("frozen")] == []
