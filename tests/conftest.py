"""A finished run of the whole pipeline on the small dataset, in a folder of its own, and copies of it to damage."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("dvc.yaml", "params.yaml", "pyproject.toml", ".dvcignore", ".gitignore", ".gitattributes", ".dvc/config")
SMALL = "tests/data/small"
LEDGER = f"{SMALL}/evaluation-only/holdout-ledger.jsonl"


class Project:
    """A copy of the project with its own git and DVC; nothing that runs in it sees the machine's configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command in the project; anything but the expected exit status fails with what it printed."""
        done = subprocess.run(arguments, cwd=self.root, env=self._environment(), capture_output=True, text=True)
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

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace what stands exactly once in a file."""
        text = (self.root / path).read_bytes().decode("utf-8")
        assert text.count(old) == 1, f"{path}: {old!r} stands there {text.count(old)} times"
        (self.root / path).write_bytes(text.replace(old, new).encode("utf-8"))

    def bytes_below(self, *names: str) -> dict[str, bytes]:
        """Every file below some folders (or the files named), by its path in the project."""
        roots = [self.root / name for name in names]
        found = [item for one in roots for item in ([one] if one.is_file() else one.rglob("*")) if item.is_file()]
        return {item.relative_to(self.root).as_posix(): item.read_bytes() for item in sorted(found)}

    def copy(self, target: Path) -> "Project":
        """The same project somewhere else."""
        shutil.copytree(self.root, target, symlinks=True)
        return Project(target)

    def _environment(self) -> dict[str, str]:
        settings = self.root.parent / "machine"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_"))}
        return inherited | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "DVC_NO_ANALYTICS": "1",
            "DVC_GLOBAL_CONFIG_DIR": str(settings / "global"),
            "DVC_SYSTEM_CONFIG_DIR": str(settings / "system"),
            "DVC_SITE_CACHE_DIR": str(settings / "site"),
        }


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project after one `dvc repro` on the small dataset, committed to git. Shared: do not change it."""
    project = Project(tmp_path_factory.mktemp("finished") / "project")
    for name in SOURCES:
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, project.root / name)
    for name in ("stages", SMALL):
        shutil.copytree(ROOT / name, project.root / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    (project.root / LEDGER).unlink(missing_ok=True)
    project.edit("params.yaml", "dataset: data/course\n", f"dataset: {SMALL}\n")
    project.git("init", "--quiet", "--initial-branch=main")
    project.git("config", "user.name", "tests")
    project.git("config", "user.email", "tests@example.invalid")
    project.dvc("repro", "--quiet")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=finished")
    return project


@pytest.fixture
def damaged(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished project, for one test to damage."""
    return finished.copy(tmp_path / "project")
