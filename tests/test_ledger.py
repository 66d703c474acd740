"""The ledger: one line for each distinct system that met the holdout, and no line that was committed is ever gone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.calibration.ledger import Result, Seen, add, gone
from stages.errors import BadInputError, StaleThresholdError
from stages.history import check
from tests.project import LEDGER, ROOT, SMALL, Project

STAGES = ("score_dev", "sweep_thresholds", "freeze_threshold", "answer_holdout", "evaluate_holdout")
ANSWERER = "stages/answering/answer.py"
HOLDOUT = f"{SMALL}/queries/holdout.jsonl"
KEPT = "no line of HEAD's history is gone"

systems = st.tuples(*[st.sampled_from("abc")] * 3)


def line(holdout: str, contract: str, system: str, error: float = 1.0) -> Seen:
    return Seen(holdout, contract, system, {"lexical": Result(error, 2.0)})


@given(st.lists(systems).flatmap(lambda keys: st.tuples(st.just(keys), st.permutations(keys))))
def test_adding_in_any_order_and_again_gives_the_same_set(
    orders: tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]],
) -> None:
    made = []
    for keys in orders:
        ledger: list[Seen] = []
        for key in (*keys, *keys):
            ledger = add(ledger, line(*key))
        made.append(ledger)
    assert made[0] == made[1] == [line(*key) for key in sorted(set(orders[0]))]


def test_two_results_of_one_system_are_refused_wherever_they_stand() -> None:
    with pytest.raises(StaleThresholdError, match=r"system s gave .*1\.0.* before, .*3\.0.* now"):
        add([line("h", "c", "s"), line("h", "c", "s", 3.0)], line("h", "c", "t"))


def test_the_oldest_line_of_a_system_is_the_one_that_must_be_there() -> None:
    old, edited, other = line("h", "c", "s"), line("h", "c", "s", 3.0), line("h", "c", "a")
    history = [("1", old), ("2", other), ("2", edited), ("3", old)]
    assert gone(history, [other, old]) == []
    assert gone(history, [other, edited]) == [("1", old)]
    assert gone(history, []) == [("2", other), ("1", old)]


def lines(project: Project) -> list[bytes]:
    return (project.root / LEDGER).read_bytes().splitlines(keepends=True)


def rerun(project: Project) -> None:
    for name in STAGES:
        project.run_stage(name)


def append(path: str, text: str) -> Callable[[Project], object]:
    return lambda project: (project.root / path).open("a", encoding="utf-8").write(text)


def edit(path: str, old: str, new: str) -> Callable[[Project], object]:
    return lambda project: project.edit(path, old, new)


def reword(project: Project) -> None:
    """One holdout question in other words."""
    first, rest = (project.root / HOLDOUT).read_text(encoding="utf-8").split("\n", 1)
    row = json.loads(first)
    changed = json.dumps({**row, "text": f"please, {row['text']}"}, ensure_ascii=False)
    (project.root / HOLDOUT).write_text(f"{changed}\n{rest}", encoding="utf-8")


CHANGES: dict[str, Callable[[Project], object]] = {
    "param": edit("params.yaml", "field_coverage: 0.5", "field_coverage: 0.45"),
    "weight": edit("params.yaml", "fp_weight: 2", "fp_weight: 3"),
    "answerer": append(ANSWERER, "# changed\n"),
    "question": reword,
}


@pytest.mark.pipeline
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_adds_exactly_one_line_and_the_same_again_none(name: str, damaged: Project) -> None:
    before = lines(damaged)
    CHANGES[name](damaged)
    rerun(damaged)
    after = lines(damaged)
    assert len(after) == len(before) + 1 and set(before) < set(after)
    rerun(damaged)
    assert lines(damaged) == after
    assert len((damaged.root / "artifacts/seen.jsonl").read_bytes().splitlines()) == (1 if name == "question" else 2)


@pytest.mark.pipeline
def test_the_same_run_adds_nothing_here_or_on_a_second_machine(finished: Project, tmp_path: Path) -> None:
    """From the sources alone, in a folder with another name."""
    second = Project(tmp_path / "a second machine" / "Projekt é")
    made = ("artifacts", ".git", "cache", "tmp", Path(LEDGER).name, "__pycache__")
    shutil.copytree(finished.root, second.root, ignore=shutil.ignore_patterns(*made))
    for name in ("build_index", "train_encoder", "embed_corpus", *STAGES):
        second.run_stage(name)
    assert lines(second) == lines(finished)
    second.run_stage("evaluate_holdout")
    assert lines(second) == lines(finished)


@pytest.mark.pipeline
def test_an_edited_result_is_refused_by_the_next_evaluation(damaged: Project) -> None:
    (row,) = map(json.loads, lines(damaged))
    row["results"]["lexical"]["holdout_weighted_error"] -= 1
    (damaged.root / LEDGER).write_text(json.dumps(row) + "\n", encoding="utf-8")
    before = damaged.bytes_below(LEDGER, "artifacts/metrics.json")
    assert f"StaleThresholdError: ledger: system {row['system']} gave" in damaged.run_stage(STAGES[-1], status=3)
    assert damaged.bytes_below(LEDGER, "artifacts/metrics.json") == before


def ledger(project: Project, status: int = 0) -> tuple[str, str]:
    done = project.python("-m", "stages.cli", "ledger", status=status)
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@pytest.mark.pipeline
def test_the_command_shows_each_system_and_marks_the_current_one(damaged: Project) -> None:
    (own,) = map(json.loads, lines(damaged))
    former = {**own, "system": "f" * 64, "results": {"lexical": own["results"]["lexical"]}}
    append(LEDGER, json.dumps(former) + "\n" + json.dumps({**own, "holdout": "0" * 64}) + "\n")(damaged)
    head, names, first, second, *said = ledger(damaged)[0].splitlines()
    assert head.split() == ["lexical", "neural", "hybrid"] and names.split() == [
        "version",
        *("dev", "holdout", "difference") * 3,
    ]
    figures = json.loads((damaged.root / "artifacts/metrics.json").read_bytes())
    dev = json.loads((damaged.root / "artifacts/dev_metrics.json").read_bytes())
    rates = [
        found["lexical"]["gate"]["weighted_error"]
        / sum(found["lexical"]["gate"][one] for one in ("tp", "fp", "fn", "tn"))
        for found in (dev, figures)
    ]
    shown = [f"{rates[0]:.4f}", f"{rates[1]:.4f}", f"{rates[1] - rates[0]:+.4f}"]
    assert first.split()[:5] == [own["system"][:12], "(current)", *shown]
    assert second.split() == ["f" * 12, *shown, *"-" * 6]
    assert said[0].startswith("2 distinct versions have seen this holdout") and said[-1] == KEPT


def commit(project: Project) -> str:
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=changed")
    return project.git("rev-parse", "HEAD").strip()


def bring_back(project: Project, told: str) -> None:
    """Run each command that the message names."""
    for command in [text.strip() for text in told.splitlines() if " show " in text]:
        project.run("bash", "-c", command)


@pytest.mark.pipeline
@pytest.mark.parametrize("committed", [False, True])
def test_a_line_that_is_gone_is_named_and_comes_back(committed: bool, damaged: Project) -> None:
    had = damaged.git("rev-parse", "HEAD").strip()
    (own,) = map(json.loads, lines(damaged))
    (damaged.root / LEDGER).unlink()
    if committed:
        commit(damaged)
    told = ledger(damaged, status=3)[1]
    assert told.startswith("StaleThresholdError: ") and f"system {own['system']}: in {had[:12]}" in told
    bring_back(damaged, told)
    assert ledger(damaged)[0].splitlines()[-1] == KEPT


@pytest.mark.pipeline
def test_a_line_that_a_merge_threw_away_is_gone(damaged: Project) -> None:
    (own,) = lines(damaged)
    damaged.git("checkout", "--quiet", "-b", "side")
    other = own.replace(json.loads(own)["system"].encode(), b"e" * 64)
    (damaged.root / LEDGER).write_bytes(own + other)
    had = commit(damaged)
    damaged.git("checkout", "--quiet", "main")
    damaged.git("merge", "--quiet", "--strategy=ours", "--no-edit", "side")
    told = ledger(damaged, status=3)[1]
    assert f"system {'e' * 64}: in {had[:12]}" in told
    bring_back(damaged, told)
    assert lines(damaged) == [own, other]


@pytest.mark.pipeline
def test_a_line_that_was_only_staged_is_gone(damaged: Project) -> None:
    (own,) = lines(damaged)
    other = own.replace(json.loads(own)["system"].encode(), b"e" * 64)
    (damaged.root / LEDGER).write_bytes(own + other)
    damaged.git("add", LEDGER)
    (damaged.root / LEDGER).write_bytes(own)
    told = ledger(damaged, status=3)[1]
    assert f"system {'e' * 64}: in the index" in told
    bring_back(damaged, told)
    assert lines(damaged) == [own, other]


@pytest.mark.pipeline
def test_a_committed_edit_is_a_line_that_is_gone_and_undoing_it_is_enough(damaged: Project) -> None:
    before = lines(damaged)
    edited = before[0].replace(b'"dev_weighted_error":', b'"dev_weighted_error":9')
    (damaged.root / LEDGER).write_bytes(edited)
    commit(damaged)
    told = ledger(damaged, status=3)[1]
    assert ", edited: in " in told
    bring_back(damaged, told)
    assert lines(damaged) == before and ledger(damaged)[0].endswith(f"{KEPT}\n")


@pytest.mark.pipeline
def test_a_line_of_a_change_comes_back_by_itself(damaged: Project) -> None:
    """Each line has the same hashes; what was changed has characters that mean something to sed and grep."""
    (own,) = lines(damaged)
    kept, lost = (
        json.dumps({"changed": text} | json.loads(own) | {"results": {}}, separators=(",", ":")).encode() + b"\n"
        for text in ("a/b=[3]", r'x.*^$\1[]{}="$(touch x)" \'q\'')
    )
    (damaged.root / LEDGER).write_bytes(b"".join(sorted([own, kept, lost])))
    commit(damaged)
    edited = own.replace(b'"dev_weighted_error":', b'"dev_weighted_error":9')
    (damaged.root / LEDGER).write_bytes(edited + kept)
    told = ledger(damaged, status=3)[1]
    assert told.count(" show ") == 2
    bring_back(damaged, told)
    assert sorted(lines(damaged)) == sorted([own, kept, lost])


@pytest.mark.pipeline
def test_a_ledger_in_a_subfolder_with_an_odd_name_and_what_cannot_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = Project(tmp_path / "checkout")
    folder = checkout.root / "my projects" / "Maße [1] 数据"
    file = folder / "da ta" / "holdout ledger é.jsonl"
    file.parent.mkdir(parents=True)
    own = json.dumps({"holdout": "h", "contract": "c", "system": "s", "results": {}}) + "\n"
    file.write_text(own, encoding="utf-8")
    assert check(folder, file) == ["not checked whether a committed line is gone: the ledger lies in no git checkout"]
    checkout.git("init", "--quiet", "--initial-branch=main")
    for name in ("user.name", "user.email"):
        checkout.git("config", name, "tests")
    assert check(folder, file) == ["da ta/holdout ledger é.jsonl: not committed yet"]
    commit(checkout)
    file.write_text("<<<<<<< HEAD\n" + own, encoding="utf-8")
    broken = commit(checkout)
    file.write_text("", encoding="utf-8")
    commit(checkout)
    with pytest.raises(StaleThresholdError, match="no line of a ledger") as raised:
        check(folder, file)
    bring_back(Project(folder), str(raised.value))
    monkeypatch.setenv("GIT_DIR", str(checkout.root / ".git"))  # as a hook has it
    found = check(folder, file)
    monkeypatch.delenv("GIT_DIR")
    assert found[0].startswith(f"no line of a ledger, passed over: {broken[:12]}:holdout ledger é.jsonl:1: ")
    assert found[1:] == [KEPT]
    checkout.git("clone", "--quiet", "--depth=2", f"file://{checkout.root}", str(tmp_path / "shallow"))
    shallow = tmp_path / "shallow" / folder.relative_to(checkout.root)
    (shallow / "da ta" / file.name).write_text(own, encoding="utf-8")
    assert "a shallow clone: only 2 commits could be looked at" in "\n".join(
        check(shallow, shallow / "da ta" / file.name)
    )
    (checkout.root / ".git" / "HEAD").write_text("nonsense", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"^git [a-z-]+: exit status"):
        check(folder, file)


def test_without_git_the_check_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check(tmp_path, tmp_path / "ledger.jsonl") == [
        "not checked whether a committed line is gone: git is not installed"
    ]


def test_the_committed_ledger_has_lost_no_line() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout: there is no history to compare the ledger with")
    assert KEPT in check(ROOT, ROOT / "data/course/evaluation-only/holdout-ledger.jsonl")
