"""A finished run of the whole pipeline on the small dataset, in a folder of its own, and copies of it to damage."""

import shutil
from pathlib import Path

import pytest

from tests.project import LEDGER, ROOT, SMALL, SOURCES, Project
from tests.readme import copy_project


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


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the last commit with everything up to the frozen threshold made again. Shared: do not change it."""
    return copy_project(tmp_path_factory.mktemp("committed") / "project")


@pytest.fixture
def damaged(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished project, for one test to damage."""
    return finished.copy(tmp_path / "project")
