"""The story of one question: all of it is there, on a screenful, whatever the record; and the command that tells it."""

import json
import shutil
from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.calibration.gate import settle
from stages.measures.attribution import cause
from stages.measures.evaluate import judge
from stages.measures.evidence import CAUSES, cause_text
from stages.measures.story import COLUMNS, Story, fit, fold, story_text
from stages.measures.table import columns
from stages.records import Candidate, Label, Record
from tests.project import SMALL, Project
from tests.test_attribution import INDEXED, labels, records, refusal

SCREENFUL = 40
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
LONG = "docs/" + "a-long-name-of-a-document-" * 8


def story(record: Record, label: Label, threshold: float | None, system: str = "lexical") -> Story:
    row, decision = judge(record, label, INDEXED, verified=True), settle(record, threshold)
    return Story("dev", system, record, decision, row.category, row.kind, row.holders, cause(row, decision))


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(records(), labels(), st.sampled_from([0.25, 0.75, None]), TEXTS)
def test_a_story_is_a_screenful_of_one_system_or_two(
    record: Record, label: Label, threshold: float | None, text: str
) -> None:
    one = story(replace(record, text=text, answer=text or None), label, threshold)
    other = replace(one, system="hybrid", record=replace(record, candidates=(), reranked=()))
    for stories in ([one], [one, other], [other, one]):
        lines = story_text(stories).split("\n")
        assert len(lines) <= SCREENFUL and max(map(columns, lines)) <= COLUMNS
        assert all(line.isprintable() for line in lines)
    told = squeezed(story_text([one]))
    assert squeezed(one.decision.status) in told
    found = one.cause
    assert (f"{squeezed(cause_text(found))}:{squeezed(CAUSES[found.name])}" if found else "wrongnothing:") in told


@given(TEXTS, st.integers(4, 60), st.integers(1, 3))
def test_a_text_fits_its_column(text: str, width: int, most: int) -> None:
    lines = fold(text, width, most)
    assert 1 <= len(lines) <= most and max(map(columns, lines)) <= width
    assert columns(fit("".join(one for one in text if one.isprintable()), width)) == width


@given(records(), TEXTS, st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_that_the_files_hold_reaches_the_terminal_as_it_is(record: Record, text: str, score: float) -> None:
    unsafe = f"\x1b[2J{text}\u202e"
    one = story(replace(record, context=replace(record.context, unit=unsafe)), refusal("missing"), None)
    one = replace(one, record=replace(one.record, reranked=(Candidate(unsafe, score),), signal=score))
    one = replace(one, kind=unsafe, decision=replace(one.decision, reason=unsafe))
    lines = story_text([one]).split("\n")
    assert all(line.isprintable() for line in lines) and max(map(columns, lines)) <= COLUMNS


@pytest.mark.parametrize("text", ["报" * 10**6, "x" * 10**6, "x " * 10**6])
def test_a_long_text_takes_no_longer_than_reading_it(text: str) -> None:
    begun = perf_counter()
    lines = fold(text, 100, 2)
    assert perf_counter() - begun < 5 and len(lines) == 2 and lines[1].endswith("…") and columns(lines[1]) >= 98
    assert fit(text, 9, tail=True) == f"…{text[-4:] if text[0] == '报' else text[-8:]}"


def test_an_id_keeps_its_end() -> None:
    assert fit(LONG + "#c0001", 20, tail=True) == "…f-a-document-#c0001"
    assert columns(fit("二级报警应当通知谁", 10)) == 10


# The command


def explain(project: Project, *arguments: str, status: int = 0) -> str:
    done = project.python("-m", "stages.cli", "explain", *arguments, status=status)
    return done.stdout + done.stderr if status else done.stdout


def queries(project: Project, system: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((project.root / f"artifacts/holdout/{system}/queries.json").read_bytes())[
        "queries"
    ]
    return rows


@pytest.mark.pipeline
def test_every_wrong_holdout_decision_is_explained_by_its_cause(finished: Project) -> None:
    rows = queries(finished, "neural")
    wrong = next(one for one in rows if not one["correct"])
    told = explain(finished, wrong["id"], "--system", "neural")
    assert told.startswith(f"{wrong['id']} (holdout): {wrong['text']}")
    assert f"first wrong   {wrong['cause']['name']}" in told and f"refused: {wrong['reason']}" in told
    assert all(one["correct"] == (one["cause"] is None) for one in rows)
    right = next(one for one in rows if one["correct"] and one["status"] == "answered")
    assert "first wrong   nothing: a right answer" in explain(finished, right["id"], "--system", "neural")


@pytest.mark.pipeline
def test_two_systems_stand_side_by_side(finished: Project) -> None:
    told = explain(finished, "d01", "--vs", "hybrid")
    assert told.startswith("d01 (dev): ") and len(told.splitlines()) <= SCREENFUL
    assert [line.split()[:2] for line in told.splitlines()][2] == ["lexical", "hybrid"]
    assert "neural list   - " in told and "candidates    - " in told
    assert explain(finished, "d01", "--system", "lexical") == explain(finished, "d01", "--vs", "lexical")


@pytest.mark.pipeline
def test_an_unknown_question_names_near_ones_and_the_sets(finished: Project) -> None:
    told = explain(finished, "d001", status=1)
    assert "BadInputError: d001: no question of dev (d01 to d" in told and "holdout (" in told and "near: d01" in told
    assert "oracle: no system in params.yaml" in explain(finished, "d01", "--vs", "oracle", status=1)


@pytest.mark.pipeline
def test_an_id_of_both_sets_is_refused(damaged: Project) -> None:
    first = queries(damaged, "lexical")[0]["id"]
    for name in ("answers", "queries"):
        path = damaged.root / f"artifacts/holdout/lexical/{name}.json"
        path.write_bytes(path.read_bytes().replace(f'"id":"{first}"'.encode(), b'"id":"d01"'))
    assert "BadInputError: d01: a question of dev and of holdout; " in explain(damaged, "d01", status=1)


@pytest.mark.pipeline
def test_labels_stay_closed_and_dev_needs_no_holdout(finished: Project, damaged: Project) -> None:
    for name in ("training", "evaluation-only"):
        shutil.rmtree(damaged.root / SMALL / name)
    wrong = next(one["id"] for one in queries(finished, "lexical") if not one["correct"])
    for name in ("d01", wrong):
        assert explain(damaged, name) == explain(finished, name)
    shutil.rmtree(damaged.root / "artifacts/holdout")
    assert explain(damaged, "d01") == explain(finished, "d01")
    assert "no question of dev (" in (told := explain(damaged, wrong, status=1)) and "holdout" not in told


@pytest.mark.pipeline
def test_a_stale_story_is_told_and_called_so(damaged: Project) -> None:
    damaged.edit("params.yaml", "top_k: 5", "top_k: 4")
    told = explain(damaged, "d01", status=3)
    assert told.startswith("d01 (dev): ") and "StaleThresholdError: this story does not belong to what is here" in told
