"""Kill every stage with SIGKILL at random points; a plain `dvc repro` afterwards has to bring everything back.

`python -m tests.kill [--points 20] [--jobs 2] [--seed 0]` makes the small project and kills, for each stage in a copy
of its own, DVC with the stage. A point lies anywhere from DVC removing what the stage wrote last time to DVC's own end,
so that its writing of dvc.lock and of the cache is hit too. DVC writes dvc.lock and .dvc/tmp/rwlock in place: where one
of them is cut off and DVC fails for it, the remedy of the README comes first, and is counted. It prints a line per
stage, and exits with 1 for any deviation.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from pathlib import Path
from typing import NamedTuple

from tests.project import LEDGER, Project, finish

KEPT = ("dvc.lock", "artifacts", LEDGER)
PHASES = ("before", "during", "after", "ended")
"""Of a kill: before the stage's process, during it, after its last file while DVC still ran, when all had ended."""


class Killed(NamedTuple):
    """What killing one stage showed: how often which phase was hit, which remedies it took, what was wrong."""

    stage: str
    hits: Counter[str]
    remedies: Counter[str]
    findings: list[str]


class Victim:
    """One stage of a finished project, run again by force in a process group of its own."""

    def __init__(self, project: Project, stage: str) -> None:
        self.chain = project.root / f"artifacts/chain/{stage}.json"
        self.output = project.root.parent / f"{stage}.output"
        with self.output.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dvc", "repro", "--force", "--single-item", stage],
                cwd=project.root,
                env=project.environment(),
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, *, written: bool) -> float:
        """The time at which the stage's last file is gone (DVC removed it), or there again."""
        while self.chain.exists() != written and self.process.poll() is None:
            time.sleep(0.001)
        return time.monotonic()

    def signal(self, number: signal.Signals = signal.SIGKILL) -> str:
        """Signal the whole group and wait for its end; returns the phase that this hit."""
        ended = self.process.poll() is not None
        if not ended:
            os.killpg(self.process.pid, number)
        self.process.wait()
        if ended:
            return "ended"
        if self.chain.exists():
            return "after"
        return "during" if b"\n> python -m" in self.output.read_bytes() else "before"


class Spans(NamedTuple):
    """Seconds from DVC removing what the stage wrote to the stage's last file, and from there to DVC's end."""

    stage: float
    end: float


def spans(project: Project, stage: str) -> Spans:
    """Measure a run that nobody kills."""
    victim = Victim(project, stage)
    removed, written = victim.wait_for(written=False), victim.wait_for(written=True)
    assert victim.process.wait() == 0, victim.output.read_text(encoding="utf-8")
    return Spans(written - removed, time.monotonic() - written)


def wait(victim: Victim, share: float, lengths: Spans) -> None:
    """Wait for a share of the stage's span; what is above 1 falls into DVC's, up to its end at 1.2."""
    victim.wait_for(written=False)
    if share > 1:
        victim.wait_for(written=True)
    time.sleep((share - 1) / 0.2 * lengths.end if share > 1 else share * lengths.stage)


def state(project: Project) -> dict[str, str]:
    """The hash of every file that has to be as before, those of DVC's cache included."""
    return {path: md5(data).hexdigest() for path, data in project.bytes_below(*KEPT, ".dvc/cache").items()}


def repaired(project: Project) -> Iterator[str]:
    """Run `dvc repro`; where it fails for a file of DVC's own that is cut off, yield the remedy, and run it again."""
    command = (sys.executable, "-m", "dvc", "repro")
    for last in (False, True):
        done = subprocess.run(command, cwd=project.root, env=project.environment(), capture_output=True, text=True)
        if done.returncode == 0:
            return
        remedy = "rm .dvc/tmp/rwlock" if "RWLock-file" in done.stderr else "git checkout dvc.lock"
        cut_off = remedy.startswith("rm") or project.git("diff", "--name-only", "dvc.lock")
        assert cut_off and not last, done.stdout + done.stderr
        yield remedy
        project.run(*remedy.split())


def deviations(project: Project, before: dict[str, str]) -> Iterator[str]:
    """What is not as it was."""
    now = state(project)
    yield from (f"{path}: other bytes, or gone" for path, data in before.items() if now.get(path) != data)
    # DVC may put more into its cache: where dvc.lock is cut off, it takes a hash for one of an older kind
    yield from (f"{path}: left behind" for path in now.keys() - before.keys() if not path.startswith(".dvc"))
    yield from (f"{path}: left behind" for path in project.root.rglob("*.part"))
    if dirty := project.git("status", "--porcelain"):
        yield f"git status: {dirty}"


def kill_stage(finished: Project, folder: Path, stage: str, points: int, seed: int) -> Killed:
    """Kill one stage `points` times in a copy of the finished project."""
    project = finished.copy(folder / stage / "project")
    lengths, before = spans(project, stage), state(project)
    chosen, killed = random.Random(f"{seed} {stage}"), Killed(stage, Counter(), Counter(), [])
    for number in range(points):
        victim = Victim(project, stage)
        wait(victim, chosen.uniform(0, 1.2), lengths)
        phase = victim.signal()
        killed.hits[phase] += 1
        killed.remedies.update(repaired(project))
        killed.findings.extend(f"{stage}, kill {number} ({phase}): {one}" for one in deviations(project, before))
    project.python("-m", "stages.cli", "verify")
    return killed


def kill_all(finished: Project, folder: Path, stages: list[str], points: int, seed: int, jobs: int) -> Iterator[Killed]:
    """Kill some stages, `jobs` at a time, in their order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda stage: kill_stage(finished, folder, stage, points, seed), stages)


def told(killed: Killed) -> str:
    """One line."""
    hits = ", ".join(f"{killed.hits[phase]} {phase}" for phase in PHASES)
    remedies = "".join(f", {times} needed `{remedy}`" for remedy, times in killed.remedies.items())
    verdict = f"{len(killed.findings)} deviations" if killed.findings else "all right"
    return f"{killed.stage}: {killed.hits.total()} kills ({hits}){remedies}: {verdict}"


def main() -> None:
    """Print a line per stage, then every deviation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20, help="kills per stage; default: 20")
    parser.add_argument("--jobs", type=int, default=2, help="stages at a time; default: 2")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started, findings = time.monotonic(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        finished = finish(folder / "finished" / "project")
        stages = finished.dvc("stage", "list", "--name-only").stdout.split()
        for one in kill_all(finished, folder, stages, arguments.points, arguments.seed, arguments.jobs):
            print(told(one), flush=True)
            findings += one.findings
    print("\n".join([*findings, f"{time.monotonic() - started:.0f} s"]))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
