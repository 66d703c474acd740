"""A finished run of the whole pipeline on the small dataset, in a folder of its own, and copies of it to damage."""

from pathlib import Path

import pytest

from tests.project import Project, finish
from tests.readme import copy_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project after one `dvc repro` on the small dataset, committed to git. Shared: do not change it."""
    return finish(tmp_path_factory.mktemp("finished") / "project")


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the last commit with everything up to the frozen threshold made again. Shared: do not change it."""
    return copy_project(tmp_path_factory.mktemp("committed") / "project")


@pytest.fixture
def damaged(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished project, for one test to damage."""
    return finished.copy(tmp_path / "project")
