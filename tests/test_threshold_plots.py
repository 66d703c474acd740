"""Cost frontier and risk-coverage curves: what is drawn is what was counted, and the page says it in words."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.calibration.hull import hull
from stages.calibration.sweep import choose, sweep
from stages.errors import BadInputError
from stages.measures.evaluate import aggregate
from stages.measures.stability import RESAMPLES, stability
from stages.params import DatasetCard
from stages.report.coverage_plot import APART, coverage_plot, seen
from stages.report.frame import RIGHT
from stages.report.frontier_plot import BESIDE, MARKS, frontier_plot, frontiers, log_marks, weight_scale
from stages.report.inputs import Sheet
from stages.report.page import render
from stages.report.text import figure, ratio
from tests.test_hull import Question, columns
from tests.test_report import SVG, TEMPLATE, WEIGHT, make_independent, make_report, make_sheet, text_of
from tests.test_sweep import QUESTIONS, WEIGHTS

MANY = [round(0.37 * n % 1, 6) for n in range(150)]


def corners(drawing: ElementTree.Element, kind: str) -> list[tuple[float, float]]:
    """The points of the one line of a kind."""
    (line,) = [one for one in drawing.iter() if one.get("class") == f"step {kind}"]
    return [(float(x), float(y)) for x, y in (point.split(",") for point in (line.get("points") or "").split())]


def heights(drawing: ElementTree.Element, kind: str, x: float) -> set[float]:
    """Where a line of level steps stands at a pixel; two heights at a bend."""
    found = corners(drawing, kind)
    return {y for (left, y), (right, _) in zip(found[::2], found[1::2], strict=True) if left <= x <= right}


@given(QUESTIONS.filter(len), st.sampled_from([weight for weight in WEIGHTS if weight > 0]))
def test_the_steps_are_what_each_weight_would_choose(questions: list[Question], frozen: Fraction) -> None:
    optima = hull(*columns(questions), frozen)
    bends = [one.low for one in optima[1:]]
    x = weight_scale([*bends, frozen])
    drawing = ElementTree.fromstring(frontier_plot("s", "any", optima, frozen))
    counts = [(one.row.fp, one.row.fn) for one in optima]
    unit = 120 / (max(1, max(map(max, counts))) * 1.05) if any(map(any, counts)) else 0
    for weight in (Fraction(1, 100), *((low + high) / 2 for low, high in pairwise(bends)), frozen, Fraction(100)):
        best = choose(sweep(*columns(questions), weight))
        pixel = min(max(x.at(math.log10(weight)), x.start), x.end)
        for kind, count in (("unanswerable", best.fp), ("answerable", best.fn)):
            assert any(abs(y - (148 - count * unit)) < 0.02 for y in heights(drawing, kind, round(pixel, 2)))


@given(st.floats(1e-6, 1e9), st.floats(1, 1e12))
def test_marks_of_weights_are_few_and_inside(low: float, factor: float) -> None:
    x = weight_scale([Fraction(low), Fraction(low) * Fraction(factor)])
    marks = log_marks(x)
    assert 1 <= len(marks) <= MARKS
    assert all(low / 2.01 <= mark <= low * factor * 2.01 for mark in marks)


@pytest.mark.parametrize("kind", ["any", "image"])
def test_the_frozen_weight_is_marked(kind: str) -> None:
    optima = hull([0.1, 0.4, 0.9], [False, True, True], WEIGHT)
    drawing = ElementTree.fromstring(frontier_plot("s", kind, optima, WEIGHT))
    (line,) = [one for one in drawing if one.get("class") == "threshold"]
    assert line.get("x1") == line.get("x2") == "500", "alone on its axis"
    assert "frozen weight 2" in [one.text for one in drawing]
    assert ("best candidate: image" in (drawing.get("aria-label") or "")) is (kind == "image")


@given(st.lists(st.tuples(st.floats(0, 900), st.floats(0, 200)), min_size=1, max_size=50))
def test_no_point_that_could_be_seen_is_left_out(points: list[tuple[float, float]]) -> None:
    kept = list(seen(points))
    assert all(min(max(abs(x - a), abs(y - b)) for a, b in kept) < APART for x, y in points)
    assert all(max(abs(x - a), abs(y - b)) >= APART for (x, y), (a, b) in pairwise(kept))


def test_a_long_curve_is_thinned() -> None:
    assert len(list(seen((n / 100, 100 - n / 1000) for n in range(88_800)))) <= 1776


def test_the_frozen_point_lies_on_the_curve() -> None:
    sheet = make_sheet(signals=MANY)
    drawing = ElementTree.fromstring(coverage_plot(sheet))
    dots = {(one.get("class") or "").split()[1]: one for one in drawing.findall(f"{SVG}circle")}
    for name, found in (("dev", sheet.dev), ("holdout", sheet.holdout)):
        gate = found["gate"]
        covered = gate["tp"] + gate["fp"]
        at = float(dots[name].get("cx") or 0), float(dots[name].get("cy") or 0)
        assert any(max(abs(at[0] - x), abs(at[1] - y)) < APART for x, y in corners(drawing, name))
        said = f"{name}: coverage {ratio(covered / 150)} ({covered}/150), risk {ratio(gate['fp'] / covered)} ("
        assert (dots[name].findtext(f"{SVG}title") or "").startswith(said)
        assert corners(drawing, name)[-1][0] == RIGHT, "every question has a signal"


def test_what_refuses_all_has_no_point() -> None:
    drawing = ElementTree.fromstring(coverage_plot(make_sheet(signals=[0.1, None, 0.5])))
    assert drawing.findall(f"{SVG}circle") == []


def test_the_page_holds_the_frontier_around_the_frozen_weight() -> None:
    sheet = make_sheet(signals=MANY)
    (found,) = frontiers(sheet)
    text = text_of(render(TEMPLATE, make_report(sheet)))
    assert found.plot in render(TEMPLATE, make_report(sheet))
    assert len(found.near) <= min(found.chosen, 2 * BESIDE + 1)
    assert found.here.row.threshold == sheet.threshold.threshold and found.here in found.near
    row, top = found.here.row, 2 * found.here.row.tp
    bottom = top + row.fp + row.fn
    cells = f"frozen weight {figure(row.threshold)} {row.fp} {row.fn} {top / bottom:.3f} {top}/{bottom}"
    assert re.search(rf"fp_weight( [<≤] [\d.]+)? {re.escape(cells)}", text)


def test_every_selective_figure_is_shown_for_both_sets() -> None:
    sheet = make_sheet(signals=[*MANY, None])
    text = text_of(render(TEMPLATE, make_report(sheet)))
    for name, title in (("aurc", "AURC"), ("eaurc", "E-AURC"), ("augrc", "AUGRC"), ("auroc", "AUROC")):
        shown = " ".join(ratio(found["selective"][name]) for found in (sheet.holdout, sheet.dev))
        assert re.search(rf"\b{title} [^0-9]*? {re.escape(shown)}", text), title
    assert "with a signal the others had no candidate and are never accepted 150 150" in text
    for percent in (1, 5, 10):
        covered, n = sheet.holdout["selective"][f"coverage_at_{percent}_of"]
        assert f"{'–' if covered is None else covered}/{n}" in text


def flat_words(**ends: float | None) -> str:
    sheet = make_sheet()
    dev = {**sheet.dev, "threshold": {"flat": {"any": {"low": None, "high": None, "width": None, **ends}}}}
    text = text_of(render(TEMPLATE, make_report(replace(sheet, dev=dev))))
    return text[text.index("Flat optimum") : text.index(" has the least weighted error")]


def test_the_flat_optimum_in_words() -> None:
    assert flat_words() == "Flat optimum: on dev any threshold"
    assert flat_words(low=0.25) == "Flat optimum: on dev any threshold above 0.25"
    assert flat_words(high=0.5) == "Flat optimum: on dev any threshold up to 0.5"
    both = flat_words(low=0.25, high=0.5, width=0.25)
    assert both == "Flat optimum: on dev any threshold above 0.25, up to 0.5 (a width of 0.25)"


def spread_sheet(independent: bool) -> Sheet:
    sheet = make_sheet()
    card = DatasetCard("small", ["en"], independent, None)
    return replace(sheet, dev={**sheet.dev, "threshold": stability(sheet.judged, WEIGHT, False, card)})


def test_the_spread_is_shown_where_there_is_one() -> None:
    sheet = spread_sheet(True)
    errors = ", ".join(figure(value) for value in sheet.dev["threshold"]["spread"]["weighted_error"].values())
    report = make_report(make_independent(sheet), independent_draws=True, group_by=None)
    text = text_of(render(TEMPLATE, report))
    assert f"Bootstrap: {RESAMPLES} resamples of the 12 dev questions, quantiles at 5, 50 and 95 %." in text
    assert f"Weighted error of the threshold that all of them choose: {errors};" in text
    assert "Bootstrap" not in render(TEMPLATE, make_report(spread_sheet(False)))


def test_draws_grouped_by_what_nobody_knows_are_refused() -> None:
    sheet = make_sheet()
    with pytest.raises(BadInputError, match=r"group_by: no resamples by 'author' \(known: document, null\)"):
        stability(sheet.judged, WEIGHT, False, DatasetCard("small", ["en"], True, "author"))


def test_by_kind_there_is_a_frontier_for_each_and_the_curve_is_called_mixed() -> None:
    sheet = make_sheet()
    by_kind = replace(sheet.threshold, threshold=None, by_kind={"image": None, "text": sheet.threshold.threshold})
    sheet = replace(sheet, threshold=by_kind, dev=sheet.dev | {"gate": aggregate([], [], WEIGHT)["gate"]})
    assert [one.kind for one in frontiers(sheet)] == ["image", "text"]
    text = text_of(render(TEMPLATE, make_report(sheet)))
    assert "the curve mixes their signals as if they were one" in text
