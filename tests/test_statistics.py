"""Intervals, paired tests and the two-sample test against scipy and against slow twins that enumerate everything."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stages.calibration.spread import draws
from stages.measures import paired, two_sample
from stages.measures.intervals import wilson, wilson_f1, with_intervals
from stages.measures.paired import bootstrap_interval, holm, randomisation_test, with_holm
from stages.measures.refusal import Confusion, refusal_metrics
from stages.measures.two_sample import shift_test

DIFFERENCES = st.lists(
    st.sampled_from([Fraction(-2), Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1)]), max_size=9
)
SIGNALS = st.lists(st.sampled_from([None, 0.0, 0.2, 0.5, 1.0]), min_size=1, max_size=5)


@pytest.mark.parametrize("n", [1, 2, 39, 317])
def test_wilson_agrees_with_scipy(n: int) -> None:
    for k in range(n + 1):
        theirs = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert wilson(k, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert wilson(0, 0) is None


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_the_interval_of_f1_is_that_of_its_share(tp: int, fp: int, fn: int) -> None:
    top, bottom = 2 * tp, 2 * tp + fp + fn
    found, share = wilson_f1(top, bottom), wilson(tp, tp + fp + fn)
    if found is None or share is None:
        assert found is share is None and bottom == 0
    else:
        assert [end / (2 - end) for end in found] == pytest.approx(share)
        assert found[0] - 1e-12 <= top / bottom <= found[1] + 1e-12


def test_intervals_stand_beside_shares_of_questions_alone() -> None:
    gate = refusal_metrics(Confusion(8, 3, 2, 7), Fraction(2))
    figures = {
        "gate": gate,
        "context": {"recall": 0.5, "recall_of": [1, 2]},
        "answers": {"correct": 3, "total": 4, "reasons": {"refused": 2, "total": 2, "reason_fits": 1}},
        "retrieval": {"hit_at_1": 1.0, "hit_at_1_of": [2, 2], "mrr_at_5": 1.0, "mrr_at_5_of": [2, 2], "n": 2},
        "citations": {"answered": 0, "with_citation": 0, "verified": 0},
    }
    found = with_intervals(figures)
    added = {part: found[part].keys() - figures[part].keys() for part in figures}
    sides = {f"{side}_{name}_ci95" for side in ("answer", "refusal") for name in ("precision", "recall", "f1")}
    assert added == {
        "gate": sides,
        "context": set(),
        "answers": {"correct_ci95"},
        "retrieval": {"hit_at_1_ci95"},
        "citations": {"with_citation_ci95", "verified_ci95"},
    }
    assert found["gate"]["answer_precision_ci95"] == wilson(8, 11)
    assert found["gate"]["refusal_f1_ci95"] == wilson_f1(14, 19)
    assert found["answers"]["reasons"]["reason_fits_ci95"] == wilson(1, 2)
    assert found["citations"]["verified_ci95"] is None


def all_flips(differences: Sequence[Fraction], units: Sequence[str]) -> float:
    """The p value by going through every sign of every unit."""
    sums = [
        sum(float(d) for d, unit in zip(differences, units, strict=True) if unit == one) for one in sorted(set(units))
    ]
    flips = list(itertools.product((1, -1), repeat=len(sums)))
    reached = [abs(sum(sign * one for sign, one in zip(flip, sums, strict=True))) >= abs(sum(sums)) for flip in flips]
    return sum(reached) / len(flips)


@given(DIFFERENCES, st.lists(st.sampled_from("abcdef"), min_size=9, max_size=9))
def test_the_randomisation_test_agrees_with_all_flips(differences: list[Fraction], units: list[str]) -> None:
    for names in (units[: len(differences)], list("123456789")[: len(differences)]):
        assert randomisation_test(differences, names) == pytest.approx(all_flips(differences, names), abs=1e-12)


def test_the_randomisation_test_agrees_with_scipy() -> None:
    differences = [Fraction(n) for n in (3, -1, 4, -1, 5, 9, -2, 6)]
    values = [float(one) for one in differences]
    theirs = stats.permutation_test(
        (values, [0.0] * 8), lambda x, y, axis: (x - y).sum(axis=axis), permutation_type="samples", vectorized=True
    )
    assert randomisation_test(differences, list("abcdefgh")) == pytest.approx(theirs.pvalue)


def test_sampled_flips_come_near_to_all_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    differences, units = [Fraction(n % 5 - 1) for n in range(18)], [str(n) for n in range(18)]
    exact = randomisation_test(differences, units)
    monkeypatch.setattr(paired, "EXACT", 0)
    assert randomisation_test(differences, units) == pytest.approx(exact, abs=0.02)
    assert randomisation_test(differences, units) == randomisation_test(differences[::-1], units)


def test_nothing_that_differs_is_no_difference() -> None:
    assert randomisation_test([], []) == 1
    assert randomisation_test([Fraction(0)] * 5, list("abcde")) == 1
    assert bootstrap_interval([], []) is None


@settings(max_examples=20)
@given(st.permutations(range(12)))
def test_the_order_of_the_questions_changes_nothing(order: list[int]) -> None:
    rows = [(f"q{n}", Fraction(n % 4 - 1, 2), n / 7 if n % 3 else None) for n in range(12)]
    found = []
    for some in (rows, [rows[place] for place in order]):
        some = sorted(some)
        units, differences = [f"group{int(name[1:]) // 3}" for name, _, _ in some], [one for _, one, _ in some]
        interval = bootstrap_interval(differences, draws(units, 50, 0))
        found.append((randomisation_test(differences, units), interval))
    assert found[0] == found[1]
    signals = [signal for _, _, signal in rows]
    assert shift_test(signals, [0.5, None]) == shift_test([signals[place] for place in order], [None, 0.5])


def test_the_bootstrap_draws_groups_whole() -> None:
    differences, units = [Fraction(1), Fraction(1), Fraction(-1), Fraction(-1)], ["a", "a", "b", "b"]
    assert bootstrap_interval(differences, draws(units, 500, 0)) == (-1, 1)
    alone = [Fraction(n % 3 == 0) - Fraction(n % 7 == 0) for n in range(120)]
    names = [f"{n:03}" for n in range(120)]
    low, high = bootstrap_interval(alone, draws(names, 4000, 0)) or (0, 0)
    theirs = stats.bootstrap(
        ([float(one) for one in alone],), lambda x, axis: x.mean(axis=axis), method="percentile", rng=0
    ).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_the_closed_bonferroni_test(p_values: list[float]) -> None:
    sets = [some for size in range(7) for some in itertools.combinations(range(len(p_values)), size)]
    bonferroni = {some: min(1.0, len(some) * min(p_values[one] for one in some)) for some in sets if some}
    closed = [max(p for some, p in bonferroni.items() if one in some) for one in range(len(p_values))]
    assert holm(p_values) == pytest.approx(closed, abs=1e-12)


def test_holm_keeps_the_names() -> None:
    assert with_holm({"a": {"p": 0.04}, "b": {"p": 0.01}}) == {
        "a": {"p": 0.04, "p_holm": 0.04},
        "b": {"p": 0.01, "p_holm": 0.02},
    }


def distance(first: Sequence[float | None], second: Sequence[float | None]) -> Fraction:
    """The largest gap of the distribution functions, from its definition."""
    one, two = ([-inf if signal is None else signal for signal in some] for some in (first, second))
    shares = [[Fraction(sum(s <= at for s in some), len(some)) for at in {*one, *two}] for some in (one, two)]
    return max(abs(a - b) for a, b in zip(shares[0], shares[1], strict=True))


@settings(deadline=None)
@given(SIGNALS, SIGNALS)
def test_the_two_sample_test_agrees_with_all_splits(first: list[float | None], second: list[float | None]) -> None:
    pooled, widest = first + second, distance(first, second)
    splits = list(itertools.combinations(range(len(pooled)), len(first)))
    rest = [[pooled[place] for place in range(len(pooled)) if place not in split] for split in splits]
    wide = [distance([pooled[i] for i in one], other) >= widest for one, other in zip(splits, rest, strict=True)]
    found = shift_test(first, second) or {}
    assert found["statistic"] == float(widest) and found["n"] == [len(first), len(second)]
    assert found["p"] == pytest.approx(sum(wide) / len(splits), abs=1e-12)


def test_the_two_sample_test_agrees_with_scipy_where_nothing_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = [0.618034 * n % 1 for n in range(60)], [0.543689 * n % 0.8 for n in range(1, 46)]
    exact = stats.ks_2samp(first, second, method="exact")
    found = shift_test(first, second) or {}
    assert (found["statistic"], found["p"]) == pytest.approx((exact.statistic, exact.pvalue), abs=1e-12)
    assert found["direction"] == "lower"
    monkeypatch.setattr(two_sample, "EXACT", 0)
    asymptotic = stats.ks_2samp(first, second, method="asymp").pvalue
    assert (shift_test(first, second) or {})["p"] == round(float(asymptotic), 6)


def test_no_signal_lies_below_every_signal() -> None:
    assert (shift_test([None, None], [0.0, 0.0]) or {})["direction"] == "higher"
    assert (shift_test([0.5], [0.5]) or {}) == {"n": [1, 1], "statistic": 0.0, "p": 1.0, "direction": None}
    assert shift_test([], [0.5]) is None
