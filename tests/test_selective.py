"""Selective figures against means over all permutations, loops over pairs, scikit-learn and scipy."""

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from stages.errors import BadInputError
from stages.measures.selective import (
    augrc,
    aurc,
    auroc,
    average_precision,
    calibration_error,
    coverage_at,
    eaurc,
    risk_coverage,
    selective_metrics,
)
from tests.test_hull import Question, columns, ranks
from tests.test_sweep import QUESTIONS
from tests.xlnet import needs_xlnet, xlnet

FEW = st.lists(st.tuples(st.sampled_from([None, 0.1, 0.2, 0.3]), st.booleans()), max_size=6)
TIED = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.4, 0.7, 1.0]), st.booleans()), min_size=2, max_size=40)


def orders(questions: list[Question]) -> Iterator[list[bool]]:
    """All orders by falling signal of the questions that have one: whether each is wrong."""
    for order in permutations([(signal, right) for signal, right in questions if signal is not None]):
        if all(one >= other for (one, _), (other, _) in pairwise(order)):
            yield [not right for _, right in order]


def slow_aurc(wrong: list[bool], n: int) -> Fraction:
    return sum((Fraction(sum(wrong[:k]), k * n) for k in range(1, len(wrong) + 1)), Fraction(0))


def slow_augrc(wrong: list[bool], n: int) -> Fraction:
    errors = [sum(wrong[:k]) for k in range(len(wrong) + 1)]
    return sum((Fraction(errors[k] + errors[k + 1], 2 * n * n) for k in range(len(wrong))), Fraction(0))


@given(FEW)
def test_areas_are_means_over_all_orders_of_equal_signals(questions: list[Question]) -> None:
    curve, drawn = risk_coverage(*columns(questions)), list(orders(questions))
    if not curve.covered.size:
        assert aurc(curve) is eaurc(curve) is augrc(curve) is None
        return
    area = sum(slow_aurc(wrong, curve.n) for wrong in drawn) / len(drawn)
    general = sum(slow_augrc(wrong, curve.n) for wrong in drawn) / len(drawn)
    best = min(slow_aurc(list(wrong), curve.n) for wrong in permutations(drawn[0]))
    assert aurc(curve) == pytest.approx(float(area), rel=1e-15)
    assert eaurc(curve) == pytest.approx(float(area - best), abs=1e-15)
    assert augrc(curve) == float(general)


@given(QUESTIONS)
def test_pairs_points_and_coverages_by_loops(questions: list[Question]) -> None:
    signals, right = columns(questions)
    curve = risk_coverage(signals, right)
    points = [
        (bar, sum(s >= bar for s, _ in known), sum(s >= bar and not good for s, good in known))
        for known in [[(s, good) for s, good in questions if s is not None]]
        for bar in sorted({s for s, _ in known}, reverse=True)
    ]
    found = zip(curve.thresholds.tolist(), curve.covered.tolist(), curve.wrong.tolist(), strict=True)
    assert list(found) == points
    assert all(np.diff(curve.covered) > 0), "the accepted count never rises with the threshold"
    for percent in (1, 5, 10, 40):
        within = [covered for _, covered, wrong in points if Fraction(wrong, covered) <= Fraction(percent, 100)]
        assert coverage_at(curve, percent) == max(within, default=None)
    low = [(-math.inf if signal is None else signal, good) for signal, good in questions]
    pairs = [Fraction((a > b) + (a >= b), 2) for a, good in low if good for b, bad in low if not bad]
    assert auroc(curve) == (float(sum(pairs) / len(pairs)) if pairs else None)


@given(TIED)
def test_ranking_figures_agree_with_scikit_learn_and_scipy(questions: list[Question]) -> None:
    signals, right = columns(questions)
    curve = risk_coverage(signals, right)
    scores, labels = np.array(signals, dtype=float), np.array(right)
    if not 0 < sum(right) < len(right):
        assert auroc(curve) is None
        return
    area = float(mannwhitneyu(scores[labels], scores[~labels]).statistic) / (curve.n_right * curve.n_wrong)
    assert auroc(curve) == pytest.approx(area) == pytest.approx(roc_auc_score(labels, scores))
    precision = average_precision(curve)
    assert precision == pytest.approx(average_precision_score(labels, scores))
    unscored = risk_coverage([*signals, *[None] * len(signals)], [*right, *right])
    assert precision is not None and average_precision(unscored) == pytest.approx(precision / 2)
    share = Fraction(curve.n_right, curve.n)
    expected = (1 - area) * share * (1 - share) + (1 - share) ** 2 / 2
    assert augrc(curve) == pytest.approx(expected), "the identity of Traub et al. 2024"


@given(QUESTIONS, st.randoms())
def test_any_order_gives_the_same_bytes(questions: list[Question], dice: random.Random) -> None:
    shuffled = dice.sample(questions, len(questions))
    assert json.dumps(selective_metrics(*columns(questions))) == json.dumps(selective_metrics(*columns(shuffled)))


@given(QUESTIONS)
def test_a_monotone_map_of_the_signals_changes_calibration_alone(questions: list[Question]) -> None:
    signals, right = columns(questions)
    mapped = ranks(signals)
    moved, unmoved = selective_metrics([mapped[signal] for signal in signals], right), selective_metrics(signals, right)
    assert {**moved, "calibration_error": None} == {**unmoved, "calibration_error": None}
    assert unmoved["eaurc"] is None or unmoved["eaurc"] >= 0


@given(
    st.lists(st.tuples(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.2, 0.4, 1.0])), st.booleans()), min_size=1)
)
def test_calibration_error_bin_by_bin(questions: list[tuple[float, bool]]) -> None:
    bins: dict[int, list[Fraction]] = {}
    for signal, right in questions:
        bins.setdefault(max(math.ceil(signal * 15), 1), []).append(right - Fraction(signal))
    expected = sum(abs(sum(gaps, Fraction(0))) for gaps in bins.values()) / len(questions)
    signals, came_true = [signal for signal, _ in questions], [right for _, right in questions]
    assert calibration_error(signals, came_true) == pytest.approx(float(expected), rel=1e-14, abs=1e-300)


def test_calibration_is_of_probabilities_alone() -> None:
    assert calibration_error([0.25, 0.25, None], [True, False, True]) == 0.25
    assert calibration_error([0.25, 1.5], [True, False]) is calibration_error([-0.1], [True]) is None
    assert calibration_error([], []) is calibration_error([None], [True]) is None


def test_figures_of_a_small_case() -> None:
    found = selective_metrics([0.9, 0.8, 0.8, 0.2, None], [True, True, False, False, True])
    assert (found["n"], found["scored"], found["wrong"]) == (5, 4, 2)
    assert found["aurc"] == pytest.approx((0 + 0.5 / 2 + 1 / 3 + 2 / 4) / 5)
    assert found["eaurc"] == pytest.approx(0.5 / 2 / 5)
    assert found["augrc"] == (0 + 0.25 + 0.75 + 1.5) / 25
    assert (found["coverage_at_5"], found["coverage_at_5_of"]) == (0.2, [1, 5])
    assert found["auroc"] == (2 + 1.5 + 0) / 6


def test_nothing_to_count_is_null_and_unusable_signals_are_named() -> None:
    empty = selective_metrics([], [])
    assert [value for value in empty.values() if value is not None] == [0, 0, 0, *[[None, 0]] * 3]
    erring = selective_metrics([0.5], [False])
    assert (erring["coverage_at_10"], erring["coverage_at_10_of"], erring["aurc"]) == (None, [None, 1], 1.0)
    with pytest.raises(BadInputError, match=r"signal 0: .*got nan"):
        selective_metrics([math.nan], [True])


@needs_xlnet
def test_a_real_reader() -> None:
    scores, answerable = xlnet()
    found, curve = selective_metrics(scores, answerable), risk_coverage(scores, answerable)
    assert round(found["auroc"], 3) == 0.895
    assert found["auroc"] == pytest.approx(roc_auc_score(answerable, scores), rel=1e-12)
    assert found["average_precision"] == pytest.approx(average_precision_score(answerable, scores), rel=1e-12)
    precision, recall, thresholds = precision_recall_curve(answerable, scores)
    assert thresholds[::-1].tolist() == curve.thresholds.tolist()
    assert (curve.right / curve.covered).tolist() == pytest.approx(precision[-2::-1].tolist())
    assert (curve.right / curve.n_right).tolist() == pytest.approx(recall[-2::-1].tolist())
