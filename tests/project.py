"""A copy of the project for tests that run its stages and commands."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parent.parent
SOURCES = ("dvc.yaml", "params.yaml", "pyproject.toml", ".dvcignore", ".gitignore", ".gitattributes", ".dvc/config")
SMALL = "tests/data/small"
FEW_CHANGES = ("    hue:\n    - 30\n", "    - 240\n", "    noise:\n", "    - 32\n", "    rotation:\n", "    - 90\n")
FEW_ABLATIONS = tuple(
    f"  {name}:\n    {factor}: {value}\n"
    for name, factor, value in (
        ("no_reranker", "retrieval.rerank", "false"),
        ("no_support", "switch.support", "false"),
        ("no_gate", "switch.gate", "false"),
        ("exact_search", "neighbours.exact", "true"),
    )
)
"""Of the perturbations and ablations in params.yaml, those that the small project runs: it runs often."""
ENVIRONMENT = "artifacts/environment/"
LEDGER = f"{SMALL}/evaluation-only/holdout-ledger.jsonl"


def environment(settings: Path) -> dict[str, str]:
    """This interpreter first on the path; no setting of the machine's git, DVC or Python."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_", "PYTHON"))}
    return inherited | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "DVC_NO_ANALYTICS": "1",
        "DVC_GLOBAL_CONFIG_DIR": str(settings / "global"),
        "DVC_SYSTEM_CONFIG_DIR": str(settings / "system"),
        "DVC_SITE_CACHE_DIR": str(settings / "site"),
    }


class Stage(NamedTuple):
    """A stage as DVC resolved it: arguments of Python, deps and outs relative to the project."""

    arguments: list[str]
    deps: list[str]
    outs: list[str]


class Project:
    """A copy of the project with its own git and DVC; nothing that runs in it sees the machine's configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command in the project; anything but the expected exit status fails with what it printed."""
        done = subprocess.run(arguments, cwd=self.root, env=self.environment(), capture_output=True, text=True)
        assert done.returncode == status, f"{arguments}\nexit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def python(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run this interpreter in the project."""
        return self.run(sys.executable, *arguments, status=status)

    def dvc(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run DVC in the project."""
        return self.python("-m", "dvc", *arguments, status=status)

    def git(self, *arguments: str) -> str:
        """Run git in the project."""
        return self.run("git", *arguments).stdout

    def stage(self, name: str) -> Stage:
        """A stage of the finished project, from dvc.lock."""
        locked = yaml.safe_load((self.root / "dvc.lock").read_bytes())["stages"][name]
        program, *arguments = shlex.split(locked["cmd"])
        assert program == "python"
        return Stage(arguments, *([item["path"] for item in locked[kind]] for kind in ("deps", "outs")))

    def run_stage(self, name: str, status: int = 0) -> str:
        """Run a stage's command without DVC; returns its stderr."""
        return self.python(*self.stage(name).arguments, status=status).stderr

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace what stands exactly once in a file."""
        text = (self.root / path).read_bytes().decode("utf-8")
        assert text.count(old) == 1, f"{path}: {old!r} stands there {text.count(old)} times"
        (self.root / path).write_bytes(text.replace(old, new).encode("utf-8"))

    def keep(self, path: str, head: str, lines: Sequence[str]) -> None:
        """Of what is indented below a line of a YAML file, keep only these lines, each of which stands there."""
        text = (self.root / path).read_text(encoding="utf-8")
        before, below, rest = text.partition(head)
        indent = " " * (len(head) - len(head.lstrip()) + 2)
        inside = "".join(takewhile(lambda line: line.startswith(indent), rest.splitlines(keepends=True)))
        assert below and all(line in inside for line in lines), f"{path}: {head!r} is another one"
        (self.root / path).write_text(before + head + "".join(lines) + rest.removeprefix(inside), encoding="utf-8")

    def bytes_below(self, *names: str) -> dict[str, bytes]:
        """Every file below some folders (or the files named), by its path; but for versions and times, never equal."""
        roots = [self.root / name for name in names]
        found = [item for one in roots for item in ([one] if one.is_file() else one.rglob("*")) if item.is_file()]
        read = {item.relative_to(self.root).as_posix(): item.read_bytes() for item in sorted(found)}
        return {path: data for path, data in read.items() if not path.startswith(ENVIRONMENT)}

    def copy(self, target: Path) -> "Project":
        """The same project somewhere else."""
        shutil.copytree(self.root, target, symlinks=True)
        return Project(target)

    def environment(self) -> dict[str, str]:
        """What commands in the project see; threads of several at a time would only wait for each other."""
        own = {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
        return environment(self.root.parent / "machine") | own


def finish(root: Path) -> Project:
    """The project after one `dvc repro` on the small dataset, committed to git."""
    project = Project(root)
    for name in SOURCES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    for name in ("stages", SMALL):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    (root / LEDGER).unlink(missing_ok=True)
    project.edit("params.yaml", "dataset: data/course\n", f"dataset: {SMALL}\n")
    project.keep("params.yaml", "  changes:\n", FEW_CHANGES)
    project.keep("params.yaml", "ablations:\n", FEW_ABLATIONS)
    project.git("init", "--quiet", "--initial-branch=main")
    project.git("config", "user.name", "tests")
    project.git("config", "user.email", "tests@example.invalid")
    project.dvc("repro", "--quiet")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=finished")
    return project
