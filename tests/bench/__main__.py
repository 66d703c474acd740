"""What the pipeline costs beside bare stages: `python -m tests.bench [--holdout] [--runs N]`, or `make bench`.

`dvc repro -f` of the stages of the lexical system, one by one, against what DVC takes for as many stages that only
start Python and import numpy: bare ones, and idle ones with our dependencies, params and outputs, which DVC has to
hash, remove and store as well. The encoder is trained and the corpus embedded beforehand. All run in copies with a git
and a DVC of their own, in turns, so that a busy machine slows all; a ratio is the median of the pairs. Exit status 1
when one to idle stages is above the limit. Without --holdout the holdout of data/course is not even copied.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.project import environment

ROOT = Path(__file__).parents[2]
SOURCES = ("dvc.yaml", "params.yaml", ".dvcignore", ".gitignore", ".gitattributes", ".dvc/config")
STAGES = ("build_index", "score_dev", "sweep_thresholds", "freeze_threshold", "answer_holdout", "evaluate_holdout")
SMALL, COURSE = "tests/data/small", "data/course"
LIMIT = 3.0
BARE_STAGE = """\
  bare_{number}:
    cmd: python -c "import numpy"
"""


def run(project: Path, *command: str) -> str:
    """Run a command in a project and return what it printed; a failure ends the benchmark with it."""
    done = subprocess.run(command, cwd=project, env=environment(project.parent), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def commit(project: Path) -> Path:
    """Put all files of a project into a git of its own."""
    run(project, "git", "init", "--quiet")
    run(project, "git", "add", "--all")
    run(project, "git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "commit", "-qm", "bench")
    return project


def copy_project(target: Path, dataset: str, holdout: bool) -> Path:
    """The sources and one dataset, without its holdout unless it is wanted, and without results."""
    for name in SOURCES:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
    params = (target / "params.yaml").read_text("utf-8").splitlines(keepends=True)
    params = [f"dataset: {dataset}\n" if line.startswith("dataset:") else line for line in params]
    text = "".join(params).replace("- lexical\n- neural\n- hybrid\n", "- lexical\n")
    (target / "params.yaml").write_text(text, "utf-8")
    stages = (target / "dvc.yaml").read_text("utf-8").splitlines(keepends=True)
    alone = [line for number, line in enumerate(stages) if not _of_another_system(stages, number)]
    (target / "dvc.yaml").write_text("".join(alone), "utf-8")
    skipped = ("__pycache__", "holdout-ledger.jsonl") if holdout else ("__pycache__", "holdout*")
    for name in ("stages", dataset):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns(*skipped))
    return commit(target)


def _of_another_system(lines: list[str], number: int) -> bool:
    """True for a dependency or output of neural or hybrid, and for the option below it."""
    names = ("holdout}/neural/", "holdout}/hybrid/")
    below = lines[number].strip() == "cache: false" and any(name in lines[number - 1] for name in names)
    return below or any(name in lines[number] for name in names)


def bare_project(target: Path, stages: int) -> Path:
    """A project of stages that do nothing."""
    (target / ".dvc").mkdir(parents=True)
    shutil.copyfile(ROOT / ".dvc/config", target / ".dvc/config")
    text = "stages:\n" + "".join(BARE_STAGE.format(number=number) for number in range(stages))
    (target / "dvc.yaml").write_text(text, "utf-8")
    return commit(target)


def idle_project(target: Path, project: Path) -> Path:
    """A finished project in which every stage only imports numpy and puts its outputs back."""
    shutil.copytree(project, target, symlinks=True)
    shutil.copytree(project / "artifacts", target.parent / "saved" / "artifacts")
    text = (target / "dvc.yaml").read_text("utf-8")
    idle = 'cmd: python -c "import numpy" && cp -r ../saved/artifacts .\n    deps:'
    (target / "dvc.yaml").write_text(re.sub(r"cmd: >-\n.*?\n    deps:", idle, text, flags=re.DOTALL), "utf-8")
    return target


def repro(project: Path, *targets: str) -> int:
    """Run `dvc repro -f` on stages alone (on all without a target) and return how many it ran."""
    single = ["--single-item"] if targets else []
    return run(project, sys.executable, "-m", "dvc", "repro", "-f", *single, *targets).count("Running stage ")


def seconds(action: Callable[[], object]) -> float:
    """Wall-clock time of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(dataset: str, stage: str, runs: int, holdout: bool) -> float:
    """Print one line and return the median ratio to idle stages; a run of each beforehand fills caches."""
    with tempfile.TemporaryDirectory() as folder:
        project = copy_project(Path(folder) / "ours" / "project", dataset, holdout)
        run(project, sys.executable, "-m", "dvc", "repro", "--quiet", stage)
        targets = STAGES[: STAGES.index(stage) + 1]
        stages = repro(project, *targets)
        bare = bare_project(Path(folder) / "bare" / "project", stages)
        idle = idle_project(Path(folder) / "idle" / "project", project)
        if repro(bare) != stages or repro(idle, *targets) != stages:
            raise SystemExit(f"DVC did not run all of the {stages} bare or idle stages")
        turns = [lambda: repro(project, *targets), lambda: repro(bare), lambda: repro(idle, *targets)]
        times = [[seconds(turn) for turn in turns] for _ in range(runs)]
    ratio = median(ours / theirs for ours, theirs, _ in times)
    beside_idle = median(ours / theirs for ours, _, theirs in times)
    ours, theirs, waited = (median(side) for side in zip(*times, strict=True))
    verdict = "" if beside_idle <= LIMIT else f": ABOVE THE LIMIT OF {LIMIT:g}"
    print(
        f"{dataset}, {stages} stages to {stage}: {ratio:.1f} x bare, {beside_idle:.1f} x idle stages"
        f" (median of {runs}; {ours:.1f} s against {theirs:.1f} s and {waited:.1f} s){verdict}",
        flush=True,
    )
    return beside_idle


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of `dvc repro -f` beside bare stages.")
    parser.add_argument("--holdout", action="store_true", help=f"run {COURSE} up to evaluate_holdout too")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs (default 5)")
    chosen = parser.parse_args()
    ratios = [
        measure(SMALL, "evaluate_holdout", chosen.runs, holdout=True),
        measure(COURSE, "freeze_threshold", chosen.runs, holdout=False),
    ]
    if chosen.holdout:
        ratios.append(measure(COURSE, "evaluate_holdout", chosen.runs, holdout=True))
    sys.exit(max(ratios) > LIMIT)


if __name__ == "__main__":
    main()
