"""The sweep against a slow twin in plain loops, and its rules one by one."""

import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.calibration.gate import accepts
from stages.calibration.sweep import Row, choose, optimal, sweep
from stages.errors import BadInputError
from stages.measures.rate import number
from stages.measures.refusal import confusion, refusal_metrics

Signals = list[float | None]
WEIGHTS = [Fraction(text) for text in ("0.1", "0.3", "1/3", "1", "2", "2.5", "7", "1e-30", "1e30")]
SIGNALS = st.one_of(st.none(), st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(-2, 2))
QUESTIONS = st.lists(st.tuples(SIGNALS, st.booleans()), max_size=40)


def slow_row(signals: Signals, answerable: list[bool], weight: Fraction, threshold: float | None) -> Row:
    """Count one boundary, question by question."""
    tp = fp = fn = tn = 0
    for signal, known in zip(signals, answerable, strict=True):
        accepted = accepts(signal, threshold)
        tp += accepted and known
        fp += accepted and not known
        fn += not accepted and known
        tn += not accepted and not known
    answer = Fraction(2 * tp, 2 * tp + fp + fn) if tp + fp + fn else None
    refusal = Fraction(2 * tn, 2 * tn + fn + fp) if tn + fn + fp else None
    return Row(threshold, threshold is None, tp, fp, fn, tn, fn + weight * fp, answer, refusal)


def slow_sweep(signals: Signals, answerable: list[bool], weight: Fraction) -> list[Row]:
    """Count every boundary."""
    distinct: list[float | None] = [*sorted({signal for signal in signals if signal is not None}), None]
    return [slow_row(signals, answerable, weight, threshold) for threshold in distinct]


def slow_choice(rows: Sequence[Row]) -> Row:
    """Compare every row with the best so far, rule by rule."""
    best = rows[0]
    for row in rows[1:]:
        if row.weighted_error != best.weighted_error:
            better = row.weighted_error < best.weighted_error
        elif (row.answer_f1 or 0) != (best.answer_f1 or 0):
            better = (row.answer_f1 or 0) > (best.answer_f1 or 0)
        else:
            better = row.threshold is None or (best.threshold is not None and row.threshold > best.threshold)
        best = row if better else best
    return best


def random_case(dice: random.Random) -> tuple[Signals, list[bool], Fraction]:
    """Draw up to 30 questions from few signals, so that most are tied; some have none, some cases have one class."""
    levels = [dice.uniform(-1, 1) for _ in range(dice.randint(1, 6))] + [None] * dice.randint(0, 2)
    share = dice.choice([0.0, 0.3, 0.5, 0.8, 1.0])
    n = dice.randint(0, 30)
    return dice.choices(levels, k=n), [dice.random() < share for _ in range(n)], dice.choice(WEIGHTS)


def test_agrees_with_the_slow_twin() -> None:
    dice = random.Random(7)
    for _ in range(4000):
        signals, answerable, weight = random_case(dice)
        rows = slow_sweep(signals, answerable, weight)
        assert sweep(signals, answerable, weight) == rows
        assert choose(rows) == optimal(signals, answerable, weight) == slow_choice(rows)


@given(QUESTIONS, st.one_of(st.sampled_from(WEIGHTS), st.fractions(0, 50, max_denominator=60)))
def test_only_a_positive_or_refuse_all_is_optimal(questions: list[tuple[float | None, bool]], weight: Fraction) -> None:
    signals, answerable = [signal for signal, _ in questions], [known for _, known in questions]
    chosen = choose(sweep(signals, answerable, weight))
    assert chosen == optimal(signals, answerable, weight)
    assert chosen.refuse_all or chosen.threshold in [signal for signal, known in questions if known]


@given(QUESTIONS, st.randoms())
def test_rows_do_not_depend_on_the_order_of_questions(
    questions: list[tuple[float | None, bool]], dice: random.Random
) -> None:
    shuffled = dice.sample(questions, len(questions))
    one, other = ([*zip(*rows, strict=True)] or [(), ()] for rows in (questions, shuffled))
    assert repr(sweep(one[0], one[1], Fraction(2))) == repr(sweep(other[0], other[1], Fraction(2)))


@given(QUESTIONS)
def test_acceptance_never_rises_with_the_threshold(questions: list[tuple[float | None, bool]]) -> None:
    signals, answerable = [signal for signal, _ in questions], [known for _, known in questions]
    rows = sweep(signals, answerable, Fraction(2))
    thresholds = [row.threshold for row in rows[:-1] if row.threshold is not None]
    accepted = [row.tp + row.fp for row in rows]
    assert thresholds == sorted(set(thresholds)) and len(thresholds) == len(rows) - 1
    assert accepted == sorted(set(accepted), reverse=True)
    assert accepted[-1] == 0 and rows[-1].refuse_all


@given(QUESTIONS, st.sampled_from(WEIGHTS))
def test_rows_agree_with_the_refusal_metrics(questions: list[tuple[float | None, bool]], weight: Fraction) -> None:
    signals, answerable = [signal for signal, _ in questions], [known for _, known in questions]
    for row in sweep(signals, answerable, weight):
        counts = confusion(answerable, [accepts(signal, row.threshold) for signal in signals])
        metrics = refusal_metrics(counts, weight)
        assert row[2:6] == counts
        assert number(row.weighted_error) == metrics["weighted_error"]
        assert (row.answer_f1 and float(row.answer_f1)) == metrics["answer_f1"]
        assert (row.refusal_f1 and float(row.refusal_f1)) == metrics["refusal_f1"]


def test_the_gate_accepts_its_own_threshold_and_nothing_without_one() -> None:
    assert accepts(0.5, 0.5) and accepts(0.6, 0.5)
    assert not accepts(0.4, 0.5)
    assert not accepts(None, -1.0) and not accepts(1.0, None) and not accepts(None, None)


@pytest.mark.parametrize("answerable", [[], [True, True], [False, False], [True, False]])
def test_without_any_signal_only_refuse_all_is_left(answerable: list[bool]) -> None:
    signals: Signals = [None] * len(answerable)
    rows = sweep(signals, answerable, Fraction(2))
    assert rows == [choose(rows)] == [optimal(signals, answerable, Fraction(2))]
    assert rows[0].refuse_all and rows[0].threshold is None and rows[0].weighted_error == sum(answerable)


def test_one_class_accepts_or_refuses_everything() -> None:
    assert choose(sweep([0.2, 0.7, 0.7], [True] * 3, Fraction(2)))[:6] == (0.2, False, 3, 0, 0, 0)
    assert choose(sweep([0.2, 0.7, 0.7], [False] * 3, Fraction(2)))[:6] == (None, True, 0, 0, 0, 3)


def test_ties_are_never_split() -> None:
    rows = sweep([0.5, 0.5, 0.5, 0.9], [True, False, True, False], Fraction(2))
    assert [row[:6] for row in rows] == [(0.5, False, 2, 2, 0, 0), (0.9, False, 0, 1, 2, 1), (None, True, 0, 0, 2, 2)]


def test_equal_errors_go_to_the_higher_f1_then_to_the_higher_threshold() -> None:
    rows = sweep([0.9, 0.5, 0.5], [True, True, False], Fraction(1))
    assert [row.weighted_error for row in rows] == [1, 1, 2]
    assert [row.answer_f1 for row in rows] == [Fraction(4, 5), Fraction(2, 3), 0] and choose(rows).threshold == 0.5
    tied = sweep([0.9, 0.9], [True, False], Fraction(1))
    assert [row.weighted_error for row in tied] == [1, 1] and choose(tied).threshold == 0.9
    unanswerable = sweep([0.9], [False], Fraction(0))
    assert [row.weighted_error for row in unanswerable] == [0, 0] and choose(unanswerable).refuse_all


def test_a_weight_of_a_tenth_counts_exactly() -> None:
    weight = Fraction("0.1")
    three = sweep([0.5] * 4, [True, False, False, False], weight)[0]
    assert three.weighted_error == Fraction("0.3") and 3 * 0.1 != 0.3
    signals, answerable = [0.9] * 10 + [0.1] * 11, [True, *[False] * 9, True, *[False] * 10]
    low, high, _ = sweep(signals, answerable, weight)
    assert high.weighted_error == low.weighted_error == Fraction("1.9")
    assert 1 + 9 * 0.1 < 19 * 0.1, "in floats the high threshold would win by an accident of rounding"
    assert choose([low, high]) == optimal(signals, answerable, weight) == low


def test_costs_beyond_64_bits_stay_exact() -> None:
    weight = 2 - Fraction(1, 2**70)
    signals, answerable = [0.9, 0.5, 0.5, 0.5], [True, True, True, False]
    assert optimal(signals, answerable, weight) == choose(sweep(signals, answerable, weight))
    assert optimal(signals, answerable, weight).threshold == 0.5


def test_arrays_are_as_good_as_lists() -> None:
    rng = np.random.default_rng(3)
    signals, answerable = rng.normal(size=20000).round(3), rng.random(20000) < 0.6
    rows = sweep(signals, answerable, Fraction(2))
    assert rows == sweep(signals.tolist(), answerable.tolist(), Fraction(2))
    assert choose(rows) == optimal(signals, answerable, Fraction(2))
    assert isinstance(rows[0].threshold, float) and isinstance(rows[0].tp, int)


def test_zero_has_no_sign() -> None:
    assert repr(sweep([-0.0, 0.0], [True, False], Fraction(2))[0].threshold) == "0.0"


def test_what_cannot_be_swept_is_named() -> None:
    with pytest.raises(BadInputError, match="2 signals for 1 labels"):
        sweep([0.1, 0.2], [True], Fraction(2))
    with pytest.raises(BadInputError, match=r"signal 1: .*got nan\nsignal 3: .*got inf"):
        sweep([None, float("nan"), 0.2, float("inf")], [True] * 4, Fraction(2))
