"""The hull against a search over weights with the slow twins, and against scikit-learn's ROC curve."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, roc_curve

from stages.calibration.hull import Optimum, hull
from stages.calibration.sweep import choose, optimal, sweep
from tests.test_sweep import QUESTIONS, WEIGHTS, slow_choice, slow_sweep
from tests.xlnet import needs_xlnet, xlnet

Question = tuple[float | None, bool]

N = 8
ONE = Fraction(1)
FEW = st.lists(st.tuples(st.sampled_from([None, 0.1, 0.2, 0.3, 0.4, 0.5]), st.booleans()), max_size=N)
CROSSINGS = sorted({Fraction(fn, fp) for fn in range(1, N + 1) for fp in range(1, N + 1)})
TRIED = [*CROSSINGS, *((low + high) / 2 for low, high in pairwise([Fraction(0), *CROSSINGS, Fraction(3 * N)]))]
"""All weights at which two boundaries over N questions can cost the same, and one between any two of them."""


def columns(questions: list[Question]) -> tuple[list[float | None], list[bool]]:
    return [signal for signal, _ in questions], [known for _, known in questions]


def ranks(signals: list[float | None]) -> dict[float | None, float | None]:
    """A monotone map of these signals, None to None."""
    distinct = sorted({signal for signal in signals if signal is not None})
    return {None: None, **{signal: 3.0 * place for place, signal in enumerate(distinct)}}


def holds(one: Optimum, weight: Fraction) -> bool:
    above = weight > one.low or (one.low_holds and weight == one.low)
    return above and (one.high is None or weight < one.high or (one.high_holds and weight == one.high))


@given(FEW)
def test_at_every_weight_one_interval_holds_and_is_the_choice(questions: list[Question]) -> None:
    optima, found = hull(*columns(questions), ONE), set()
    for weight in TRIED:
        (there,) = (one for one in optima if holds(one, weight))
        assert there.row.threshold == slow_choice(slow_sweep(*columns(questions), weight)).threshold, weight
        found.add(there)
    assert found == set(optima), "each is chosen somewhere"
    assert {one.row for one in optima} <= set(slow_sweep(*columns(questions), ONE))


@given(QUESTIONS, st.lists(st.fractions(0, 50, max_denominator=60), min_size=3, max_size=3, unique=True))
def test_the_least_error_is_concave_in_the_weight(questions: list[Question], weights: list[Fraction]) -> None:
    rows = [one.row for one in hull(*columns(questions), ONE)]
    low, middle, high = sorted(weights)
    cost = {weight: min(row.fn + weight * row.fp for row in rows) for weight in [*weights, *WEIGHTS]}
    assert cost == {weight: optimal(*columns(questions), weight).weighted_error for weight in cost}
    assert cost[middle] * (high - low) >= cost[low] * (high - middle) + cost[high] * (middle - low)


@given(QUESTIONS, st.randoms())
def test_any_order_gives_the_same_bytes(questions: list[Question], dice: random.Random) -> None:
    shuffled = dice.sample(questions, len(questions))
    assert repr(hull(*columns(questions), ONE)) == repr(hull(*columns(shuffled), ONE))


@given(QUESTIONS)
def test_a_monotone_map_of_the_signals_maps_the_thresholds_and_nothing_else(questions: list[Question]) -> None:
    signals, answerable = columns(questions)
    mapped = ranks(signals)
    moved = hull([mapped[signal] for signal in signals], answerable, ONE)
    optima = hull(signals, answerable, ONE)
    assert moved == [one._replace(row=one.row._replace(threshold=mapped[one.row.threshold])) for one in optima]


def test_refuse_all_takes_part_and_one_class_has_one_optimum() -> None:
    low, high = hull([0.9, 0.9, 0.5, 0.5, 0.5], [True, False, True, True, False], ONE)
    assert (low.row.threshold, high.row.refuse_all) == (0.5, True)
    assert low == Optimum(low.row, Fraction(0), False, Fraction(3, 2), True)
    assert high == Optimum(high.row, Fraction(3, 2), False, None, False)
    for signals, answerable in (([], []), ([0.5], [False]), ([None], [True])):
        (only,) = hull(signals, answerable, ONE)
        assert only.row.refuse_all and only == Optimum(only.row, Fraction(0), False, None, False)


@needs_xlnet
def test_the_hull_of_a_real_reader_is_that_of_the_roc_curve() -> None:
    scores, answerable = xlnet()
    optima = hull(scores, answerable, Fraction(2))
    for row in (one.row for one in optima):
        accepted = np.zeros_like(answerable) if row.threshold is None else scores >= row.threshold
        assert confusion_matrix(answerable, accepted).ravel().tolist() == [row.tn, row.fp, row.fn, row.tp]
    false_rate, true_rate, _ = roc_curve(answerable, scores, drop_intermediate=False)
    fp, fn = (false_rate * (~answerable).sum()).round(), ((1 - true_rate) * answerable.sum()).round()
    for one in optima:
        weight = one.low + 1 if one.high is None else (one.low + one.high) / 2
        assert one.row.fn + float(weight) * one.row.fp == (fn + float(weight) * fp).min()
    assert next(one.row for one in optima if holds(one, Fraction(2))) == choose(sweep(scores, answerable, Fraction(2)))
