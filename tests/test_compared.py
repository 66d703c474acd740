"""What a borrowed threshold costs, and what independent draws allow to say; in any order of the questions."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.calibration.gate import Gate
from stages.calibration.threshold import Threshold
from stages.errors import BadInputError
from stages.measures.compared import comparisons, shifts
from stages.measures.evaluate import Judged
from stages.measures.holdout import Evaluated, borrowed, optimism
from stages.measures.units import units_of
from stages.records import Label, Span
from tests.test_report import make_judged, make_label, make_queries, make_sheet

WEIGHT = Fraction(2)
SIGNALS = [0.1, 0.9, 0.4, 0.8, 0.7, 0.3, 1.0, 0.2, 0.9, None, 0.6, 0.6]


def frozen(threshold: float | None) -> Threshold:
    return replace(make_sheet().threshold, threshold=threshold, refuse_all=threshold is None)


def evaluated(signals: Sequence[float | None], threshold: float | None) -> Evaluated:
    judged = [make_judged(query) for query in make_queries(signals, threshold, "h")]
    gate = Gate(frozen(threshold))
    return Evaluated(gate.frozen, judged, [gate.settle(one) for one in judged], {})


def shuffled(one: Evaluated, order: Sequence[int]) -> Evaluated:
    return replace(one, judged=[one.judged[n] for n in order], decisions=[one.decisions[n] for n in order])


def errors(judged: Sequence[Judged], threshold: float) -> int:
    missed = [one.answerable for one in judged if one.signal is None or one.signal < threshold]
    return sum(missed) + 2 * sum(not one.answerable for one in judged) - 2 * (len(missed) - sum(missed))


def test_a_borrowed_threshold_is_counted_on_the_borrower_s_signals() -> None:
    found = {"a": evaluated(SIGNALS, 0.5), "b": evaluated([0.37 * n % 1 for n in range(12)], 0.9)}
    costs = borrowed(found, WEIGHT)
    assert {system: list(owners) for system, owners in costs.items()} == {"a": ["b"], "b": ["a"]}
    own, other = errors(found["a"].judged, 0.5), errors(found["a"].judged, 0.9)
    assert costs["a"]["b"] == {"weighted_error": other, "difference": other - own}


def test_a_threshold_by_kind_is_borrowed_by_the_kind_of_each_candidate() -> None:
    kinds = replace(frozen(None), by_kind={"image": None, "text": 0.5}, refuse_all=False)
    found = {"a": evaluated(SIGNALS, 0.9), "b": replace(evaluated(SIGNALS, 0.5), frozen=kinds)}
    assert borrowed(found, WEIGHT)["a"]["b"]["weighted_error"] == errors(found["a"].judged, 0.5)


def test_optimism_is_dev_minus_holdout_per_question() -> None:
    one = evaluated(SIGNALS, 0.5)
    dev = replace(one.frozen.dev, fn=1, fp=1, n_answerable=20, n_unanswerable=10)
    found = optimism(replace(one.frozen, dev=dev), one.judged, WEIGHT)
    assert found == float(Fraction(3, 30) - Fraction(errors(one.judged, 0.5), 12))
    assert optimism(one.frozen, [], WEIGHT) is None


def evidence(name: str, *paths: str) -> Label:
    return make_label(name, evidence=(tuple(Span(path, 0, 1) for path in paths),))


def test_questions_that_share_an_original_are_one_unit() -> None:
    refusal: dict[str, Any] = {"category": "refusal", "unanswerable_kind": "missing", "evidence": ()}
    labels = [
        evidence("q1", "docs/c.md"),
        evidence("q2", "docs/b.md"),
        evidence("q3", "docs/c.md", "docs/d.md"),
        evidence("q4", "docs/d.md", "docs/b.md"),
        make_label("q5", category="image", expected_image="images/1.png", evidence=()),
        make_label("q6", **refusal),
        make_label("q7", **refusal),
    ]
    assert units_of(labels, None) == {label.id: label.id for label in labels}
    expected = dict.fromkeys(("q1", "q2", "q3", "q4"), "docs/b.md")
    expected |= {"q5": "images/1.png", "q6": "question q6", "q7": "question q7"}
    assert units_of(labels, "document") == units_of(labels[::-1], "document") == expected
    with pytest.raises(BadInputError, match="group_by: expected document or null, got 'author'"):
        units_of(labels, "author")


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(12)))
def test_the_order_of_the_questions_changes_no_digit(order: list[int]) -> None:
    found = {"a": evaluated(SIGNALS, 0.5), "b": evaluated([0.37 * n % 1 for n in range(12)], 0.9)}
    units = {one.id: f"group {int(one.id[1:]) // 2}" for one in found["a"].judged}
    dev = [(n / 10, n % 2 == 0) for n in range(10)]
    other = {"a": shuffled(found["a"], order), "b": shuffled(found["b"], order[::-1])}
    moved = {name: units[name] for name in [f"h{n}" for n in order]}
    assert comparisons(found, units, WEIGHT) == comparisons(other, moved, WEIGHT)
    assert shifts({"a": dev, "b": dev}, found) == shifts({"a": dev[::-1], "b": dev}, other)
    assert borrowed(found, WEIGHT) == borrowed(other, WEIGHT)


def test_pairs_are_compared_on_decisions_and_corrected_together() -> None:
    found = {name: evaluated(SIGNALS, bar) for name, bar in (("a", 0.1), ("b", 0.5), ("c", 0.9))}
    units = {one.id: one.id for one in found["a"].judged}
    pairs = comparisons(found, units, WEIGHT)
    assert list(pairs) == ["a_vs_b", "a_vs_c", "b_vs_c"]
    assert all(list(one) == ["right", "weighted_error"] for one in pairs.values())
    p_values = [one[measure]["p"] for one in pairs.values() for measure in one]
    assert min(one[measure]["p_holm"] for one in pairs.values() for measure in one) == min(1, 6 * min(p_values))
    costs = {
        name: sum(d.status == "refused" for j, d in zip(one.judged, one.decisions, strict=True) if j.answerable)
        + 2 * sum(d.status == "answered" for j, d in zip(one.judged, one.decisions, strict=True) if not j.answerable)
        for name, one in found.items()
    }
    assert pairs["a_vs_c"]["weighted_error"]["difference"] == (costs["a"] - costs["c"]) / 12
    assert comparisons({"a": found["a"]}, units, WEIGHT) == {}


def test_a_shift_says_which_class_moved() -> None:
    one = evaluated([0.5] * 30, 0.5)
    dev = [(0.5, True)] * 20 + [(0.1, False)] * 10
    (moved,) = shifts({"a": dev}, {"a": one}).values()
    assert moved["answerable"]["p_holm"] == 1 and moved["answerable"]["direction"] is None
    assert moved["unanswerable"]["p_holm"] < 0.001 and moved["unanswerable"]["direction"] == "higher"
    assert shifts({"a": dev[:20]}, {"a": one})["a"]["unanswerable"] is None
