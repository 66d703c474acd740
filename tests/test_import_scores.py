"""Scores of others without their texts: TREC runs and tables as folders of scores, and one command that judges them."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.calibration.cells import Columns
from stages.cli import main
from stages.imports.scored import FILES, HEAD, Item, scored_files
from stages.imports.trec import judged, qrels_findings, retrieved, run_findings, trec_items
from stages.scores import read_rows
from tests.xlnet import XLNET, needs_xlnet, xlnet

QUERIES = st.sampled_from(["q1", "q2", "q\u3000", "4", "é"])
RUNS = st.lists(st.tuples(QUERIES, st.floats(-1e9, 1e9)))
QRELS = st.dictionaries(st.tuples(QUERIES, st.sampled_from("abcd")), st.integers(-2, 3))


def items_in(path: Path) -> list[Item]:
    return [
        Item(str(one.id), float(str(one.score)), one.label == "1") for one in read_rows(path, Columns(*HEAD))
    ]  # fmt: skip


@settings(deadline=None)
@given(RUNS, QRELS, st.sampled_from([" ", "\t", " \t "]))
def test_the_best_score_of_every_judged_query_and_what_found_nothing_below_all(
    run: Sequence[tuple[str, float]], qrels: dict[tuple[str, str], int], gap: str
) -> None:
    lines = [gap.join((name, "Q0", "d", "1", repr(score), "tag")).encode() for name, score in run]
    judgements = [gap.join((name, "0", document, str(one))).encode() for (name, document), one in qrels.items()]
    read, known = [retrieved(line) for line in lines], [judged(line) for line in judgements]
    rows = [one for one in read if not isinstance(one, str)], [one for one in known if not isinstance(one, str)]
    assert (len(rows[0]), len(rows[1])) == (len(run), len(qrels))
    assert not [*run_findings(rows[0]), *qrels_findings(rows[1])]
    items, notes = trec_items(*rows)
    assert [one.id for one in items] == list(dict.fromkeys(name for name, _ in qrels))
    for one in items:
        own = [score for name, score in run if name == one.id]
        assert one.score == max(own) if own else all(one.score < score for _, score in run)
        assert one.answerable == any(grade > 0 for (name, _), grade in qrels.items() if name == one.id)
    unjudged = {name for name, _ in run} - {one.id for one in items}
    assert any(f"left out {len(unjudged)} queries" in note for note in notes) == bool(unjudged)


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1).filter(str.isprintable), st.floats(allow_nan=False, allow_infinity=False),
                       min_size=8), st.integers(0, 9))  # fmt: skip
def test_files_hold_every_item_once_with_every_digit(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float], seed: int
) -> None:
    items = [Item(name, score, number % 2 == 0) for number, (name, score) in enumerate(scores.items())]
    folder = tmp_path_factory.mktemp("scores")
    made = scored_files([*items, *(Item(f"{one}\u3000", 0.5, one % 2 == 0) for one in range(64))], seed, 0.5)
    for name, data in made.files.items():
        (folder / name).write_bytes(data)
    found = [one for name in FILES.values() for one in items_in(folder / name)]
    assert sorted(one for one in found if not one.id.endswith("\u3000") or one in items) == sorted(items)
    assert len({one.id for one in found}) == len(found) == len(items) + 64


def table(path: Path, count: int = 60) -> Path:
    """Answerable items score higher, with some of the others between them."""
    rows = [
        {"id": f"i{n}", "odds": (n * 7 % count) / 8, "known": (n * 7 % count) < count // 2 + n % 5}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_run_does_what_calibrate_and_apply_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = str(table(tmp_path / "odds.jsonl"))
    main(["import", "scores", source, "own", "--score-column=odds", "--label-column=known", "--lower-is-better"])
    assert "60 scores; dev 30 questions" in (told := capsys.readouterr().out) and "negative of odds" in told
    rows = map(json.loads, Path(source).read_text(encoding="utf-8").splitlines())
    expected = {row["id"]: (-row["odds"] + 0.0, row["known"]) for row in rows}
    assert {one.id: one[1:] for name in FILES.values() for one in items_in(Path("own") / name)} == expected
    main(["run", "own", "whole"])
    whole = capsys.readouterr().out.splitlines()
    main(["calibrate", "own/dev.tsv", "--model=own", "--out=alone"])
    capsys.readouterr()
    for name in ("threshold.json", "sweep.csv", "frontier.csv"):
        assert Path("whole", name).read_bytes() == Path("alone", name).read_bytes()
    main(["calibrate", "--apply=alone/threshold.json", "own/holdout.tsv", "--model=own"])
    applied = capsys.readouterr().out.splitlines()
    assert whole[:16] == applied[:16]
    ends = [line.split()[-1] for line in whole[16:-1]], [line.split()[-1] for line in applied[16:]]
    assert ends[0] == ends[1] and whole[16].split()[-2:] == ["dev", "holdout"]
    page = Path("whole/calibration.html").read_text(encoding="utf-8")
    assert all(f"risk ({name})" in page and f'class="step {name}"' in page for name in FILES)


def test_the_weight_is_that_of_the_project_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["import", "scores", str(table(tmp_path / "t.jsonl")), "own", "--score-column=odds", "--label-column=known"])
    Path("params.yaml").write_text("calibrate: {fp_weight: 7, by_kind: [neural]}\n", encoding="utf-8")
    main(["run", "own", "whole"])
    assert "; fp_weight 7\n" in capsys.readouterr().out


RUN = "".join(f"q{n} Q0 d{n} 1 {n}.5 bm25\n" for n in range(12))
JUDGED = "".join(f"q{n} 0 d{n} {n % 3}\n" for n in range(1, 14))
BAD = {
    "run": ("q1 Q0 d 1 nan a\nq1 Q0 d\nq1 Q0 d 1 1_0 a\n\xff Q0 d 1 1 a\n", JUDGED,
            ["run:13: ", "run:14: ", "run:15: ", "run:16: "]),
    "qrels": ("", "q1 0 d 1.0\nq1 0 d e 1\n", ["qrels:1: ", "qrels:2: "]),
    "digits": ("", f"q1 0 d {'9' * 5000}\n", ["qrels:1: "]),
    "nothing below": (f"q1 Q0 d 1 {-sys.float_info.max!r} bm25\n", JUDGED, ["run:13: "]),
    "tags": ("q1 Q0 d 1 2 other\n", JUDGED, ["lines of 2 runs (bm25, other); give one"]),
    "twice": ("", JUDGED + "q1 0 d1 0\n", ["query q1: document d1 is judged 2 times"]),
    "none judged": ("", "x 0 d 1\n", ["no query of"]),
    "one side": ("", "q1 0 d 1\nq2 0 d 1\nq3 0 d 2\n", ["0 unanswerable"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_all_named_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more, qrels, told = BAD[name]
    (tmp_path / "run").write_bytes((RUN + more).encode("latin-1"))
    (tmp_path / "qrels").write_text(qrels, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["import", "trec", str(tmp_path / "run"), str(tmp_path / "qrels"), str(tmp_path / "made")])
    printed = capsys.readouterr().err
    assert ended.value.code == 1 and all(text in printed for text in told)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_run_becomes_a_folder_of_scores(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").write_text(RUN, encoding=encoding)
    (tmp_path / "qrels").write_text(JUDGED, encoding=encoding)
    main(["import", "trec", str(tmp_path / "run"), str(tmp_path / "qrels"), str(tmp_path / "made"), "--seed=1"])
    told = capsys.readouterr().out
    assert "13 scores; " in told and "left out 1 queries of the run without judgement" in told
    assert "2 judged queries for which the run has nothing, scored below all" in told
    found = [one for name in FILES.values() for one in items_in(tmp_path / "made" / name)]
    assert {one.id: one.answerable for one in found} == {f"q{n}": n % 3 > 0 for n in range(1, 14)}


def test_an_id_that_a_table_cannot_hold_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "a\\tb", "score": 1, "answerable": true}\n', encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["import", "scores", str(tmp_path / "t.jsonl"), str(tmp_path / "made")])
    assert "id 'a\\tb': holds a tab" in capsys.readouterr().err


@needs_xlnet
def test_the_scores_of_a_real_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["import", "scores", str(XLNET), "own", "--score-column=null_odds", "--lower-is-better"])
    found = [one for name in FILES.values() for one in items_in(Path("own") / name)]
    signals, answerable = xlnet()
    assert sorted(one[1:] for one in found) == sorted(zip(signals.tolist(), answerable.tolist(), strict=True))
    main(["run", "own", "judged"])
    auroc = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("AUROC"))
    assert all(abs(float(text) - 0.895) < 0.01 for text in auroc.split()[1:])
