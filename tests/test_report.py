"""The report: everything that was measured is on the page, escaped, well-formed, and the same every time."""

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from stages import files
from stages.calibration.gate import settle
from stages.calibration.ledger import Result, Seen, holdout_hash
from stages.calibration.sweep import Row, cells, choose, sweep
from stages.calibration.threshold import Binding, DevFigures, Threshold, sealed
from stages.errors import BadInputError
from stages.measures.ablation import Ablated
from stages.measures.attribution import cause
from stages.measures.context import ContextCounts
from stages.measures.damage import summary
from stages.measures.evaluate import Judged, aggregate, outcome
from stages.measures.evidence import CAUSES, Cause, cause_text
from stages.measures.intervals import wilson, with_intervals
from stages.measures.ledger import Look, looks
from stages.measures.stability import stability
from stages.originals import snapshot_hash
from stages.params import SYSTEMS, DatasetCard
from stages.records import (
    REASONS,
    UNANSWERABLE_KINDS,
    Candidate,
    Context,
    File,
    Index,
    Label,
    Question,
    Rejected,
    Span,
)
from stages.report.beyond import Shift, shift_words
from stages.report.frame import LEFT, RIGHT, signal_scale
from stages.report.inputs import Boundary, Queries, Query, Report, Sheet, on_holdout, parse_sweep
from stages.report.page import flags, render
from stages.report.reasons import ANSWERABLE, ANSWERED, COLUMNS, Cell, reason_table
from stages.report.score_plot import Point, levels, score_plot
from stages.report.svg import Scale, ticks
from stages.report.sweep_plot import steps, sweep_plot
from stages.report.text import decimal, figure, ratio
from stages.report.wrong import FALSE_ACCEPT, FALSE_REFUSAL, WRONG_ANSWER, expected, relevant_rank, wrong_decisions

ROOT = Path(__file__).parent.parent
TEMPLATE = files.read_text(ROOT / "stages/report/report.html.j2")
WEIGHT = Fraction(2)
EVIL = "<script>alert('&')</script>"
COUNTS = ContextCounts(1, 1, 2, 1, 2, 20, 1, 20, 100, True)
BORROWED = {"weighted_error": 17, "difference": 4}
BAR = {"value": 0.5, "by_kind": None}
ORIGINALS = (File("docs/a.md", "a", 1),)
SNAPSHOT = snapshot_hash(ORIGINALS)
CONTEXT = Context(("c1",), (), (), "tokens", 20, 100)


def make_label(name: str, **changes: Any) -> Label:
    return replace(
        Label(name, "field", None, False, None, "5 kg", ((Span("docs/a.md", 0, 4),),), None, None), **changes
    )


def make_query(name: str = "q", **changes: Any) -> Query:
    """A right answer; `changes` make it something else."""
    ranked = (Candidate("docs/a.md#f1", 0.9), Candidate("docs/a.md#c1", 0.5))
    query = Query(
        name, f"text of {name}", "answered", None, None, True, "text", 0.9, None, "5 kg", ranked, ranked,
        ("docs/a.md#c1",), (("docs/a.md#c1",),), CONTEXT, True, None, make_label(name),
    )  # fmt: skip
    cause = None if changes.get("correct", True) else Cause("wrong_candidate", "answered")
    return replace(query, **{"cause": cause, **changes})


def make_judged(query: Query) -> Judged:
    label, right = query.label, (query.correct or query.status == "refused") and query.label.answerable
    lost = None if right or not label.answerable else Cause("wrong_candidate")
    return Judged(
        query.id, label.category, label.split, label.contract, label.unanswerable_kind,
        None if query.signal is None else "text", query.signal,
        query.support, query.refusal, right, 1, 2, True, True, COUNTS, (("docs/a.md#c1",),), lost, query.id,
    )  # fmt: skip


def make_queries(signals: Iterable[float | None], threshold: float | None, prefix: str) -> tuple[Query, ...]:
    """Every third question cannot be answered; every seventh has no support; ids are `prefix` with a number."""
    queries = []
    kinds = (UNANSWERABLE_KINDS[n % len(UNANSWERABLE_KINDS)] for n in count())
    for number, signal in enumerate(signals):
        name = f"{prefix}{number}"
        label = make_label(name, contract=number % 2 == 0)
        if number % 3 == 2:
            label = make_label(
                name,
                category="refusal",
                unanswerable_kind=next(kinds),
                unanswerable_reason="Not there.",
                expected_value=None,
                evidence=(),
            )
        draft = make_query(name, signal=signal, support=number % 7 != 6, label=label)
        draft = replace(draft, refusal=None if draft.support else "field_not_given")
        decision = settle(draft, threshold)
        judged = make_judged(draft)
        draft = replace(draft, correct=outcome(judged, decision).correct, cause=cause(judged, decision))
        queries.append(replace(draft, status=decision.status, reason=decision.reason))
    return tuple(queries)


def make_sheet(system: str = "lexical", signals: Sequence[float | None] = (), **changes: Any) -> Sheet:
    """A whole system: dev and holdout have the same signals, and the threshold is the best of its sweep."""
    signals = signals or [0.1, 0.9, 0.4, 0.8, 0.7, 0.3, 1.0, 0.2, 0.9, None, 0.6, 0.6]
    dev = [make_judged(query) for query in make_queries(signals, None, "d")]
    rows = sweep([one.signal for one in dev], [one.answerable for one in dev], WEIGHT)
    best = choose(rows)
    queries = make_queries(signals, best.threshold, "h")
    figures = DevFigures(best.tp, best.fp, best.fn, best.tn, float(best.weighted_error), 0.5, 8, 4)
    binding = Binding(None, None, None, "s" * 64, "i", None, "d", "r", "c")
    judged = [make_judged(query) for query in queries]
    sheet = Sheet(
        system=system,
        threshold=Threshold(system, best.threshold, None, best.refuse_all, 2.0, "rule", None, binding, figures, "seal"),
        dev=aggregate(dev, [settle(one, best.threshold) for one in dev], WEIGHT)
        | {"threshold": BAR | stability(dev, WEIGHT, False, DatasetCard("small", ["en"], False, None))},
        holdout=aggregate(judged, [settle(one, best.threshold) for one in judged], WEIGHT)
        | {
            "threshold": BAR | {"optimism": -0.0625},
            "borrowed": {owner: BORROWED for owner in SYSTEMS if owner != system},
        },
        boundaries=tuple(Boundary(*(None if v is None else float(v) for v in (row[0], *row[6:]))) for row in rows),
        judged=tuple(dev),
        queries=queries,
    )
    return replace(sheet, **changes)


def make_independent(sheet: Sheet) -> Sheet:
    """The same system on questions that are independent draws; its unanswerable ones moved."""
    test = {"n": [12, 8], "statistic": 0.25, "direction": "higher"}
    shift = {"answerable": test | {"p": 0.5, "p_holm": 0.75}, "unanswerable": test | {"p": 0.0004, "p_holm": 0.049}}
    return replace(sheet, holdout=with_intervals(sheet.holdout) | {"shift": shift})


def make_looks(*systems: str) -> tuple[Look, ...]:
    """One look of each, over 10 development and 20 holdout questions; the last is the current one."""
    found = [Seen("h", "c", system, {"lexical": Result(2.0, 9.0)}) for system in systems]
    return looks(found, systems[-1] if systems else None, 10, 20)


def make_report(*sheets: Sheet, **changes: Any) -> Report:
    report = Report(
        "small", False, "document", 24, (), 243, "abcdef012345" + "9" * 52, make_looks("a" * 64), True, None,
        sheets or (make_sheet(),),
    )  # fmt: skip
    return replace(report, **changes)


MEASURES = ("right", "weighted_error")
INFERENCE = re.compile(
    r"interval|confidence|bootstrap|\bpaired|randomi[sz]ation|significan|\bp[- _](value|holm)|\bholm\b|wilson|"
    r"kolmogorov|two-sample|ci95|±",
    re.IGNORECASE,
)
"""Words and keys of what only independent draws allow."""
SVG = "{http://www.w3.org/2000/svg}"


def text_of(page: str) -> str:
    """All words of the page that a reader sees, apart by one space; the page is well-formed."""
    body = ElementTree.fromstring(page).find("body")
    assert body is not None
    return " ".join(" ".join(body.itertext()).split())


def drawings(page: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(page).iter(f"{SVG}svg"))


def test_the_page_stands_alone_and_is_well_formed() -> None:
    page = render(TEMPLATE, make_report(make_sheet("lexical"), make_sheet("neural")))
    elements = list(ElementTree.fromstring(page).iter())
    assert page.startswith("<!DOCTYPE html>\n") and page.endswith("</html>\n")
    assert not {"script", "link", "img", "iframe", "object", "form", "a"} & {one.tag for one in elements}
    names = {name for one in elements for name in one.attrib}
    assert not [name for name in names if name.startswith("on") or name in ("src", "href", "action")]
    assert "url(" not in page and "@import" not in page and page.count("://") == page.count('xmlns="http://') == 8
    outside = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert set(re.findall(r"<(\w+)[^>]*/>", outside)) <= {"meta", "br", "col"}, "HTML closes no other element like that"
    assert len(drawings(page)) == 8, "sweep, scores, cost frontier and risk over coverage of each system"


def test_the_order_of_the_sections() -> None:
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", render(TEMPLATE, make_report()))
    assert headings == [
        "Frostline: small", "Systems", "Who has seen this holdout", "Contract", "Answers and refusals", "Retrieval",
        "Gate, support, decision", "Context and citations", "Sweep and signals", "Every wrong holdout decision",
    ]  # fmt: skip


def test_the_verdict_names_what_matters() -> None:
    sheet = make_sheet()
    text = text_of(render(TEMPLATE, make_report(sheet, seen_by=make_looks(*"abc"))))
    contract, gate = sheet.holdout["contract"], sheet.holdout["gate"]
    assert "24 originals, 243 entries, snapshot abcdef012345 lexical" in text
    assert f"lets a signal of {figure(sheet.threshold.threshold)} or more through (fp_weight 2)." in text
    assert f"Contract: {contract['correct']} of {contract['total']} right." in text
    top, bottom = gate["answer_f1_of"]
    assert f"answer F1 {top / bottom:.3f} ({top}/{bottom}), refusal F1 " in text
    assert f"Weighted error: {figure(sheet.threshold.dev.weighted_error)} over 12 dev questions, " in text
    assert f"{gate['weighted_error']} over 12 holdout questions." in text
    assert "seen by 3 distinct versions." in text
    assert "seen by 1 distinct version." in text_of(render(TEMPLATE, make_report(sheet)))


def test_who_has_seen_the_holdout_is_listed_in_errors_per_question() -> None:
    one, two = make_looks("a" * 64, "b" * 64)
    other = replace(one, system="c" * 64, gaps={"former": one.gaps["lexical"]})
    text = text_of(render(TEMPLATE, make_report(seen_by=(one, other, two))))
    assert "3 distinct versions have seen this holdout, in an order" in text
    assert "dev over the 12 questions that it has today, the holdout over its 12;" in text
    assert "lexical former system dev holdout difference dev holdout difference" in text
    row = "0.200 2/10 0.450 9/20 +0.250"
    absent = "did not run"
    assert f"{'a' * 12} {row} {absent} {'c' * 12} {absent} {row} {'b' * 12} current {row} {absent} Contract" in text
    assert "a" * 13 not in text
    assert "no line on the holdout" in text_of(render(TEMPLATE, make_report(seen_by=())))


def test_every_rate_comes_with_its_counts() -> None:
    sheet = make_sheet()
    text = text_of(render(TEMPLATE, make_report(sheet)))
    parts = [found[name] for found in (sheet.dev, sheet.holdout) for name in ("gate", "support", "decision", "context")]
    parts += [
        found["retrieval"][name] for found in (sheet.dev, sheet.holdout) for name in ("before_rerank", "after_rerank")
    ]
    rates = [(part[name[:-3]], part[name]) for part in parts for name in part if name.endswith("_of")]
    assert len(rates) == 2 * (3 * 6 + 5 + 2 * 3)
    for value, (top, bottom) in rates:
        assert f"{ratio(value)} {figure(top)}/{figure(bottom)}" in text


def test_the_rankings_say_what_they_are_of() -> None:
    said = "The rankings are after the coverage reranker, not pure BM25."
    assert said in text_of(render(TEMPLATE, make_report()))
    off = text_of(render(TEMPLATE, make_report(rerank=False)))
    assert said not in off and "The coverage reranker is switched off." in off


COMPARED = {"difference": 0.125, "ci95": [-0.0625, 0.25], "p": 0.0004, "p_holm": 0.0008}


def test_what_is_inferred_is_shown_for_independent_draws_alone() -> None:
    sheet, comparisons = make_independent(make_sheet()), {"lexical_vs_neural": dict.fromkeys(MEASURES, COMPARED)}
    for independent in (False, True):
        report = make_report(sheet, independent_draws=independent, comparisons=comparisons)
        page = render(TEMPLATE, report)
        assert bool(INFERENCE.search(page)) is independent
        assert ("not independent draws (many share a document)" in page) is not independent
        assert ("<h2>Beyond these questions</h2>" in page) is independent


def test_every_rate_has_its_interval() -> None:
    sheet = make_independent(make_sheet())
    text = text_of(render(TEMPLATE, make_report(sheet, independent_draws=True, group_by=None)))
    gate, kinds = sheet.holdout["gate"], sheet.holdout["answers"]["reasons"]["by_kind"]
    (k, n), (low, high) = gate["refusal_recall_of"], wilson(*gate["refusal_recall_of"]) or (0, 0)
    assert f"refusal recall, gate alone {k / n:.3f} [{low:.3f}, {high:.3f}] {k}/{n}" in text
    assert "answer F1, gate and support" in text and "right, refusals included" in text
    asked = kinds["missing"]
    assert f"refused of missing {asked['refused'] / asked['total']:.3f} [" in text
    assert "Systems against each other" not in text, "there is one"


def test_comparisons_and_shifts_in_words() -> None:
    comparisons = {"lexical_vs_neural": dict.fromkeys(MEASURES, COMPARED)}
    sheets = [make_independent(make_sheet(system)) for system in ("lexical", "neural")]
    page, grouped = (
        render(TEMPLATE, make_report(*sheets, independent_draws=True, comparisons=comparisons, group_by=group_by))
        for group_by in (None, "document")
    )
    row = "+0.125 [-0.062, +0.250] < 0.001 < 0.001"
    assert f"lexical − neural share of right decisions {row} weighted error {row}" in text_of(page)
    assert "Questions that share a document are exchanged and drawn together." in text_of(grouped)
    assert "Kolmogorov" not in grouped and "Wilson" not in grouped, "a question is no draw of its own there"
    tested = "(Kolmogorov-Smirnov D 0.250, p {}, after Holm {}; 12 on dev, 8 on the holdout)."
    assert (
        "lexical : the answerable questions' signals are not shown to have moved " + tested.format("0.500", "0.750")
    ) in text_of(page)
    assert (
        "warning neural : the unanswerable questions' signals moved higher from dev to holdout "
        + tested.format("< 0.001", "0.049")
    ) in text_of(page)
    assert shift_words(replace(sheets[0], holdout={"shift": {"answerable": None}})) == [
        Shift(False, "dev or holdout has no answerable question to compare.")
    ]


def test_the_table_of_systems_tells_what_borrowing_would_cost() -> None:
    sheets = make_sheet("lexical"), make_sheet("neural"), make_sheet("hybrid")
    text = text_of(render(TEMPLATE, make_report(*sheets)))
    assert "dev holdout dev − holdout lexical neural hybrid lexical –" in text
    assert text.count("-0.062 own 17 +4 17 +4") == text.count("-0.062 17 +4 own 17 +4") == 1
    assert "borrowed" not in text_of(render(TEMPLATE, make_report()))


def test_every_text_is_escaped() -> None:
    label = make_label(EVIL, expected_value=EVIL)
    changes: dict[str, Any] = {"text": EVIL, "answer": EVIL, "correct": False, "reranked": (Candidate(EVIL, 1.0),)}
    changes["cause"] = Cause("support_refused", EVIL)
    refused = make_query("r", **changes, label=label, status="refused", reason=EVIL, support=False, refusal=EVIL)
    injected = make_label("i", category="refusal", unanswerable_kind=EVIL, unanswerable_reason=EVIL)
    queries = (make_query(EVIL, **changes, label=label), make_query("i", **changes, label=injected), refused)
    sheet = make_sheet(EVIL)
    binding = replace(sheet.threshold.binding, model=EVIL)
    sheet = replace(sheet, queries=queries, threshold=replace(sheet.threshold, binding=binding))
    sheet = replace(sheet, judged=tuple(replace(one, id=EVIL) for one in sheet.judged))
    rejected = (Rejected(EVIL, "0", 7, EVIL),)
    page = render(TEMPLATE, make_report(sheet, dataset=EVIL, group_by=EVIL, snapshot=EVIL, rejected=rejected))
    assert "<script" not in page and "1 further file could not be used and was left out" in page
    assert text_of(page).count(EVIL) >= 20
    for drawing in drawings(page):
        assert EVIL in drawing.attrib["aria-label"]


def test_every_wrong_decision_is_listed() -> None:
    signals = [round(0.37 * n % 1, 6) for n in range(150)]
    sheet = make_sheet(signals=signals)
    wrong = [query for query in sheet.queries if not query.correct]
    page = render(TEMPLATE, make_report(sheet))
    table = page[page.index("Every wrong holdout decision") :]
    listed = re.findall(r"<tr><td><code>(h\d+)</code></td>", table)
    assert len(wrong) > 20 and sorted(listed) == sorted(query.id for query in wrong)
    assert f"lexical: {len(wrong)} of 150" in table
    for query in wrong:
        assert html.escape(query.text) in table and figure(query.signal) in table
        assert query.cause and cause_text(query.cause) in table
    assert table.count("first relevant: rank 2") == sum(query.label.answerable for query in wrong)


def _cell(one: dict[str, Any]) -> str:
    details = " ".join(f"{detail} {questions}" for detail, questions in sorted(one["details"].items()))
    return f"{one['questions']} {figure(one['weighted_error'])} {details}".strip() if one["questions"] else "·"


def test_causes_are_counted_by_system_beside_dev() -> None:
    sheet = make_sheet(signals=[0.37 * n % 1 for n in range(150)])
    text = text_of(render(TEMPLATE, make_report(sheet, make_sheet("neural"))))
    start, end = text.index("First causes"), text.index("lexical: ", text.index("First causes"))
    table, found = text[start:end], (sheet.holdout, sheet.dev)
    for name, what in CAUSES.items():
        counts = [one["causes"][name] for one in found]
        assert f"{name} {what} {' '.join(map(_cell, counts))} " in table
    wrong = len([one for one in sheet.queries if not one.correct])
    assert f"wrong {wrong} {figure(sheet.holdout['decision']['weighted_error'])} " in table


def test_wrong_decisions_by_what_went_wrong() -> None:
    refusal = make_label("x", category="refusal", unanswerable_kind="missing", unanswerable_reason="No such pump.")
    accepted = make_query("a", correct=False, label=refusal)
    other = make_query("b", correct=False)
    refused = make_query("c", correct=False, status="refused")
    right = make_query("d")
    groups = wrong_decisions([right, refused, other, accepted])
    assert groups == {FALSE_ACCEPT: [accepted], WRONG_ANSWER: [other], FALSE_REFUSAL: [refused]}
    assert list(groups) == [FALSE_ACCEPT, WRONG_ANSWER, FALSE_REFUSAL]


def test_what_was_expected_in_words() -> None:
    spans = Span("docs/a.md", 1, 5), Span("docs/b.md", 2, 6), Span("docs/c.md", 0, 9)
    passage = make_label("p", category="passage", expected_value=None, evidence=(spans[:2], spans[2:]))
    assert expected(make_query(label=passage)) == "docs/a.md 1–5 or docs/b.md 2–6; and docs/c.md 0–9"
    assert expected(make_query(label=make_label("f"))) == "5 kg"
    image = make_label("i", category="image", expected_value=None, expected_image="images/2.png")
    assert expected(make_query(label=image, relevant=())) == "images/2.png"
    twins = make_query("i", label=image, relevant=("images/1.png", "images/2.png"))
    assert expected(twins) == "images/2.png or images/1.png"
    page = render(TEMPLATE, make_report(make_sheet(queries=(make_query(), twins))))
    assert "1 question has several right images, which have the same pixels: i" in text_of(page)
    assert "several right images" not in render(TEMPLATE, make_report())
    missing = make_label("r", category="refusal", unanswerable_kind="missing", unanswerable_reason="No such pump.")
    assert expected(make_query(label=missing)) == "a refusal (missing): No such pump."


def test_the_first_relevant_rank() -> None:
    assert relevant_rank(make_query()) == 2
    assert relevant_rank(make_query(relevant=("elsewhere",))) is None


def test_a_question_without_candidates_has_a_row_too() -> None:
    lost = make_query(
        "lost", reranked=(), signal=None, answer=None, status="refused", reason="no_candidate", correct=False
    )
    text = text_of(render(TEMPLATE, make_report(make_sheet(queries=(lost,)))))
    cause = "wrong_candidate (answered) reason: no_candidate signal – support: holds"
    assert f"lost text of lost field 5 kg refused [–] {cause} – first relevant: not in" in text


def test_reasons_count_every_question_once() -> None:
    queries = make_queries([0.37 * n % 1 for n in range(60)], 0.5, "h")
    table = reason_table(queries)
    assert list(table) == [ANSWERED, *REASONS]
    asked = [query.label.unanswerable_kind or ANSWERABLE for query in queries]
    for place, kind in enumerate(COLUMNS):
        assert sum(row[place].questions for row in table.values()) == asked.count(kind)
    fitting = sum(cell.questions for row in table.values() for cell in row if cell.fits)
    judged = [make_judged(query) for query in queries]
    found = aggregate(judged, [settle(one, 0.5) for one in judged], WEIGHT)["answers"]["reasons"]
    assert fitting == found["reason_fits"]
    assert table["field_not_given"][COLUMNS.index("hard_negative")].fits
    assert table["below_threshold"] == [Cell(cell.questions, False) for cell in table["below_threshold"]]


@pytest.mark.parametrize(
    ("signals", "word"), [([0.5, 0.5, 0.1], ""), ([0.1, None, 0.5], "refuses"), ([1.0, 1.0], "accepts")]
)
def test_a_gate_that_does_not_discriminate_is_flagged(signals: list[float | None], word: str) -> None:
    sheet = make_sheet(signals=signals)
    said = [f"gate {word} everything on {name}" for name in ("dev", "holdout")] if word else []
    page = render(TEMPLATE, make_report(sheet))
    assert flags(sheet) == said
    assert page.count('class="flag"') == 2 * len(said), "in the verdict and in the table"
    assert ("refuses every question" in text_of(page)) is (word == "refuses")


def test_metrics_without_a_figure_are_named() -> None:
    sheet = make_sheet()
    with pytest.raises(BadInputError, match=r"no attribute .recall_of.; run `dvc repro"):
        render(TEMPLATE, make_report(replace(sheet, holdout={**sheet.holdout, "context": {}})))


def test_the_same_text_every_time() -> None:
    assert render(TEMPLATE, make_report()) == render(TEMPLATE, make_report())


def test_figures_as_text() -> None:
    assert [decimal(value, 2) for value in (1.0, 10, 0.125, -0.001, 1e6, -2.5)] == [
        "1",
        "10",
        "0.12",
        "0",
        "1000000",
        "-2.5",
    ]
    assert [figure(value) for value in (None, 3, 0.633211, 31.5)] == ["–", "3", "0.633211", "31.5"]
    assert [ratio(value) for value in (None, 0.0, 2 / 3, 1.0)] == ["–", "0.000", "0.667", "1.000"]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.023, 1.04), (-1, 1), (0, 38.85), (1e-7, 3e-7), (17, 12345)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    for most in (6, 11):
        found = ticks(low, high, most)
        assert 2 <= len(found) <= most and all(low <= value <= high for value in found)
        gaps = {f"{b - a:.3e}" for a, b in pairwise(found)}
        assert len(gaps) == 1 and gaps.pop()[:5] in ("1.000", "2.000", "5.000")


def test_the_axis_holds_every_signal_inside() -> None:
    scale = signal_scale([0.2, 0.8])
    assert LEFT < scale.at(0.2) < scale.at(0.8) < RIGHT
    assert LEFT < signal_scale([0.7]).at(0.7) < RIGHT
    assert LEFT < signal_scale([]).at(0) < signal_scale([]).at(1) < RIGHT


def test_a_step_holds_up_to_its_own_threshold_and_breaks_where_nothing_counts() -> None:
    rows = [Boundary(0.2, 4.0, 0.5, None), Boundary(0.6, 2.0, 1.0, 0.5), Boundary(None, 3.0, None, 0.25)]
    x, y = Scale(0, 1, 100, 200), Scale(0, 1, 10, 0)
    points = [made.get("points") for made in steps("k", rows, lambda row: row.answer_f1, x, y)]
    assert points == [f"{decimal(LEFT, 2)},5 120,5 120,0 160,0"]
    points = [made.get("points") for made in steps("k", rows, lambda row: row.refusal_f1, x, y)]
    assert points == [f"120,5 160,5 160,7.5 {decimal(RIGHT, 2)},7.5"]
    rows[1] = rows[1]._replace(answer_f1=None)
    assert len(steps("k", [*rows, rows[0]], lambda row: row.answer_f1, x, y)) == 2


@pytest.mark.parametrize("threshold", [0.6, None])
def test_both_plots_mark_the_same_threshold(threshold: float | None) -> None:
    sheet = make_sheet()
    scale = signal_scale([0.1, 1.0])
    sets = {"dev": [Point("a", 0.5, True)], "holdout": [Point("b", None, False)]}
    made = [sweep_plot("s", sheet.boundaries, threshold, scale), score_plot("s", sets, threshold, scale)]
    x = decimal(RIGHT if threshold is None else scale.at(threshold), 2)
    for drawing in map(ElementTree.fromstring, made):
        lines = [part for part in drawing if part.get("class") == "threshold"]
        assert [(part.get("x1"), part.get("x2")) for part in lines] == [(x, x)]
        said = "refuse all" if threshold is None else "threshold 0.6"
        assert said in [part.text for part in drawing]


def test_every_question_is_one_dot_at_its_signal() -> None:
    sheet = make_sheet(signals=[0.5] * 100 + [round(0.37 * n % 1, 6) for n in range(150)] + [None])
    drawing = drawings(render(TEMPLATE, make_report(sheet)))[1]
    dots = drawing.findall(f"{SVG}circle")
    titles = sorted(dot.findtext(f"{SVG}title") or "" for dot in dots)
    asked = [(one.id, one.signal) for one in sheet.judged] + [(one.id, one.signal) for one in sheet.queries]
    assert titles == sorted(f"{name}: {figure(signal)}" for name, signal in asked)
    scale = signal_scale(signal for _, signal in asked if signal is not None)
    ties = {dot.get("cx") for dot in dots if (dot.findtext(f"{SVG}title") or "").endswith(": 0.5")}
    assert ties == {decimal(scale.at(0.5), 2)}
    height = float((drawing.get("viewBox") or "").split()[3])
    assert all(0 < float(dot.get("cy") or 0) < height for dot in dots)
    assert "no signal" in [part.text for part in drawing]
    assert all(re.fullmatch(r"-?\d+(\.\d{1,2})?", dot.get(name) or "") for dot in dots for name in ("cx", "cy"))


def test_dots_stack_only_where_they_touch() -> None:
    assert levels([0, 1, 5, 5, 6, 11], 5) == [0, 1, 0, 2, 1, 0]
    assert levels([], 5) == []


def test_a_sweep_is_read_back(tmp_path: Path) -> None:
    rows = sweep([0.1, 0.9, None], [False, True, True], WEIGHT)
    files.write_csv(tmp_path / "s.csv", Row._fields, map(cells, rows))
    read = parse_sweep((tmp_path / "s.csv").read_text(encoding="utf-8"), "s.csv")
    assert [one.threshold for one in read] == [0.1, 0.9, None]
    assert [one.weighted_error for one in read] == [float(row.weighted_error) for row in rows]
    assert read[-1].answer_f1 == 0 and read[0].refusal_f1 == 0


def test_a_sweep_that_does_not_fit_is_named() -> None:
    with pytest.raises(BadInputError, match=r"s.csv: missing columns answer_f1, refusal_f1"):
        parse_sweep("threshold,weighted_error\n0.5,1\n", "s.csv")
    with pytest.raises(BadInputError, match=r"s.csv:2: could not convert"):
        parse_sweep("threshold,weighted_error,answer_f1,refusal_f1\nhigh,1,1,1\n", "s.csv")


def test_only_lines_about_this_holdout_count() -> None:
    queries = make_queries([0.1, 0.5, 0.9], 0.5, "h")
    this = holdout_hash([Question(one.id, one.text) for one in queries], [one.label for one in queries])
    lines = [Seen(this, "c", "one", {}), Seen(this, "c", "two", {}), Seen("other", "c", "three", {})]
    assert on_holdout(lines, queries) == lines[:2]
    assert on_holdout(lines, queries[1:]) == []


def write_inputs(folder: Path, sheet: Sheet) -> dict[str, Path]:
    """Write what the stage reads, as the other stages would; returns the stage's arguments."""
    names = (
        "dev_metrics.json",
        "metrics.json",
        "sweep",
        "judged",
        "threshold",
        "holdout",
        "ledger.jsonl",
        "report.html",
    )
    paths = {name.partition(".")[0]: folder / name for name in names}
    paths |= {"params": folder / "params.yaml", "dataset": folder / "dataset.yaml", "index": folder / "index.json"}
    paths["rejected"] = folder / "rejected.json"
    paths |= {
        "altered": folder / "originals",
        "perturbation": folder / "damage.json",
        "ablation": folder / "ablation.json",
    }
    paths |= {"chain": folder / "chain", "environment": folder / "environment"}
    paths["template"] = ROOT / "stages/report/report.html.j2"
    params = (
        "dataset: data/course\nholdout: holdout\nsystems: [lexical]\n"
        "retrieval: {bm25_k1: 1.2, bm25_b: 0.75, pool: 30, rerank: true, top_k: 5, rrf_k: 60}\n"
    )
    files.write_bytes(paths["params"], params.encode())
    files.write_bytes(paths["dataset"], b"name: small\nlanguages: [en]\nindependent_draws: false\ngroup_by: document\n")
    files.write_rows(paths["index"], Index(SNAPSHOT, "l", ORIGINALS, (), ()))
    files.write_json(paths["rejected"], ())
    files.write_json(paths["perturbation"], summary((), (), None))
    files.write_json(paths["altered"] / "originals.json", {})
    files.write_json(paths["ablation"], Ablated(()))
    files.write_json(paths["dev_metrics"], {"lexical": sheet.dev})
    files.write_json(paths["metrics"], {"lexical": sheet.holdout})
    rows = sweep([one.signal for one in sheet.judged], [one.answerable for one in sheet.judged], WEIGHT)
    files.write_csv(paths["sweep"] / "lexical.csv", Row._fields, map(cells, rows))
    files.write_jsonl(paths["judged"] / "lexical.jsonl", sheet.judged)
    files.write_json(paths["threshold"] / "lexical.json", sealed(sheet.threshold))
    rows_of = [{**asdict(query), "rank_lists": {}} for query in sheet.queries]
    files.write_rows(paths["holdout"] / "lexical" / "queries.json", {"system": "lexical", "queries": rows_of})
    return paths


def run_stage(paths: dict[str, Path], seed: str = "0") -> subprocess.CompletedProcess[str]:
    arguments = [text for name, path in paths.items() for text in (f"--{name.replace('_', '-')}", str(path))]
    command = [sys.executable, "-m", "stages.write_report", *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_stage_writes_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    sheet = make_sheet()
    paths = write_inputs(tmp_path, sheet)
    done = run_stage(paths, "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    first = paths["report"].read_bytes()
    assert "seen by 0 distinct versions." in text_of(first.decode()), "no ledger, no lines"
    assert first.decode() == render(TEMPLATE, make_report(sheet, originals=1, entries=0, snapshot=SNAPSHOT, seen_by=()))
    assert run_stage(paths, "2").returncode == 0
    assert paths["report"].read_bytes() == first


def test_the_stage_counts_the_ledger_and_names_what_is_missing(tmp_path: Path) -> None:
    sheet = make_sheet()
    paths = write_inputs(tmp_path, sheet)
    read = files.read_json(paths["holdout"] / "lexical" / "queries.json", Queries).queries
    this = holdout_hash([Question(one.id, one.text) for one in read], [one.label for one in read])
    files.write_jsonl(paths["ledger"], [Seen(this, "c", name, {}) for name in ("one", "two")])
    assert run_stage(paths).returncode == 0
    assert "seen by 2 distinct versions." in text_of(paths["report"].read_text(encoding="utf-8"))
    files.write_json(paths["metrics"], {"other": {}})
    done = run_stage(paths)
    assert done.returncode == 1
    assert (
        done.stderr == f"BadInputError: {paths['metrics']}: no figures for lexical\nrun `dvc repro -f --no-run-cache`\n"
    )


def test_thresholds_by_kind_and_the_encoder_are_shown() -> None:
    sheet = make_sheet()
    sheet = replace(sheet, threshold=replace(sheet.threshold, threshold=None, by_kind={"image": 0.75, "text": None}))
    way = {part: {"correct": 3, "total": 4} for part in ("train", "heldout")}
    encoder = {"image_to_text": way, "text_to_image": way, "hnsw_recall": 0.9, "hnsw_recall_of": [9, 10]}
    page = render(TEMPLATE, make_report(sheet, encoder=encoder))
    shown = text_of(page)
    assert "image 0.75, text none" in shown and "best candidate: image" in page
    assert "image to text 3/4 3/4" in shown and "HNSW recall 9/10" in shown
