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

from stages import git
from stages.errors import BadInputError
from stages.measures.compared import comparisons
from stages.measures.evaluate import outcome
from stages.measures.flips import (
    Bar,
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


def flipped(section: Section) -> dict[str, int]:
    titles = ("right -> wrong", "wrong -> right", "wrong -> wrong, another cause")
    found = (text.rpartition(": ") for text, data in section.notes if not data)
    return {title: int(count) for title, _, count in found if title in titles}


@given(PAIRS, st.sampled_from([0.3, 2.0, 5.0]))
def test_flips_account_for_every_change(pairs: list[tuple[bool, Any, Any]], weight: float) -> None:
    a, b = (decided([(known, one[side]) for known, *one in pairs]) for side in (0, 1))
    _, section = compare_runs(run("a", a), run("b", b, weight), None, independent_draws=False)
    shown, moved = figures(section), flipped(section)
    assert int(shown["right"][2]) == moved["wrong -> right"] - moved["right -> wrong"]
    named = [name for text, data in section.notes if " (" in text and " -> " in text for name in data]
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


def test_a_run_of_before_causes_were_written_has_none() -> None:
    now = decided([(True, RIGHT), (True, WRONG)])
    before = [Decided(one.id, one.status, one.correct, one.label) for one in now]
    _, section = compare_runs(run("a", before), run("b", now), None, independent_draws=False)
    assert tuple(figures(section)["gate_refused"]) == ("-", "1", "-")
    assert ("wrong -> gate_refused (1):", ["q1"]) in section.notes


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
    told = [text for text, _ in section.notes if text.startswith("paired test")]
    assert (
        len(told) == 2
        and found["weighted_error"]["difference"]
        and f"at 2: {found['weighted_error']['difference']:+.4f}, 95 % interval" in told[1]
    )
    assert all(
        f"p {one['p']:.4f}, after Holm {one['p_holm']:.4f}" in text
        for one, text in zip(found.values(), told, strict=True)
    )


def test_markdown_holds_data_as_code() -> None:
    evil = "a|b`<script>[x](y)\n@all #1"
    query = Decided(evil, "refused", False, THREE_KG, Said("support_refused", evil))
    right = Decided(evil, "answered", True, THREE_KG)
    text = compared_markdown(compare_runs(run(evil, [query]), run("b", [right]), None, independent_draws=False))
    assert "``a\\|b`<script>[x](y) @all #1``" in text
    outside = re.sub(r"(`+).*?\1(?!`)", "", text.replace("\\|", ""))
    assert not set("<[@") & set(outside.replace("###", "")) and "script" not in outside
    assert "\x1b" not in compared_text(
        compare_runs(run("\x1b[2J", [query]), run("b", [right]), None, independent_draws=False)
    )


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
    (damaged.root / "artifacts/seen.jsonl").unlink()
    commit(damaged)
    assert re.search(
        r"HEAD \([0-9a-f]{12}\): artifacts/seen.jsonl: cannot be read", compare(damaged, "HEAD", "HEAD~1", status=1)
    )


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


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of two commits and a tag of its own."""
    root = tmp_path_factory.mktemp("history")
    for command in (
        ("init", "--quiet"),
        *[("commit", "--quiet", "--allow-empty", f"--message={text}") for text in ("first", "second")],
        ("tag", "--annotate", "--message=x", "tagged"),
    ):
        git.run_git(root, "-c", "user.name=tests", "-c", "user.email=tests@example.invalid", *command)
    return root


@pytest.mark.parametrize("name", ["HEAD~1..HEAD", "HEAD~1...HEAD", "^HEAD", "HEAD^{tree}", "HEAD:", "", "-h", "HEAD~9"])
def test_what_is_no_single_commit_is_refused(history: Path, name: str) -> None:
    with pytest.raises(BadInputError, match="no git revision and no DVC experiment here"):
        git.find_commit(history, name)


@pytest.mark.parametrize(("name", "commit"), [(":/fir", "HEAD~1"), ("tagged", "HEAD"), ("HEAD^{/first}", "HEAD~1")])
def test_every_way_to_name_a_commit_is_known(history: Path, name: str, commit: str) -> None:
    assert git.find_commit(history, name) == git.run_git(history, "rev-parse", commit).decode().strip()


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
