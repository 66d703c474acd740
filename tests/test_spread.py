"""The flat optimum against thresholds tried one by one, the bootstrap against choosing again by the slow twins."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.calibration.gate import accepts
from stages.calibration.spread import Flat, draws, flat_optimum, spread
from tests.test_bykind import ONES, One
from tests.test_hull import Question, columns
from tests.test_sweep import WEIGHTS, slow_choice, slow_sweep

TWO = Fraction(2)


def error(questions: list[Question], threshold: float | None, weight: Fraction) -> Fraction:
    """FN + weight x FP, counted one by one."""
    met = [(known, accepts(signal, threshold)) for signal, known in questions]
    return sum((Fraction(1) if known else weight for known, taken in met if known != taken), Fraction(0))


FEW = st.lists(st.tuples(st.sampled_from([None, 0.1, 0.2, 0.3, 0.4, 0.5]), st.booleans()), max_size=12)


@given(FEW, st.sampled_from(WEIGHTS))
def test_the_flat_optimum_is_all_there_is_around_the_choice(questions: list[Question], weight: Fraction) -> None:
    low, high = flat_optimum(*columns(questions), weight)
    best = slow_choice(slow_sweep(*columns(questions), weight))
    tried = [place / 100 for place in range(5, 60, 5)]
    inside = [t for t in tried if (low is None or t > low) and (high is None or t <= high)]
    assert all(error(questions, t, weight) == best.weighted_error for t in inside)
    assert best.threshold in inside or (best.refuse_all and high is None)
    for beyond in ([] if low is None else [low]) + ([] if high is None else [high + 0.05]):
        assert error(questions, beyond, weight) > best.weighted_error


def test_the_width_of_the_flat_optimum() -> None:
    assert flat_optimum([0.1, 0.4, 0.9], [False, True, True], TWO) == Flat(0.1, 0.4)
    assert Flat(0.25, 0.75).width == 0.5
    assert flat_optimum([0.1, 0.4], [True, True], TWO) == Flat(None, 0.1)
    assert flat_optimum([0.1, 0.4], [False, False], TWO) == Flat(0.4, None)
    assert Flat(None, 0.1).width is Flat(0.4, None).width is None


def kinds_of(ones: list[One], by_kind: bool) -> dict[str, list[Question]]:
    if not by_kind:
        return {"any": [(one.signal, one.answerable) for one in ones]}
    parts = {"image": [one for one in ones if one.top == "image"], "text": [one for one in ones if one.top != "image"]}
    return {kind: [(one.signal, one.answerable) for one in part] for kind, part in parts.items()}


def chosen(ones: list[One], by_kind: bool) -> dict[str, float | None]:
    """The threshold of each kind, by the slow twins."""
    parts = kinds_of(ones, by_kind).items()
    return {kind: slow_choice(slow_sweep(*columns(part), TWO)).threshold for kind, part in parts}


def quantiles(values: list[float]) -> list[float]:
    return np.percentile(values, [5, 50, 95], method="inverted_cdf").tolist() if values else []


@settings(max_examples=50)
@given(st.lists(ONES, min_size=1, max_size=8), st.booleans(), st.integers(1, 30))
def test_quantiles_are_those_of_choosing_again(ones: list[One], by_kind: bool, times: int) -> None:
    resamples = list(draws([str(place // 2) for place in range(len(ones))], times, seed=3))
    found = spread(ones, [one.answerable for one in ones], TWO, by_kind, resamples)
    drawn = [[ones[place] for place in places] for places in resamples]
    for kind, thresholds in found.thresholds.items():
        again = [chosen(part, by_kind)[kind] for part in drawn]
        assert thresholds.refuse_all == again.count(None)
        assert list(thresholds.quantiles or []) == quantiles(
            [threshold for threshold in again if threshold is not None]
        )
    frozen = chosen(ones, by_kind)
    errors = [
        sum(error(part, frozen[kind], TWO) for kind, part in kinds_of(sample, by_kind).items())
        * len(ones)
        / len(sample)
        for sample in drawn
    ]
    assert [float(value) for value in found.weighted_error] == quantiles([float(value) for value in errors])
    assert found.resamples == times


@given(st.lists(st.tuples(ONES, st.sampled_from("abc")), min_size=1, max_size=12), st.randoms(), st.booleans())
def test_any_order_gives_the_same_bytes(rows: list[tuple[One, str]], dice: random.Random, by_kind: bool) -> None:
    found = []
    for order in (rows, dice.sample(rows, len(rows))):
        ones = [one for one, _ in order]
        resamples = draws([unit for _, unit in order], 20, seed=1)
        found.append(repr(spread(ones, [one.answerable for one in ones], TWO, by_kind, resamples)))
    assert found[0] == found[1]


def test_groups_are_drawn_whole_and_by_the_seed() -> None:
    units = ["b", "a", "b", "c", "a", "b"]
    resamples = list(draws(units, 200, seed=0))
    for places in resamples:
        times = Counter(places)
        drawn = {unit: {times[place] for place, other in enumerate(units) if other == unit} for unit in units}
        assert all(len(counts) == 1 for counts in drawn.values())
        assert sum(counts.pop() for counts in drawn.values()) == 3
    assert resamples == list(draws(units, 200, seed=0)) != list(draws(units, 200, seed=1))


def test_labels_far_apart_spread_over_the_lowest_answerable_alone() -> None:
    ones = [One((900 + place) / 1000, "text", True) for place in range(50)]
    ones += [One((100 + place) / 1000, "text", False) for place in range(50)]
    known = [one.answerable for one in ones]
    found = spread(ones, known, TWO, False, draws([str(place) for place in range(100)], 500, seed=0))
    low, middle, high = found.thresholds["any"].quantiles or (0.0, 0.0, 0.0)
    assert (low, middle) == (0.9, 0.9) and 0.9 < high < 0.91
    assert not any(found.weighted_error) and found.thresholds["any"].refuse_all == 0
    assert flat_optimum([one.signal for one in ones], known, TWO) == Flat(0.149, 0.9)
