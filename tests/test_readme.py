"""What the README shows is what its commands print."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import BLOCK, ROOT, filled, run


@pytest.mark.pipeline
def test_every_command_in_the_readme_prints_what_stands_there(committed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(committed, folder, symlinks=True)
    blocks = [found for found in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8")) if not found["mark"]]
    assert len(blocks) >= 4
    for found in blocks:
        assert filled(found["body"], folder) == found["body"]


@pytest.mark.pipeline
def test_what_is_committed_is_what_the_pipeline_makes(committed: Path) -> None:
    assert run("git status --porcelain", committed) == "", "dvc repro freeze_threshold changed what is committed"
    found = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json"], cwd=committed, capture_output=True, text=True, check=True
    )
    changed = {
        stage: [one for one in what if "changed deps" in one] for stage, what in json.loads(found.stdout).items()
    }
    assert not any(changed.values()), "run dvc repro and commit dvc.lock"
