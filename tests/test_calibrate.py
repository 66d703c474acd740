"""`frostline calibrate`: scores of any system in any of its formats, a sealed threshold, and its use on a holdout."""

import csv
import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen, TimeoutExpired, run
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from stages.atomic import locked
from stages.calibrate import add_arguments, calibrate, dev, evaluate, freeze
from stages.calibration.cells import Columns, convert, items_hash
from stages.calibration.certificate import Certified, max_false_accept, max_selective_risk
from stages.calibration.sweep import choose, optimal, sweep
from stages.calibration.thin import boundaries, corners, snapped
from stages.calibration.threshold import Threshold, sealed
from stages.errors import BadInputError
from stages.params import CalibrateParams
from stages.report.calibrated import calibrated_page
from stages.scores import Scores, read_scores, read_threshold
from stages.squad import read_squad
from tests.project import ROOT, environment

XLNET = ROOT.parent / "shared/cases/scores/xlnet-squad2.tsv"
COLUMNS = Columns("id", "score", "answerable")
HEAD = "id\tscore\tanswerable\n"
DEV = HEAD + "001\t0.9\t1\n1\t0.8\tTRUE\nc\t0.7\tfalse\nd\t6e-1 \ttrue\ne\t0.2\t0\n"
HOLDOUT = HEAD + "v\t0.95\t1\nw\t0.85\t0\nx\t0.75\t1\ny\t0.1\t0\n"
QUESTIONS = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0]) | st.floats(-2, 2), st.booleans()), min_size=2
)

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def frostline(tmp_path: Path) -> Run:
    """Run `frostline calibrate` in a folder that is empty but for what a test writes there."""
    inherited = environment(tmp_path / "settings") | {"PYTHONPATH": str(ROOT)}

    def command(*arguments: str, status: int = 0) -> CompletedProcess[str]:
        words = [sys.executable, "-m", "stages.cli", "calibrate", *arguments]
        done = run(words, cwd=tmp_path, env=inherited, capture_output=True, text=True, check=False)
        assert done.returncode == status and "Traceback" not in done.stderr, done.stdout + done.stderr
        return done

    (tmp_path / "dev.tsv").write_text(DEV, encoding="utf-8")
    (tmp_path / "holdout.tsv").write_text(HOLDOUT, encoding="utf-8")
    return command


def scores(signals: list[float], answerable: list[bool], lower: bool = False) -> Scores:
    """Scores as they come from a file, ids by place."""
    items = convert([f"q{place}" for place in range(len(signals))], signals, answerable)
    given = -items.scores + 0.0 if lower else items.scores + 0.0
    return Scores(given, items.answerable, "score", lower, items_hash(items), "")


def weighing(weight: Fraction) -> CalibrateParams:
    return CalibrateParams(fp_weight=float(weight), by_kind=[])


def read_text(folder: Path, name: str, data: str | bytes) -> Scores:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return read_scores(folder / name, COLUMNS, lower_is_better=False)


BAD: dict[str, tuple[str, str | bytes, str]] = {
    "NaN": (".tsv", HEAD + "a\tnan\t1\n", ":2: score 'nan': expected a finite number; mend it"),
    "infinite": (".tsv", HEAD + "a\t-inf\t1\n", ":2: score '-inf': expected a finite number"),
    "too large": (".tsv", HEAD + "a\t1e400\t1\n", ":2: score '1e400': expected a finite number"),
    "no score": (".csv", "id,score,answerable\r\na,1,1\r\n\r\nb,,1\r\n", ":4: score '': expected a finite number"),
    "grouped digits": (".tsv", HEAD + "a\t1_0\t1\n", ":2: score '1_0': expected a finite number"),
    "other label": (".tsv", HEAD + "a\t1\tyes\n", ":2: answerable 'yes': expected 0 or 1, true or false"),
    "label two": (".tsv", HEAD + "a\t1\t2\n", ":2: answerable '2': expected 0 or 1"),
    "duplicate id": (".tsv", HEAD + "a\t1\t1\nb\t1\t1\na\t2\t0\n", ":4: id 'a' is already that of"),
    "no id": (".tsv", HEAD + "\t1\t1\n", ":2: id is empty"),
    "decimal comma": (".csv", "id,score,answerable\na,0,1,1\n", ":2: 4 cells for 3 columns"),
    "short row": (".tsv", HEAD + "a\t1\n", ":2: 2 cells for 3 columns"),
    "behind two lines": (".csv", 'note,id,score,answerable\n"x\ny",a,1,1\nz,b,?,1\n', ":4: score '?'"),
    "open quote": (
        ".csv",
        'id,score,answerable\na,1,1\n"b,1,0\n',
        ":3: unexpected end of data; is a quote not closed?",
    ),
    "id of two lines": (".csv", 'id,score,answerable\n"a\nb",1,0\n', ":2: id 'a\\nb': holds a line break"),
    "not UTF-8": (".csv", b"id,score,answerable\na,1,1\n\xe9,1,0\n", ":3: not UTF-8"),
    "no column": (".tsv", "id\tprob\tanswerable\n", ": no column score (columns: id, prob, answerable); name it with"),
    "two columns": (".tsv", "id\tscore\tscore\tanswerable\n", ": column score stands there 2 times"),
    "empty": (".tsv", "", ": empty; the first line names the columns"),
    "header alone": (".tsv", HEAD, ": no rows"),
    "no format": (".txt", HEAD, ": the suffix tells the format"),
    "JSON NaN": (".jsonl", '{"id":"a","score":NaN,"answerable":1}\n', ":1: score nan: expected a finite number"),
    "JSON null": (".jsonl", '\n{"id":"a","score":null,"answerable":1}\n', ":2: score None"),
    "JSON true": (".jsonl", '{"id":"a","score":true,"answerable":1}\n', ":1: score True"),
    "JSON label": (".jsonl", '{"id":"a","score":1,"answerable":"no"}\n', ":1: answerable 'no'"),
    "JSON id": (".jsonl", '{"id":1.5,"score":1,"answerable":1}\n', ":1: id 1.5: expected text or a whole number"),
    "JSON key": (".jsonl", '{"id":"a","answerable":1}\n', ":1: no score (keys: id, answerable)"),
    "JSON list": (".jsonl", "[]\n", ":1: expected an object, got list"),
    "JSON NaN elsewhere": (
        ".jsonl",
        '{"id":"a","score":1,"answerable":1}\n{"id":"b","score":0,"answerable":0,"x":NaN}\n',
        ":2: not JSON",
    ),
    "no JSON": (".jsonl", '{"id":"a","score":1,"answerable":1}\n{', ":2: not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_told_with_its_row(name: str, tmp_path: Path) -> None:
    suffix, data, told = BAD[name]
    with pytest.raises(BadInputError) as raised:
        read_text(tmp_path, f"scores{suffix}", data)
    assert str(raised.value).startswith(f"{tmp_path / 'scores'}{suffix}{told}")


def test_all_findings_are_told_at_once_and_counted(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as raised:
        read_text(tmp_path, "scores.tsv", HEAD + "".join(f"{place}\tx\tmaybe\n" for place in range(15)))
    *lines, more = str(raised.value).splitlines()
    assert len(lines) == 20 and ":2: score" in lines[0] and ":2: answerable" in lines[1] and more == "... and 10 more"


def test_no_row_is_lost_to_a_quote_or_a_long_cell(tmp_path: Path) -> None:
    """In TSV a quote is a character; a context may be longer than Python's limit for a cell."""
    text = (
        'id\tscore\tanswerable\tnote\na\t0.9\t1\t"abc\nb\t0.95\t0\tx\nc\t0.97\t0\txyz"\n'
        + f"d\t0.1\t0\t{'y' * 200_000}\n"
    )
    assert read_text(tmp_path, "scores.tsv", text).signals.tolist() == [0.9, 0.95, 0.97, 0.1]


def test_what_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pipe.tsv").symlink_to("/dev/null")
    with pytest.raises(BadInputError, match=r"pipe\.tsv: no plain file"):
        read_scores(tmp_path / "pipe.tsv", COLUMNS, lower_is_better=False)


@pytest.mark.parametrize("option", ["--apply", "--squad", "--score-column", "--label-column", "--out"])
def test_an_empty_option_is_no_default(option: str, frostline: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    assert f"BadInputError: {option}: empty" in frostline("dev.tsv", "--model", "m", option, "", status=1).stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("out", ["dev.tsv", "dev.tsv/below"])
def test_a_folder_that_cannot_be_one_is_named(out: str, frostline: Run, tmp_path: Path) -> None:
    printed = frostline("dev.tsv", "--model", "m", "--out", out, status=1).stderr
    assert printed.startswith(f"BadInputError: {out}: cannot be written (")
    assert (tmp_path / "dev.tsv").read_text(encoding="utf-8") == DEV


def test_what_breaks_off_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "dev.tsv").write_text(DEV, encoding="utf-8")
    parser = ArgumentParser()
    add_arguments(parser, Fraction)
    words = [str(tmp_path / "dev.tsv"), "--model", "m", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("stages.files.write_json", interrupted)
    with pytest.raises(KeyboardInterrupt):
        calibrate(parser.parse_args(words))
    assert list((tmp_path / "out").iterdir()) == []
    monkeypatch.undo()
    calibrate(parser.parse_args(words))
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for name in ("missing.tsv", "folder.tsv"):
        (tmp_path / "folder.tsv").mkdir(exist_ok=True)
        with pytest.raises(BadInputError, match=rf"{name}: cannot be read"):
            read_scores(tmp_path / name, COLUMNS, lower_is_better=False)


def jsonl(rows: list[dict[str, str]]) -> str:
    """Numbers as numbers, labels as booleans, a further key, and a blank line."""
    typed = [
        {**row, "score": float(row["score"]), "answerable": row["answerable"].lower() in ("1", "true"), "context": []}
        for row in rows
    ]
    return "\n\n".join(map(json.dumps, typed))


def test_every_format_gives_the_same(tmp_path: Path) -> None:
    rows = list(csv.DictReader(DEV.splitlines(), delimiter="\t"))
    quoted = "﻿" + "".join(f'"a, ""b""\r\nc",{row["answerable"]},"{row["id"]}",{row["score"]}\r\n' for row in rows)
    first = read_text(tmp_path, "dev.tsv", DEV)
    others = [
        read_text(tmp_path, "dev.csv", quoted.replace("﻿", "﻿text,answerable,id,score\r\n")),
        read_text(tmp_path, "dev.jsonl", jsonl(rows)),
        squad(tmp_path, {row["id"]: -float(row["score"]) for row in rows}, first.answerable.tolist()),
    ]
    for other in others:
        assert other.signals.tolist() == first.signals.tolist() == [0.9, 0.8, 0.7, 0.6, 0.2]
        assert other.answerable.tolist() == first.answerable.tolist() == [True, True, False, True, False]
        assert other.items == first.items and other.sha256 != first.sha256


def test_parquet_gives_the_same(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, the extra `parquet`, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    first = read_text(tmp_path, "dev.tsv", DEV)
    columns = {"id": ["001", "1", "c", "d", "e"], "score": first.signals, "answerable": first.answerable}
    parquet.write_table(pyarrow.table(columns), tmp_path / "dev.parquet")
    assert read_scores(tmp_path / "dev.parquet", COLUMNS, lower_is_better=False).items == first.items
    parquet.write_table(pyarrow.table(columns | {"score": [1.0, None, 1.0, 1.0, 1.0]}), tmp_path / "dev.parquet")
    with pytest.raises(BadInputError, match="row 2: score None"):
        read_scores(tmp_path / "dev.parquet", COLUMNS, lower_is_better=False)


def squad(folder: Path, na_prob: dict[str, float], answerable: list[bool]) -> Scores:
    """The same items as SQuAD 2.0 data and the na_prob file of a reader."""
    qas = [{"id": name, "is_impossible": not known} for name, known in zip(na_prob, answerable, strict=True)]
    data = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": qas}]}]}
    (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "na_prob.json").write_text(json.dumps(na_prob), encoding="utf-8")
    return read_squad(folder / "na_prob.json", folder / "data.json")


def test_squad_files_that_do_not_match_are_told(tmp_path: Path) -> None:
    squad(tmp_path, {"a": 0.1, "b": 0.2, "c": 0.3}, [True, False, True])
    (tmp_path / "na_prob.json").write_text('{"a": 0.1, "b": "x", "b": 0.2, "z": 1}', encoding="utf-8")
    with pytest.raises(BadInputError) as raised:
        read_squad(tmp_path / "na_prob.json", tmp_path / "data.json")
    told = str(raised.value).replace(f"{tmp_path}/", "").splitlines()
    assert told[:2] == ["na_prob.json: no probability for c", "data.json: no question z, which na_prob.json has"]
    assert told[2].startswith("na_prob.json: entry 2: na_prob 'x'") and "'b' is already that of" in told[3]


@given(QUESTIONS, st.randoms())
def test_no_order_of_the_rows_changes_anything(questions: list[tuple[float, bool]], dice: Any) -> None:
    shuffled = dice.sample(list(enumerate(questions)), len(questions))
    ids, rows = [f"q{place}" for place, _ in shuffled], [row for _, row in shuffled]
    one = scores([score for score, _ in questions], [known for _, known in questions])
    other = convert(ids, [score for score, _ in rows], [known for _, known in rows])
    assert items_hash(other) == one.items
    assert optimal(other.scores, other.answerable, Fraction(2)) == optimal(one.signals, one.answerable, Fraction(2))


@given(QUESTIONS, st.sampled_from([Fraction("0.1"), Fraction(1), Fraction(7)]))
def test_lower_is_better_is_the_negated_score(questions: list[tuple[float, bool]], weight: Fraction) -> None:
    answerable = [known for _, known in [*questions, (0.0, True), (0.0, False)]]
    values = [score for score, _ in [*questions, (0.0, True), (0.0, False)]]
    higher = freeze(scores(values, answerable), "m", weighing(weight))
    lower = freeze(scores([-value for value in values], answerable, lower=True), "m", weighing(weight))
    assert (lower.threshold, lower.dev, lower.binding.dev_set) == (higher.threshold, higher.dev, higher.binding.dev_set)
    assert lower.binding.scoring != higher.binding.scoring


@given(QUESTIONS, st.fractions(0, 50, max_denominator=60))
def test_a_thinned_sweep_keeps_every_choice(questions: list[tuple[float, bool]], weight: Fraction) -> None:
    signals, answerable = np.array([score for score, _ in questions]) + 0.0, np.array([known for _, known in questions])
    full = sweep(signals, answerable, weight)
    own = float(signals[0])
    kept = boundaries(signals, answerable, own, most=1, grid=2)
    assert own in kept.thresholds
    rows = sweep(snapped(signals, kept.thresholds), answerable, weight)
    assert set(rows) <= set(full) and choose(rows) == choose(full) and len(full) == kept.distinct + 1
    assert set(corners(signals, answerable)) <= set(signals)


def test_the_accuracy_is_one_that_the_threshold_reaches() -> None:
    """Three items of one probability: the SQuAD 2.0 script decides between them, no threshold can."""
    answerable = [True, False, False]
    right = best = 2
    for known in answerable:
        right += 1 if known else -1
        best = max(best, right)
    assert 100 * best / 3 == 100, "the script's best accuracy"
    tied = scores([0.3] * 3, answerable, lower=True)
    frozen = freeze(tied, "reader", weighing(Fraction("0.1")))
    assert frozen.threshold == -0.3
    assert dev(frozen)["accuracy_of"] == [1, 3] and round(100 * dev(frozen)["accuracy"], 1) == 33.3


@pytest.mark.skipif(not XLNET.exists(), reason="../shared/cases, the public inputs, is not here")
def test_figures_are_those_of_scikit_learn() -> None:
    read = read_scores(XLNET, Columns("id", "null_odds", "answerable"), lower_is_better=True)
    order = np.random.default_rng(5).permutation(len(read.signals))
    half, rest = (
        Scores(read.signals[part], read.answerable[part], read.column, True, name, name)
        for name, part in zip("ab", np.array_split(order, 2), strict=True)
    )
    frozen = freeze(half, "xlnet", weighing(Fraction(2)))
    found, bar = evaluate(frozen, rest), frozen.threshold
    assert bar is not None
    predicted = rest.signals >= bar
    assert confusion_matrix(rest.answerable, predicted).ravel().tolist() == [
        found[key] for key in ("tn", "fp", "fn", "tp")
    ]
    precision, recall, f1, _ = precision_recall_fscore_support(rest.answerable, predicted)
    for place, side in enumerate(("refusal", "answer")):
        expected = [found[f"{side}_{rate}"] for rate in ("precision", "recall", "f1")]
        assert [precision[place], recall[place], f1[place]] == pytest.approx(expected, abs=1e-12)


def test_one_class_alone_calibrates_nothing() -> None:
    for known, side in ((True, "answerable"), (False, "unanswerable")):
        with pytest.raises(BadInputError, match=f"all 2 items are {side}; a threshold needs both"):
            freeze(scores([0.1, 0.2], [known, known]), "m", weighing(Fraction(2)))


@pytest.mark.parametrize(
    "pair", [[0.25, 0.5], [7.0, 7.0], [1e300, 1e300], [-1e308, 1e308], [1.0, 1.0 + 2**-52], [0, 5e-324]]
)
def test_whatever_the_signals_there_is_a_page(pair: list[float]) -> None:
    signals, known = np.array(pair), np.array([True, False])
    rows = sweep(signals, known, Fraction(2))
    page = calibrated_page("<b>", "&", rows, choose(rows).threshold, signals, known, ())
    assert page.count("<svg") == 2 or "to be drawn" in page
    assert (
        "<b>" not in page
        and "<h1>&lt;b&gt;</h1>" in page
        and "<pre>&amp;</pre>" in page
        and not re.search(r"\b(nan|inf)\b", page)
    )


def test_calibrates_and_evaluates_in_an_empty_folder(frostline: Run, tmp_path: Path) -> None:
    printed = frostline("dev.tsv", "--model", "my/rag").stdout
    folder = tmp_path / "frostline-my-rag"
    assert printed.startswith("my/rag: answer when score >= 0.8\n") and "all 5 distinct scores" in printed
    frozen = read_threshold(folder / "threshold.json")
    assert frozen.seal == sealed(frozen).seal and frozen.binding.model == "my/rag" and frozen.fp_weight == 2
    assert len((folder / "sweep.csv").read_text(encoding="utf-8").splitlines()) == 7
    frontier = list(csv.DictReader((folder / "frontier.csv").open(encoding="utf-8")))
    (best,) = [row for row in frontier if float(row["weight_from"]) < 2 < float(row["weight_to"] or "inf")]
    assert float(best["threshold"]) == read_threshold(str(folder / "threshold.json")).threshold
    page = (folder / "calibration.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4 and "<script" not in page and "my/rag" in page
    found = json.loads(
        frostline("--apply", f"{folder}/threshold.json", "holdout.tsv", "--model", "my/rag", "--json").stdout
    )
    assert [found["holdout"][key] for key in ("tp", "fp", "fn", "tn", "weighted_error")] == [1, 1, 1, 1, 3]
    assert found["dev"]["weighted_error"] == 1 and found["threshold"]["seal"] == frozen.seal
    shown = frostline("--apply", f"{folder}/threshold.json", "holdout.tsv", "--model", "my/rag").stdout
    assert "weighted error           1             3\n" in shown
    again = frostline("dev.tsv", "--model", "my/rag", status=1).stderr
    assert "already there; a frozen threshold stays" in again
    record = frostline("dev.tsv", "--model", "my/rag", "--out", "other", "--json").stdout
    assert record.encode() == (tmp_path / "other/threshold.json").read_bytes()


def test_a_threshold_that_is_not_of_these_scores_is_refused(frostline: Run, tmp_path: Path) -> None:
    frostline("dev.tsv", "--model", "rag", "--out", "frozen")
    frozen = tmp_path / "frozen/threshold.json"
    apply = ("--apply", str(frozen), "holdout.tsv")
    assert "binding.model: frozen rag, found gar" in frostline(*apply, "--model", "gar", status=3).stderr
    told = frostline(*apply, "--model", "rag", "--lower-is-better", status=3).stderr
    assert "binding.scoring: frozen score, higher is better, found score, lower is better" in told
    copy = "".join(reversed(DEV.removeprefix(HEAD).splitlines(keepends=True)))
    (tmp_path / "holdout.tsv").write_text(HEAD + copy, encoding="utf-8")
    assert "no holdout" in frostline(*apply, "--model", "rag", status=1).stderr
    edited = json.loads(frozen.read_bytes()) | {"threshold": 0.1}
    frozen.write_text(json.dumps(edited), encoding="utf-8")
    assert "StaleThresholdError: rag" in frostline(*apply, "--model", "rag", status=3).stderr


ALPHA, DELTA, FROM = 0.2, 0.25, 20
GOALS: dict[str, tuple[list[str], Callable[[Scores], Certified]]] = {
    "max_false_accept": ([], lambda one: max_false_accept(one.signals, one.answerable, Fraction(2), ALPHA, DELTA)),
    "max_selective_risk": (
        ["--min-answers", str(FROM)],
        lambda one: max_selective_risk(one.signals, one.answerable, Fraction(2), ALPHA, DELTA, FROM),
    ),
}


def drawn(seed: int, n: int) -> str:
    """Rows whose scores tell most answerable items from the others."""
    rng = np.random.default_rng(seed)
    known = rng.random(n) < 0.6
    signals = rng.random(n) + known
    return HEAD + "".join(f"{seed}-{at}\t{signals[at]}\t{int(known[at])}\n" for at in range(n))


@pytest.mark.parametrize("objective", GOALS)
def test_a_certified_objective_is_what_its_procedure_gives(objective: str, frostline: Run, tmp_path: Path) -> None:
    more, procedure = GOALS[objective]
    found = procedure(read_text(tmp_path, "dev.tsv", drawn(1, 200)))
    read_text(tmp_path, "holdout.tsv", drawn(2, 100))
    goal = ["--objective", objective, "--alpha", str(ALPHA), "--delta", str(DELTA), *more]
    printed = frostline("dev.tsv", "--model", "rag", "--out", "out", *goal).stdout
    frozen = read_threshold(tmp_path / "out/threshold.json")
    certificate = frozen.certificate
    assert certificate is not None and certificate.objective == objective and found.bound is not None
    assert (frozen.threshold, certificate.errors, certificate.trials) == (found.row.threshold, *found[1:3])
    assert certificate.bound == pytest.approx(found.bound, abs=1e-9) and found.bound < ALPHA
    assert f"at most 0.2 with confidence 75 %: {found.errors} of {found.trials} " in printed
    assert "independent draws" in printed and "fp_weight 2 decides nothing" in printed
    apply = ("--apply", "out/threshold.json", "holdout.tsv", "--model", "rag")
    holdout = json.loads(frostline(*apply, "--json").stdout)["holdout"]
    rate = 1 - holdout["refusal_recall" if objective == "max_false_accept" else "answer_precision"]
    shown = frostline(*apply).stdout
    assert certificate.sentence in shown and re.search(rf"^holdout: .* {rate:.4f}: {holdout['fp']} of ", shown, re.M)


def test_what_cannot_be_certified_is_a_threshold_that_refuses(frostline: Run, tmp_path: Path) -> None:
    printed = frostline("dev.tsv", "--model", "rag", "--objective", "max_false_accept").stdout
    assert printed.startswith("rag: refuse everything\n") and "independent" not in printed
    why = "with 0 false accepts, alpha 0.05 at 90 % needs at least 45 unanswerable questions; you have 2"
    assert f"\nnot certifiable: {why}\n" in printed
    apply = ("--apply", "frostline-rag/threshold.json", "holdout.tsv", "--model", "rag")
    assert "holdout: false-accept rate 0.0000: 0 of 2 unanswerable" in frostline(*apply).stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--alpha", "0.1"], "--alpha: decides nothing under --objective weighted_error"),
        (["--objective", "max_false_accept", "--min-answers", "9"], "--min-answers: decides nothing under --objective"),
        (["--objective", "max_false_accept", "--alpha", "nan"], "calibrate.alpha: expected above 0 and at most 0.99"),
        (["--apply", "t.json", "--objective", "max_false_accept", "--delta", "0"], "leave out --delta, --objective"),
    ],
)
def test_settings_that_decide_nothing_are_refused(arguments: list[str], told: str, frostline: Run) -> None:
    assert told in frostline("dev.tsv", "--model", "rag", *arguments, status=1).stderr


def test_a_threshold_of_the_pipeline_is_not_one_of_these_scores(frostline: Run) -> None:
    pipeline = ROOT / "artifacts/threshold/lexical.json"
    told = frostline("--apply", str(pipeline), "holdout.tsv", "--model", "lexical", status=3).stderr
    assert "binding.model: frozen None, found lexical" in told and isinstance(read_threshold(pipeline), Threshold)


def test_what_a_killed_run_left_is_named(frostline: Run, tmp_path: Path) -> None:
    """threshold.json comes last: without it, the other files may be somebody's own and stay."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/sweep.csv").write_text("half", encoding="utf-8")
    told = frostline("dev.tsv", "--model", "m", "--out", "out", status=1).stderr
    assert told.startswith(
        "BadInputError: out/sweep.csv: already there without threshold.json, which is written last: "
    )
    (tmp_path / "out/sweep.csv").unlink()
    frostline("dev.tsv", "--model", "m", "--out", "out")


def test_of_two_runs_into_one_folder_the_first_one_stays(tmp_path: Path) -> None:
    """The second waits until the first has written, then refuses, and takes nothing of the first one's away."""
    (tmp_path / "dev.tsv").write_text(DEV, encoding="utf-8")
    command = [sys.executable, "-m", "stages.cli", "calibrate", str(tmp_path / "dev.tsv"), "--model", "m"]
    with locked(tmp_path / "out"):
        second = Popen([*command, "--out", str(tmp_path / "out")], cwd=ROOT, stderr=PIPE, text=True)
        with pytest.raises(TimeoutExpired):
            second.wait(3)
        (tmp_path / "out" / "threshold.json").write_text("{}", encoding="utf-8")
    assert "already there; a frozen threshold stays" in second.communicate()[1] and second.returncode == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["threshold.json"]
