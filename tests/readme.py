"""The README's console blocks: run every command in a copy of the project and compare, or write, what it prints.

`python -m tests.readme` writes the outputs into README.md. A block after a line `<!-- shown once: why -->` is run when
written, but not compared: it shows a time or a commit.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?P<mark><!-- shown once[^\n]*-->\n)?```console\n(?P<body>.*?)\n```", re.DOTALL)


def commands(body: str) -> list[str]:
    """The commands of one block, in order."""
    return [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]


def copy_project(destination: Path) -> Path:
    """A clone of the last commit, with what only DVC's cache has made again; all else must be what it was."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(destination)], check=True)
    for name, value in (("user.name", "readme"), ("user.email", "readme@example.invalid")):
        subprocess.run(["git", "config", name, value], cwd=destination, check=True)
    run("dvc repro --quiet perturb_images", destination)
    return destination


def run(command: str, folder: Path) -> str:
    """What a command prints, both streams, without trailing white space."""
    binaries = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    environment["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return "\n".join(line.rstrip() for line in (done.stdout + done.stderr).splitlines()).strip("\n")


def filled(body: str, folder: Path) -> str:
    """The block with what its commands print now."""
    return "\n".join(f"$ {command}\n{run(command, folder)}".rstrip("\n") for command in commands(body))


def main() -> None:
    """Write README.md again."""
    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as temporary:
        folder = copy_project(Path(temporary) / "project")
        text = BLOCK.sub(
            lambda found: f"{found['mark'] or ''}```console\n{filled(found['body'], folder)}\n```",
            readme.read_text(encoding="utf-8"),
        )
        shutil.rmtree(folder)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
