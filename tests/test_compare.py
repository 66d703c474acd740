"""Two runs compared: what flipped, by cause; nothing of the checkout changes, and other holdouts are refused."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from stages import git
from stages.errors import BadInputError
from stages.measures.compared import comparisons
from stages.measures.evaluate import outcome
from stages.measures.flips import (
    Bar,
    Data,
    Decided,
    Evaluation,
    Run,
    Said,
    Section,
    compare_runs,
    compared_markdown,
    compared_text,
)
from stages.measures.refusal import cost
from stages.measures.story import COLUMNS, plain
from stages.measures.table import columns
from stages.records import Label
from tests.project import SMALL, Project
from tests.test_attribution import THREE_KG, refusal
from tests.test_compared import SIGNALS, evaluated

RIGHT, WRONG = ("answered", None), ("refused", Said("gate_refused"))
OUTCOMES = st.sampled_from(
    [RIGHT, WRONG, ("refused", Said("support_refused", "partial")), ("answered", Said("wrong_candidate", "answered"))]
)
UNANSWERABLE = st.sampled_from([("refused", None), ("answered", Said("answered_unanswerable", "missing"))])
PAIRS = st.lists(
    st.one_of(st.tuples(st.just(True), OUTCOMES, OUTCOMES), st.tuples(st.just(False), UNANSWERABLE, UNANSWERABLE)),
    max_size=10,
)


def label_of(name: str, answerable: bool) -> Label:
    return replace(THREE_KG if answerable else refusal("missing"), id=name)


def decided(rows: Sequence[tuple[bool, Any]]) -> list[Decided]:
    return [
        Decided(f"q{n}", status, cause is None, label_of(f"q{n}", answerable), cause)
        for n, (answerable, (status, cause)) in enumerate(rows)
    ]


def run(name: str, queries: Sequence[Decided], weight: float = 2.0, frontier: Sequence[str] = ("x",)) -> Run:
    return Run(name, "c" * 40, "h" * 64, {"lexical": Evaluation(Bar(0.5, None, weight), queries, frontier)})


def figures(section: Section) -> dict[str, tuple[str, ...]]:
    return {name: cells for name, *cells in section.rows}  # type: ignore[misc]


def told(section: Section) -> list[str]:
    """Its notes, each on one line."""
    return [" ".join(part.text if isinstance(part, Data) else part for part in note) for note in section.notes]


def flipped(section: Section) -> dict[str, int]:
    titles = ("right -> wrong", "wrong -> right", "wrong -> wrong, another cause")
    found = (line.rpartition(": ") for line in told(section))
    return {title: int(count) for title, _, count in found if title in titles}


@given(PAIRS, st.sampled_from([0.3, 2.0, 5.0]))
def test_flips_account_for_every_change(pairs: list[tuple[bool, Any, Any]], weight: float) -> None:
    a, b = (decided([(known, one[side]) for known, *one in pairs]) for side in (0, 1))
    _, section = compare_runs(run("a", a), run("b", b, weight), None, independent_draws=False)
    shown, moved = figures(section), flipped(section)
    assert int(shown["right"][2]) == moved["wrong -> right"] - moved["right -> wrong"]
    named = [name for line in told(section) if "): " in line for name in line.partition("): ")[2].split()]
    assert sorted(named) == sorted(
        one.id
        for one, now in zip(a, b, strict=True)
        if (one.cause and (one.cause.name, one.cause.detail)) != (now.cause and (now.cause.name, now.cause.detail))
    )
    for at in {2.0, weight}:
        exact = Fraction(repr(at))
        errors = [
            sum((cost(one.label.answerable, one.status == "answered", exact) for one in rows), Fraction(0))
            for rows in (a, b)
        ]
        assert [float(text) for text in shown[f"weighted error at {at:g}"][:2]] == pytest.approx(
            list(map(float, errors))
        )
    _, back = compare_runs(run("b", b, weight), run("a", a), None, independent_draws=False)
    assert flipped(back)["right -> wrong"] == moved["wrong -> right"]
    assert "paired test" not in compared_text([section])


@given(PAIRS, st.booleans())
def test_a_run_of_before_causes_were_written_has_none(pairs: list[tuple[bool, Any, Any]], swapped: bool) -> None:
    now = decided([(known, after) for known, _, after in pairs])
    before = [replace(one, cause=None) for one in decided([(known, was) for known, was, _ in pairs])]
    a, b = (now, before) if swapped else (before, now)
    _, section = compare_runs(run("a", a), run("b", b), None, independent_draws=False)
    if all(one.correct for one in before):
        assert "wrong -> wrong, another cause" in flipped(section), "nothing that could have a cause lacks one"
        return
    both = sum(not one.correct and not other.correct for one, other in zip(before, now, strict=True))
    lacking = "B" if swapped else "A"
    assert f"wrong -> wrong: {both}, causes not compared: none recorded in {lacking}" in told(section)
    assert not any(re.match(r"wrong -> (?!right|wrong)|(?!right|wrong).* -> wrong", line) for line in told(section))
    if causes := {one.cause.name for one in now if one.cause}:
        assert all(figures(section)[name][1 if swapped else 0] == figures(section)[name][2] == "-" for name in causes)


def test_independent_draws_are_tested_as_systems_are() -> None:
    a, b = evaluated(SIGNALS, 0.5), evaluated(SIGNALS, 0.65)
    rows = [
        [
            Decided(row.id, decision.status, outcome(row, decision).correct, label_of(row.id, row.answerable))
            for row, decision in zip(one.judged, one.decisions, strict=True)
        ]
        for one in (a, b)
    ]
    found = comparisons({"b": b, "a": a}, {row.id: row.id for row in a.judged}, Fraction(2))["b_vs_a"]
    _, section = compare_runs(run("a", rows[0]), run("b", rows[1]), None, independent_draws=True)
    tests = [line for line in told(section) if line.startswith("paired test")]
    assert (
        len(tests) == 2
        and found["weighted_error"]["difference"]
        and f"at 2: {found['weighted_error']['difference']:+.4f}, 95 % interval" in tests[1]
    )
    assert all(
        f"p {one['p']:.4f}, after Holm {one['p_holm']:.4f}" in text
        for one, text in zip(found.values(), tests, strict=True)
    )


MARKUP = ("<b>", "`", "``", "|", "\\", "[x](y)", "*x*", "&amp;", "\n\n# x\n", "\x1b[2J", "报", " ")
EVIL = st.lists(st.sampled_from(MARKUP) | st.text(st.characters(exclude_categories=["Cs"])), max_size=4).map("".join)


@given(EVIL, st.sets(EVIL, min_size=1, max_size=3), EVIL, EVIL)
def test_whatever_a_run_holds_stays_in_its_place(revision: str, names: set[str], cause: str, detail: str) -> None:
    wrong = [Decided(name, "refused", False, label_of(name, True), Said(cause, detail)) for name in sorted(names)]
    right = [replace(one, correct=True, cause=None) for one in wrong]
    sections = compare_runs(run(revision, wrong, frontier=[detail]), run("b", right), None, independent_draws=False)
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(compared_markdown(sections))
    inline = [child for one in parsed for child in one.children or ()]
    assert {one.type for one in parsed if not one.type.endswith(("_open", "_close"))} == {"inline"}, "no HTML, no code"
    assert {one.type for one in inline} <= {"text", "code_inline"}
    held = [one.content for one in inline]
    assert all(any(plain(text) in one for one in held) for text in (revision, cause, detail, *names))
    kinds = [one.type for one in parsed]
    size = sum(len(one.rows) for one in sections)
    counted = [kinds.count(kind) for kind in ("heading_open", "table_open", "tr_open", "td_open", "list_item_open")]
    assert counted == [2, 2, size, 4 * (size - 2), sum(len(one.notes) for one in sections)]
    assert all(line.isprintable() for line in compared_text(sections).split("\n"))


@pytest.mark.parametrize("name", ["x", "x" * 500, "报" * 500])
def test_columns_stand_below_each_other_and_fit_a_terminal(name: str) -> None:
    rows = decided([(True, WRONG)] * 99)
    named = [replace(one, id=f"{name[:5]}{one.id}") for one in rows]
    right = [replace(one, correct=True, cause=None) for one in named]
    lines = compared_text(compare_runs(run(name, named), run("b", right), None, independent_draws=False)).split("\n")
    assert max(map(columns, lines)) <= COLUMNS
    assert len({columns(line.partition("c" * 12)[0]) for line in lines[2:4]}) == 1


# The command

STRICT = ("-S", "calibrate.fp_weight=5", "-S", "support.field_name=1.0")


def compare(project: Project, *arguments: str, status: int = 0) -> str:
    done = project.python("-m", "stages.cli", "compare", *arguments, status=status)
    return done.stdout + done.stderr if status else done.stdout


def commit(project: Project) -> None:
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=changed")


@pytest.mark.pipeline
def test_an_experiment_is_compared_with_a_revision(damaged: Project) -> None:
    damaged.dvc("exp", "run", "--quiet", "--name", "strict", *STRICT)
    now = {
        one["id"]: one
        for one in json.loads((damaged.root / "artifacts/holdout/lexical/queries.json").read_bytes())["queries"]
    }
    damaged.git("checkout", "--quiet", "params.yaml", "dvc.lock", "artifacts", SMALL)
    was = json.loads((damaged.root / "artifacts/holdout/lexical/queries.json").read_bytes())["queries"]
    before = damaged.bytes_below("artifacts", "params.yaml", SMALL), damaged.git("status", "--porcelain")
    told = compare(damaged, "main", "strict")
    assert (damaged.bytes_below("artifacts", "params.yaml", SMALL), damaged.git("status", "--porcelain")) == before
    assert "weighted error at 5" in told and re.search(r"^A +main +[0-9a-f]{12} +2$", told, re.MULTILINE)
    assert re.search(r"^B +strict +[0-9a-f]{12} +5$", told, re.MULTILINE)
    assert "cost frontier on dev: unchanged" in told, "neither moves a choice"
    lexical = told.split("\n\n")[1]
    lost = [one["id"] for one in was if one["correct"] and not now[one["id"]]["correct"]]
    assert lost and f"right -> wrong: {len(lost)}\n" in lexical
    unseen = [name for name in lost if now[name]["cause"]["detail"] == "field"]
    assert f"right -> asked_not_parsed (field) ({len(unseen)}): {' '.join(unseen)}" in " ".join(lexical.split())
    assert compare(damaged, "main", "strict", "--md").startswith("### holdout ")
    other = damaged.git("rev-parse", "HEAD").strip()
    damaged.git("update-ref", f"refs/exps/{other[::-1][:2]}/{other[::-1][2:]}/strict", other)
    assert "strict: 2 DVC experiments; name one of " in compare(damaged, "main", "strict", status=1)


@pytest.mark.pipeline
def test_labels_are_not_needed_and_other_holdouts_refused(damaged: Project) -> None:
    for name in ("training", "evaluation-only"):
        shutil.rmtree(damaged.root / SMALL / name)
    commit(damaged)
    assert "right -> wrong: 0" in compare(damaged, "HEAD~1", "HEAD")
    line = json.loads((damaged.root / "artifacts/seen.jsonl").read_bytes())
    damaged.edit("artifacts/seen.jsonl", line["holdout"], line["holdout"][::-1])
    commit(damaged)
    told = compare(damaged, "HEAD~1", "HEAD", status=1)
    assert "BadInputError: HEAD~1 and HEAD: two holdouts, " in told and "right" not in told
    assert "elsewhere: no git revision and no DVC experiment here" in compare(damaged, "HEAD", "elsewhere", status=1)


RUN = ("artifacts/seen.jsonl", "artifacts/holdout/lexical/queries.json", "artifacts/sweep/lexical.frontier.csv")


@pytest.mark.pipeline
def test_a_revision_of_another_shape_is_refused_in_a_few_lines(damaged: Project) -> None:
    queries = json.loads((damaged.root / RUN[1]).read_bytes())
    wrong = next(one for one in queries["queries"] if one["cause"])
    bar = json.loads((damaged.root / "artifacts/threshold/neural.json").read_bytes())
    assert set(bar["by_kind"]) == {"image", "text"}
    shapes: list[tuple[str, str, str]] = [
        (RUN[0], '{"x": 1}\n' * 30, ":1: Object missing required field `holdout`"),
        (RUN[1], json.dumps({"queries": [{"id": "c01"}] * 30}), ": Object missing required field `status`"),
        (RUN[1], json.dumps(queries).replace(json.dumps(wrong["cause"]), "null", 1), ": cause: a wrong decision"),
        (RUN[2], "threshold\n0.5\n", ": missing columns weight_from"),
        ("artifacts/threshold/neural.json", json.dumps(bar | {"by_kind": {"image": 0.5}}), ": by_kind: expected"),
        ("artifacts/threshold/neural.json", json.dumps(bar | {"fp_weight": 1e308}), ": fp_weight: expected above 0"),
        ("params.yaml", "old: 1\n", ": unknown old"),
    ]
    for path, text, found in shapes:
        (damaged.root / path).write_text(text, encoding="utf-8")
        commit(damaged)
        damaged.git("checkout", "--quiet", "HEAD~1", "--", path)
        told = compare(damaged, "HEAD~1", "HEAD", status=1).removeprefix("BadInputError: ").splitlines()
        damaged.git("reset", "--quiet", "--hard", "HEAD~1")
        assert all(re.match(r"HEAD \([0-9a-f]{12}\): ", line) for line in told) and len(told) <= 7, told
        assert f": {path}" in told[0] and found in told[0] and "no run that can be compared: make it again" in told[-1]
        assert "dvc repro -f" not in "".join(told)


@pytest.mark.pipeline
def test_what_two_revisions_lack_is_told_at_once(damaged: Project) -> None:
    for paths in (RUN[:2], ["dvc.yaml"]):
        damaged.git("rm", "--quiet", *paths)
        damaged.git("commit", "--quiet", "--message=gone")
    damaged.git("checkout", "--quiet", "HEAD~1", "--", "dvc.yaml")
    told = [line.partition("): ")[2] for line in compare(damaged, "HEAD~1", "HEAD", status=1).splitlines()]
    alone = "not in this commit; dvc.lock has its hash alone, commit the file itself"
    assert told[0].startswith(f"{RUN[0]}: {alone}") and told[1].startswith(f"{RUN[1]}: {alone}")
    assert told[2].startswith("no run that can be compared") and told[3] == "dvc.yaml: not in this commit"


@pytest.mark.pipeline
def test_a_stale_revision_is_compared_and_called_so(damaged: Project) -> None:
    damaged.edit("params.yaml", "fp_weight: 2\n", "fp_weight: 5\n")
    damaged.edit("artifacts/threshold/lexical.json", '"fp_weight": 2.0', '"fp_weight": 5.0')
    commit(damaged)
    told = compare(damaged, "HEAD~1", "HEAD", status=3)
    assert told.startswith("holdout ") and "StaleThresholdError: these figures do not belong" in told
    assert [line for line in told.splitlines() if line.startswith("  HEAD: ")] == [
        "  HEAD: params.yaml: not as sweep_thresholds knew it",
        "  HEAD: artifacts/threshold/lexical.json: not as freeze_threshold knew it",
    ]


AS_TESTS = ("-c", "user.name=tests", "-c", "user.email=tests@example.invalid")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository of two commits and a tag of its own."""
    for command in (
        ("init", "--quiet"),
        *[("commit", "--quiet", "--allow-empty", f"--message={text}") for text in ("first", "second")],
        ("tag", "--annotate", "--message=x", "tagged"),
    ):
        git.run_git(tmp_path, *AS_TESTS, *command)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["HEAD~1..HEAD", "HEAD~1...HEAD", "^HEAD", "HEAD^{tree}", "HEAD:", "", "-h", "HEAD~9", "HEAD@{9}"]
)
def test_what_is_no_single_commit_is_refused(history: Path, name: str) -> None:
    with pytest.raises(BadInputError, match="no git revision and no DVC experiment here"):
        git.find_commit(history, name)


@pytest.mark.parametrize(("name", "commit"), [(":/fir", "HEAD~1"), ("tagged", "HEAD"), ("HEAD^{/first}", "HEAD~1")])
def test_every_way_to_name_a_commit_is_known(history: Path, name: str, commit: str) -> None:
    assert git.find_commit(history, name) == git.run_git(history, "rev-parse", commit).decode().strip()


def test_contents_that_git_lacks_are_named(history: Path) -> None:
    (history / "a.txt").write_text("here")
    git.run_git(history, "add", "a.txt")
    git.run_git(history, *AS_TESTS, "commit", "--quiet", "--message=third")
    blob = git.run_git(history, "rev-parse", "HEAD:a.txt").decode().strip()
    assert git.files_at(history, "HEAD", "a.txt") == {"a.txt": b"here"}
    (history / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(BadInputError, match=f"git cat-file: {blob} missing"):
        git.files_at(history, "HEAD", "a.txt")


def test_a_name_that_no_program_can_be_handed_is_refused(history: Path) -> None:
    with pytest.raises(BadInputError, match="git ls-tree: embedded null byte"):
        git.files_at(history, "HEAD", "a\0b")


@pytest.mark.pipeline
@pytest.mark.parametrize("folder", ["{root}/artifacts/holdout", "../../{root}/artifacts/holdout"])
def test_nothing_but_the_commit_is_read(damaged: Project, folder: str) -> None:
    damaged.edit("dvc.yaml", "holdout: artifacts/holdout\n", f"holdout: {folder.format(root=damaged.root)}\n")
    commit(damaged)
    assert "dvc.yaml: vars: path: " in (told := compare(damaged, "HEAD~1", "HEAD", status=1))
    assert "artifacts/holdout: lies outside the project" in told


@pytest.mark.pipeline
@pytest.mark.parametrize(
    ("old", "new"), [("holdout: holdout\n", "holdout: other\n"), (f"dataset: {SMALL}\n", "dataset: b\n")]
)
def test_figures_of_another_holdout_than_params_names_are_stale(damaged: Project, old: str, new: str) -> None:
    damaged.edit("params.yaml", old, new)
    commit(damaged)
    assert "HEAD: params.yaml: not as evaluate_holdout knew it" in compare(damaged, "HEAD~1", "HEAD", status=3)


@pytest.mark.pipeline
def test_a_source_that_is_gone_is_named(damaged: Project) -> None:
    damaged.git("rm", "--quiet", "--cached", "stages/answering/support.py")
    damaged.git("commit", "--quiet", "--message=gone")
    told = compare(damaged, "HEAD~1", "HEAD", status=3)
    assert "HEAD: stages/answering/support.py: not as sweep_thresholds knew it" in told
