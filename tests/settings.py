"""The same bytes under other settings: `python -m tests.settings`, part of `make reproduce`.

Each row of the table is a fresh clone of HEAD in which `dvc repro --force --no-run-cache` runs under one setting; its
dvc.lock (which has the hashes of what DVC caches), its artifacts and its ledger have to be those of HEAD. The column
`differs here` shows that the setting took effect, and on what: `probe` runs under it too. `ordinary` is the hash of
products, sums, exp and log as numpy and math compute them, for comparison. Exit status 1 when anything is different.
The two longest stages, whose arithmetic is whole numbers and what the others have, run with the report that needs them
where the arithmetic is another one, in the rows that say "all stages".

--emulated adds processors that qemu-user emulates (minutes each; Debian's qemu-user).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from stages.settings import read_yaml
from tests.project import ROOT, environment

COMPARED = ("dvc.lock", "artifacts", "data", "tests/data")
PROBE = Path(__file__).parent / "probe.py"
BACKWARDS = Path(__file__).parent / "backwards.py"


class Setting(NamedTuple):
    """`words` stand before dvc, `emulator` before each stage's Python; `folder` is the clone's name.

    reversed_order: files get other times and folders are listed backwards. all_stages: LONGEST run too.
    """

    name: str
    environment: Mapping[str, str] = {}
    words: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()
    folder: str = "project"
    reversed_order: bool = False
    all_stages: bool = False


LONGEST = ("perturb_images", "ablate", "write_report")
KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
UMASK = ("sh", "-c", 'umask 077; exec "$@"', "sh")
VARIANTS = "-AVX2,-AVX512F,-AVX512VL,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable"
SETTINGS = (
    *(
        Setting(f"OPENBLAS_CORETYPE={kernel}", {"OPENBLAS_CORETYPE": kernel}, all_stages=kernel == "Prescott")
        for kernel in KERNELS
    ),
    *(
        Setting(f"{number} BLAS and OpenMP threads", {"OPENBLAS_NUM_THREADS": number, "OMP_NUM_THREADS": number})
        for number in "12"
    ),
    Setting("numpy without X86_V3, X86_V4", {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}),
    Setting("glibc without AVX2, FMA", {"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={VARIANTS}"}, all_stages=True),
    Setting("PYTHONHASHSEED=1", {"PYTHONHASHSEED": "1"}),
    Setting("TZ=Asia/Kathmandu", {"TZ": "Asia/Kathmandu"}),
    Setting("LC_ALL=C, no UTF-8 mode", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Setting("umask 077", words=UMASK),
    Setting("another user, a path with spaces", words=("unshare", "--user"), folder="a path  with spaces, é"),
    Setting("other times, folders backwards", reversed_order=True),
)
EMULATED = tuple(
    Setting(f"qemu-x86_64 -cpu {model}", {"OPENBLAS_CORETYPE": kernel}, emulator=("qemu-x86_64", "-cpu", model))
    for model, kernel in (("Nehalem", "Nehalem"), ("SandyBridge", "Sandybridge"), ("Haswell", "Haswell"))
)


class Outcome(NamedTuple):
    """What the probe saw under a setting; what differs from HEAD afterwards, as git lists it; or why it did not run."""

    probe: Mapping[str, object] = {}
    changed: tuple[str, ...] = ()
    skipped: str | None = None


def missing(setting: Setting) -> str | None:
    """Why this machine cannot have the setting, or None."""
    program = (*setting.emulator, *setting.words)[:1]
    if program and not shutil.which(program[0]):
        return f"no {program[0]} here"
    tried = subprocess.run([*setting.words, "true"], capture_output=True, check=False)
    return f"{program[0]}: {tried.stderr.decode().strip()}" if tried.returncode else None


def outcome(setting: Setting, source: Path, folder: Path) -> Outcome:
    """Run the pipeline of `source` under a setting, in a clone below the new `folder`, which is removed again."""
    if skipped := missing(setting):
        return Outcome(skipped=skipped)
    root = folder / setting.folder
    under = environment(folder / "machine") | _programs(setting, folder) | dict(setting.environment)
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{source}", str(root)], check=True)
    if setting.reversed_order:
        for number, path in enumerate(sorted(root.rglob("*"))):
            os.utime(path, (10**9 + number, 10**9 - number))
    probe = json.loads(_run([*setting.words, "python", str(PROBE)], root, under))
    stages = read_yaml(root / "dvc.yaml")["stages"]
    chosen = [] if setting.all_stages else ["--single-item", *(name for name in stages if name not in LONGEST)]
    repro = ["-m", "dvc", "repro", "--force", "--no-run-cache", "--quiet", *chosen]
    _run([*setting.words, sys.executable, *repro], root, under)
    changed = _run(["git", "status", "--porcelain", "--", *COMPARED], root, under).splitlines()
    shutil.rmtree(root)
    return Outcome(probe, tuple(changed))


def _programs(setting: Setting, folder: Path) -> dict[str, str]:
    """A `python` first on the path that starts the emulator, and modules that Python loads at its start."""
    programs, modules = folder / "bin", folder / "modules"
    programs.mkdir(parents=True)
    modules.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec {" ".join([*setting.emulator, sys.executable])} "$@"\n')
    (programs / "python").chmod(0o755)
    if setting.reversed_order:
        shutil.copyfile(BACKWARDS, modules / "sitecustomize.py")
    return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(modules)}


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def outcomes(settings: Sequence[Setting], source: Path, jobs: int) -> Iterator[Outcome]:
    """The outcome of each setting, in order."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(
            lambda item: outcome(item[1], source, Path(folder) / str(item[0])), enumerate(settings, start=1)
        )


def row(setting: Setting, found: Outcome, plain: Mapping[str, object]) -> tuple[str, str, str, str]:
    """One row: setting, what its probe has that a plain one has not, hash of ordinary arithmetic, verdict."""
    if found.skipped:
        return setting.name, "-", "-", f"not run: {found.skipped}"
    differs = [f"{name} {value}" for name, value in found.probe.items() if plain[name] != value and name != "ordinary"]
    same = "same bytes, all stages" if setting.all_stages else "same bytes"
    verdict = f"DIFFERENT: {' '.join(found.changed)}" if found.changed else same
    alone = "nothing" if found.probe["ordinary"] == plain["ordinary"] else "the arithmetic alone"
    return setting.name, ", ".join(differs) or alone, str(found.probe["ordinary"]), verdict


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Run the pipeline under other settings and compare all bytes.")
    parser.add_argument("names", nargs="*", metavar="SETTING", help="only these, the first in place of a plain run")
    parser.add_argument("--emulated", action="store_true", help="on emulated processors too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="clones at the same time")
    chosen = parser.parse_args()
    listed = (Setting("plain"), *SETTINGS, *(EMULATED if chosen.emulated else ()))
    settings = [one for one in listed if not chosen.names or one.name in chosen.names]
    plain: Mapping[str, object] = {}
    different = False
    print(f"{'setting':35} {'ordinary':9} {'artifacts':23} differs here")
    for setting, found in zip(settings, outcomes(settings, ROOT, chosen.jobs), strict=True):
        plain = plain or found.probe
        name, differs, ordinary, verdict = row(setting, found, plain)
        print(f"{name:35} {ordinary:9} {verdict:23} {differs}", flush=True)
        different |= bool(found.changed)
    sys.exit(different)


if __name__ == "__main__":
    main()
