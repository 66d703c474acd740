"""What breaks from outside: an error says what to do, and the next run gives the same bytes."""

import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stages.errors import BadInputError
from stages.files import update_jsonl, write_bytes
from stages.records import Caption
from tests.kill import Victim, deviations, kill_stage, spans, state, wait
from tests.project import LEDGER, ROOT, SMALL, Project

pipeline = pytest.mark.pipeline
FAILED = 255
"""What DVC makes of a stage that ends with an error."""


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


IN_THE_WAY: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a folder in its place": (Path.mkdir, "x.json", "Is a directory); move that folder away"),
    "a file where its folder belongs": (Path.touch, "x.json/y.json", "File exists); move away the file"),
    "a file where a folder above belongs": (Path.touch, "x.json/y/z.json", "Not a directory); move away the file"),
    "too long a name": (lambda _: None, "x" * 300, "File name too long); choose a shorter path"),
}


@pytest.mark.parametrize(("prepare", "path", "told"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_stands_in_the_way_is_named(
    prepare: Callable[[Path], object], path: str, told: str, tmp_path: Path
) -> None:
    prepare(tmp_path / "x.json")
    before = names(tmp_path)
    with pytest.raises(BadInputError) as raised:
        write_bytes(tmp_path / path, b"new")
    assert str(raised.value).startswith(f"{tmp_path / path}: cannot be written ({told}")
    assert names(tmp_path) == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_write_that_fails_leaves_what_was_there(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(code, os.strerror(code))

    write_bytes(tmp_path / "x.json", b"old")
    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(
        BadInputError, match=rf"x\.json: cannot be written \({os.strerror(code)}\); .+ and run it again$"
    ):
        write_bytes(tmp_path / "x.json", b"new")
    assert names(tmp_path) == ["x.json"] and (tmp_path / "x.json").read_bytes() == b"old"


def test_what_a_killed_run_left_goes_when_the_file_is_written_again(tmp_path: Path) -> None:
    others = [".x.json.bak", ".x.json.12.part.bak", ".y.json.12.part", "x.json.12.part", ".xxjson.12.part"]
    for name in (".x.json.12.part", ".x.json.34567.part", *others):
        (tmp_path / name).write_bytes(b"half")
    write_bytes(tmp_path / "x.json", b"new")
    assert names(tmp_path) == sorted([*others, "x.json"])


WRITER = """
import sys
from stages.files import write_bytes
from stages.stage.run import run
path, byte, times = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
def main():
    for _ in range(times):
        write_bytes(path, byte * 1_000_000)
run(main)
"""


def writer(path: Path, byte: str, times: int) -> subprocess.Popen[str]:
    """A process that writes a million times the same byte, over and over."""
    words = [sys.executable, "-c", WRITER, str(path), byte, str(times)]
    return subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def is_whole(path: Path) -> bool:
    data = path.read_bytes()
    return len(data) == 1_000_000 and len(set(data)) == 1


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_bytes(path, b"-" * 1_000_000)
    for byte in "01234567":
        with writer(path, byte, 10_000) as process:
            while path.read_bytes()[:1] != byte.encode():
                assert process.poll() is None
            time.sleep(int(byte) / 500)
            process.kill()
        assert is_whole(path)
        assert len(names(tmp_path)) <= 2, "what is left does not pile up"
    write_bytes(path, b"new")
    assert names(tmp_path) == ["x"]


def test_two_writers_never_mix(tmp_path: Path) -> None:
    """One may end with an error, no reader sees half a file."""
    path = tmp_path / "x"
    write_bytes(path, b"0" * 1_000_000)
    with writer(path, "1", 150) as one, writer(path, "2", 150) as other:
        while one.poll() is None or other.poll() is None:
            assert is_whole(path)
        for process in (one, other):
            told = process.communicate()[1]
            refused = process.returncode == 1 and "something else writes or removes it and run it again" in told
            assert process.returncode == 0 or refused, told
    assert is_whole(path) and names(tmp_path) == ["x"]


ADDER = """
import sys
from stages.files import update_jsonl
from stages.records import Caption
for number in range(25):
    update_jsonl(sys.argv[1], Caption, lambda rows: [*rows, Caption(f"{sys.argv[2]}-{number}", "")])
"""


def test_no_line_is_lost_between_two_that_add_lines(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    started = [subprocess.Popen([sys.executable, "-c", ADDER, str(path), name], cwd=ROOT) for name in "abc"]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert len(update_jsonl(path, Caption, lambda rows: rows)) == 75


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips where nobody may mount anything, not even in a namespace of their own."""
    probe = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("needs Linux namespaces that may mount (`unshare --map-root-user --mount`)")


def mounted(project: Project, *script: str) -> tuple[str, dict[str, bytes]]:
    """Run a script where it may mount; what it printed, and the artifacts and dvc.lock as it saw them at its end."""
    seen = project.root.parent / "seen"
    lines = ("set -e", *script, f"mkdir {seen}", f"cp -r artifacts dvc.lock {seen}", "git status --porcelain")
    done = project.run("unshare", "--map-root-user", "--mount", "sh", "-c", "\n".join(lines))
    return done.stdout + done.stderr, Project(seen).bytes_below("artifacts", "dvc.lock")


def command(project: Project, stage: str) -> str:
    """The command of a stage, for a shell."""
    return shlex.join(["python", *project.stage(stage).arguments])


def assert_right(project: Project, before: dict[str, str]) -> None:
    """A plain `dvc repro` brings everything back."""
    project.dvc("repro")
    assert list(deviations(project, before)) == []
    project.python("-m", "stages.cli", "verify")


@pipeline
@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("stage", "folder", "room", "file"),
    [
        ("build_index", "artifacts/index", 20, "artifacts/index/lexical.npz"),
        ("embed_corpus", "artifacts/vectors", 400, "artifacts/vectors/hnsw.bin"),
        ("evaluate_holdout", f"{SMALL}/evaluation-only", 0, LEDGER),
    ],
)
def test_a_full_disk(stage: str, folder: str, room: int, file: str, damaged: Project) -> None:
    """`room` KiB are too little; once there is more the next run is right."""
    before = damaged.bytes_below("artifacts", "dvc.lock")
    printed, after = mounted(
        damaged,
        f"mount -t tmpfs -o size=64m tmpfs {folder}",
        f"git checkout --quiet -- {folder}",
        f"used=$(df --output=used -k {folder} | tail -n 1)",
        f"mount -o remount,size=$((used + {room}))k {folder}",
        f"python -m dvc repro -f -s {stage} && exit 9",
        f"test -z \"$(find {folder} -name '.*.part')\"",
        f"mount -o remount,size=64m {folder}",
        f"python -m dvc repro {stage}",
    )
    assert f"BadInputError: {file}: cannot be written (No space left on device); make room on that disk" in printed
    assert after == before


@pipeline
@pytest.mark.usefixtures("namespaces")
def test_no_space_for_the_cache_of_dvc(damaged: Project) -> None:
    """DVC names the file that it cannot copy; once there is room, all is made again."""
    before = damaged.bytes_below("artifacts", "dvc.lock")
    printed, after = mounted(
        damaged,
        "mount -t tmpfs -o size=64k tmpfs .dvc/cache",
        "python -m dvc repro -f -s build_index && exit 9",
        "mount -o remount,size=64m .dvc/cache",
        "python -m dvc repro build_index",
    )
    assert "ERROR: failed to reproduce 'build_index': [Errno 28] No space left on device" in printed
    assert after == before


@pipeline
@pytest.mark.usefixtures("namespaces")
def test_artifacts_that_cannot_be_written(damaged: Project) -> None:
    """DVC fails before the stage; the stage by itself says what to do."""
    before, ledger = damaged.bytes_below("artifacts", "dvc.lock"), (damaged.root / LEDGER).read_bytes()
    printed, after = mounted(
        damaged,
        "mount --bind artifacts artifacts",
        "mount -o remount,bind,ro artifacts",
        "python -m dvc repro -f -s freeze_threshold && exit 9",
        f"{command(damaged, 'freeze_threshold')} && exit 9",
    )
    assert "ERROR: failed to reproduce 'freeze_threshold': [Errno 30] Read-only file system: " in printed
    assert (
        "BadInputError: artifacts/threshold/lexical.json: cannot be written (Read-only file system); mount it"
        in printed
    )
    assert after == before and (damaged.root / LEDGER).read_bytes() == ledger


@pipeline
@pytest.mark.parametrize("path", [f"{SMALL}/corpus/docs/catalogue.md", "artifacts/index"])
def test_what_may_not_be_opened(path: str, damaged: Project) -> None:
    """An original that nobody may read, a folder that nobody may write."""
    before = state(damaged)
    # root opens everything, unless it gives up the two capabilities that say so
    as_a_user = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if as_a_user and shutil.which("setpriv") is None:
        pytest.skip("as root this needs setpriv")
    mode = (damaged.root / path).stat().st_mode
    (damaged.root / path).chmod(0o555 if "artifacts" in path else 0)
    printed = damaged.run(*as_a_user, *shlex.split(command(damaged, "build_index")), status=1).stderr
    (damaged.root / path).chmod(mode)
    assert printed.startswith(f"BadInputError: {path}") and "(Permission denied); " in printed
    assert_right(damaged, before)


@pipeline
def test_a_second_repro_beside_a_first_is_refused(damaged: Project) -> None:
    before, victim = state(damaged), Victim(damaged, "train_encoder")
    victim.wait_for(written=False)
    time.sleep(1)
    refused = damaged.dvc("repro", "--force", status=FAILED).stderr
    assert victim.process.wait() == 0
    assert "' is busy, it is being blocked by:\n" in refused or "Unable to acquire lock" in refused
    assert_right(damaged, before)


@pipeline
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stage_that_is_interrupted(number: signal.Signals, damaged: Project) -> None:
    """Ctrl-C reaches DVC, its shell and the stage; DVC ends with 255 and the command that was ended.

    The stage ends with 130. Bash has become the stage and reports that; dash waits for it, then dies of SIGINT itself.
    """
    lengths, before = spans(damaged, "train_encoder"), state(damaged)
    hits, printed = [], ""
    # on a busy machine a run may be over sooner than the one that was measured, or still be loading Python
    for share in (0.6, 0.4, 0.25, 0.15, 0.5, 0.7, 0.85):
        victim = Victim(damaged, "train_encoder")
        wait(victim, share, lengths)
        hits.append(victim.signal(number))
        printed = victim.output.read_text(encoding="utf-8")
        if hits[-1] == "during" and "<frozen importlib" not in printed:
            break
    else:
        if "during" not in hits:
            pytest.skip("too busy a machine: each time the stage had ended before it was interrupted")
    assert "Traceback" not in printed
    if number == signal.SIGINT:
        assert victim.process.returncode == FAILED
        assert "exited with 130\n" in printed or "exited with -2\n" in printed
    else:
        assert victim.process.returncode == -signal.SIGTERM
    assert_right(damaged, before)


@pipeline
def test_dvc_dies_and_its_stage_goes_on(damaged: Project) -> None:
    """The next `dvc repro` runs the stage beside the one that was left alone."""
    before, victim = state(damaged), Victim(damaged, "answer_holdout")
    victim.wait_for(written=False)
    time.sleep(0.3)
    victim.process.kill()
    victim.process.wait()
    assert_right(damaged, before)


@pipeline
@pytest.mark.parametrize("stage", ["build_index", "freeze_threshold", "evaluate_holdout"])
def test_a_stage_that_is_killed(stage: str, finished: Project, tmp_path: Path) -> None:
    """`python -m tests.kill` does this to all stages, and more often."""
    assert kill_stage(finished, tmp_path, stage, 3, seed=0).findings == []


@pipeline
def test_what_a_killed_run_left_is_nobodys(damaged: Project) -> None:
    """Neither DVC nor git nor the chain takes it for an output or an original."""
    for name in ("artifacts/dev/.lexical.json", "artifacts/.metrics.json", f"{SMALL}/corpus/docs/.a.md", f"{SMALL}/.b"):
        (damaged.root / f"{name}.12.part").write_bytes(b"half")
    assert damaged.dvc("status").stdout == "Data and pipelines are up to date.\n"
    assert damaged.git("status", "--porcelain") == ""
    damaged.python("-m", "stages.cli", "verify")


@pipeline
@pytest.mark.parametrize(
    ("path", "last", "said", "remedy"),
    [
        ("dvc.lock", b"", "'./dvc.lock' validation failed.", "git checkout dvc.lock"),
        ("dvc.lock", b"      ha", "'./dvc.lock' is invalid.", "git checkout dvc.lock"),
        (".dvc/tmp/rwlock", b"{", "Unable to read RWLock-file '.dvc/tmp/rwlock'", "rm .dvc/tmp/rwlock"),
    ],
)
def test_a_file_of_dvc_that_was_cut_off(path: str, last: bytes, said: str, remedy: str, damaged: Project) -> None:
    """DVC writes these in place; the README says what to do."""
    before, cut_off = state(damaged), damaged.root / path
    data = cut_off.read_bytes()
    cut_off.write_bytes(data[: data.index(last) + len(last)])
    assert said in damaged.dvc("repro", status=FAILED).stderr
    damaged.run(*remedy.split())
    assert_right(damaged, before)


@pytest.fixture
def queue(damaged: Project) -> Iterator[Project]:
    """A project whose workers are stopped in the end."""
    yield damaged
    damaged.dvc("queue", "stop", "--kill")


@pipeline
def test_two_experiments_at_a_time(queue: Project) -> None:
    """Both end right, each with its line in its own ledger; the workspace is as it was."""
    before = state(queue)
    for weight in ("3", "5"):
        queue.dvc("exp", "run", "--queue", "--name", f"w{weight}", "-S", f"calibrate.fp_weight={weight}")
    queue.dvc("queue", "start", "--jobs", "2")
    deadline = time.monotonic() + 180
    while (told := queue.dvc("queue", "status").stdout).count("Success") < 2:
        assert time.monotonic() < deadline and "Failed" not in told, told
        time.sleep(1)
    assert {path: data for path, data in state(queue).items() if path in before} == before
    assert queue.git("status", "--porcelain") == ""
    for weight in ("3", "5"):
        queue.dvc("exp", "apply", f"w{weight}")
        queue.python("-m", "stages.cli", "verify")
        assert json.loads((queue.root / "artifacts/threshold/lexical.json").read_bytes())["fp_weight"] == int(weight)
        assert len((queue.root / LEDGER).read_bytes().splitlines()) == 2


@pipeline
@pytest.mark.parametrize("words", ["table", "ledger", "ask --json small"])
def test_output_that_goes_nowhere_is_an_error(words: str, finished: Project) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    done = finished.run("sh", "-c", f"python -m stages.cli {words} > /dev/full", status=1)
    assert done.stderr.startswith("BadInputError: standard output: No space left on device; ")
    assert "Traceback" not in done.stderr


@pipeline
def test_a_full_standard_error_changes_no_exit_status(damaged: Project) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    damaged.edit("params.yaml", "fp_weight: 2\n", "fp_weight: 3\n")
    damaged.run("sh", "-c", "python -m stages.cli verify 2> /dev/full", status=3)
