"""Other processors, threads, locales and users give the same bytes; `make reproduce` runs the whole list."""

import json
from pathlib import Path

import pytest

from tests.project import Project
from tests.settings import PROBE, UMASK, VARIANTS, Setting, missing, outcome

pytestmark = pytest.mark.pipeline

THREE = (
    Setting(
        "an old processor, one thread, another language and zone",
        {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Kathmandu"},
    ),
    Setting(
        "no vector instructions in numpy and the C library, other hashes",
        {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4", "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={VARIANTS}"}
        | {"PYTHONHASHSEED": "1"},
    ),
    Setting(
        "other times, order, umask and folder",
        words=UMASK,
        folder="a path, with spaces",
        reversed_order=True,
    ),
)


@pytest.mark.parametrize("setting", THREE, ids=lambda one: one.name)
def test_same_bytes(setting: Setting, finished: Project, tmp_path: Path) -> None:
    """The clone's own commit is what it is compared with: its dvc.lock has the hashes of what git does not have."""
    if reason := missing(setting):
        pytest.skip(reason)
    found = outcome(setting._replace(all_stages=True), finished.root, tmp_path / "under")
    assert found.changed == ()
    plain = json.loads(finished.python(str(PROBE)).stdout)
    assert found.probe != plain | {"folder": found.probe["folder"]}, "the setting took no effect"
