"""What the README shows is what its commands print."""

from pathlib import Path

import pytest

from tests.readme import BLOCK, ROOT, copy_project, filled


@pytest.mark.pipeline
def test_every_command_in_the_readme_prints_what_stands_there(tmp_path: Path) -> None:
    folder = copy_project(tmp_path / "project")
    blocks = [found for found in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8")) if not found["mark"]]
    assert len(blocks) >= 4
    for found in blocks:
        assert filled(found["body"], folder) == found["body"]
