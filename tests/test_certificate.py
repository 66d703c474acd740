"""Certificates against scipy's exact test and slow twins, and their guarantee: exactly on few questions, drawn on many.

Each guarantee has a control, the choice without the fixed sequence, which breaks it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from stages.calibration.certificate import Certified, max_false_accept, max_selective_risk, needed_trials, upper_bound
from stages.calibration.sweep import Row, Signals, sweep
from stages.errors import BadInputError
from tests.test_sweep import QUESTIONS

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Choice = Callable[[Signals, Bools], float | None]
Questions = list[tuple[float | None, bool]]

WEIGHT = Fraction(2)
SHARES = st.sampled_from([0.1, 0.3, 0.5, 0.8])
ALPHA, DELTA = 0.05, 0.1
DRAWS, QUESTIONS_A_DRAW = 4000, 300
TOLERANCE = 3 * math.sqrt(DELTA * (1 - DELTA) / DRAWS)  # three standard errors of a share that is exactly delta


def fails(k: int, n: int, alpha: float, delta: float) -> bool:
    """Test "the rate is above alpha" by scipy's exact binomial test; with no trial it cannot be rejected."""
    return n == 0 or binomtest(k, n, alpha, alternative="less").pvalue > delta


def slow_false_accept(rows: Sequence[Row], alpha: float, delta: float) -> Row:
    """Walk from "refuse all" to looser boundaries while the test passes."""
    chosen = rows[-1]
    for row in reversed(rows[:-1]):
        if fails(row.fp, row.fp + row.tn, alpha, delta):
            break
        chosen = row
    return chosen


def slow_selective_risk(rows: Sequence[Row], alpha: float, delta: float, min_answers: int) -> Row:
    """Walk the same way, from the first boundary with enough answers to pass without an error."""
    chosen = rows[-1]
    for row in reversed(rows[:-1]):
        n = row.tp + row.fp
        if n < min_answers or fails(0, n, alpha, delta):
            continue
        if fails(row.fp, n, alpha, delta):
            break
        chosen = row
    return chosen


def apart(questions: Questions) -> tuple[list[float | None], list[bool]]:
    return [signal for signal, _ in questions], [known for _, known in questions]


@pytest.mark.parametrize("delta", [0.001, 0.1, 0.5, 0.9])
def test_the_bound_is_the_one_of_clopper_and_pearson(delta: float) -> None:
    for n in (1, 2, 7, 45, 1000):
        for k in {0, 1, n // 3, n - 1, n}:
            if k < n:
                assert upper_bound(k, n, delta) == pytest.approx(beta.ppf(1 - delta, k + 1, n - k), rel=1e-9)
            two_sided = binomtest(k, n).proportion_ci(1 - 2 * delta).high if delta < 0.5 else None
            assert two_sided is None or upper_bound(k, n, delta) == pytest.approx(two_sided, rel=1e-9)
    assert upper_bound(0, 0, delta) == upper_bound(3, 3, delta) == 1


def test_needed_trials_is_the_smallest_n() -> None:
    assert needed_trials(0.05, 0.1) == 45 and needed_trials(0.5, 0.25) == 2 and needed_trials(0.9, 0.5) == 1
    for alpha in (0.001, 0.05, 0.2, 0.6):
        for delta in (1e-6, 0.05, 0.1, 0.4):
            n = needed_trials(alpha, delta)
            assert (1 - alpha) ** n <= delta < (1 - alpha) ** (n - 1)
            assert upper_bound(0, n, delta) <= alpha < upper_bound(0, n - 1, delta)


@given(QUESTIONS, SHARES, SHARES)
def test_false_accepts_agree_with_the_slow_twin(questions: Questions, alpha: float, delta: float) -> None:
    signals, answerable = apart(questions)
    certified = max_false_accept(signals, answerable, WEIGHT, alpha, delta)
    assert certified.row == slow_false_accept(sweep(signals, answerable, WEIGHT), alpha, delta)
    check_counts(certified, certified.row.fp, certified.row.fp + certified.row.tn, alpha, delta)


@given(QUESTIONS, SHARES, SHARES, st.integers(1, 20))
def test_selective_risk_agrees_with_the_slow_twin(
    questions: Questions, alpha: float, delta: float, min_answers: int
) -> None:
    signals, answerable = apart(questions)
    certified = max_selective_risk(signals, answerable, WEIGHT, alpha, delta, min_answers)
    assert certified.row == slow_selective_risk(sweep(signals, answerable, WEIGHT), alpha, delta, min_answers)
    check_counts(certified, certified.row.fp, certified.row.tp + certified.row.fp, alpha, delta)


def check_counts(certified: Certified, errors: int, trials: int, alpha: float, delta: float) -> None:
    assert (certified.errors, certified.trials) == (errors, trials)
    assert certified.needed == needed_trials(alpha, delta)
    if certified.row.refuse_all:
        assert certified.bound is None and str(certified.why_not).startswith("not certifiable: ")
    else:
        assert certified.why_not is None and certified.bound == upper_bound(errors, trials, delta)
        assert certified.bound <= alpha * (1 + 1e-12) and trials >= certified.needed


def test_one_error_more_than_the_test_allows_ends_the_sequence() -> None:
    signals = [*np.linspace(1, 0.5, 100), 0.4, 0.3, 0.2, *np.linspace(0.1, 0, 900)]
    answerable = [True] * 100 + [False] * 3 + [True] * 900
    certified = max_selective_risk(signals, answerable, WEIGHT, ALPHA, DELTA, 45)
    assert upper_bound(1, 101, DELTA) <= ALPHA < upper_bound(2, 102, DELTA)
    assert (certified.row.threshold, certified.errors, certified.trials) == (0.4, 1, 101)
    assert upper_bound(3, 1003, DELTA) <= ALPHA, "a looser boundary would pass, but nobody may look beyond a failure"


def test_the_fewest_questions_are_named() -> None:
    signals, answerable = [0.9] * 20 + [0.1] * 31, [True] * 20 + [False] * 31
    certified = max_false_accept(signals, answerable, WEIGHT, 0.05, 0.1)
    assert certified.row.threshold is None and certified.row.refuse_all and certified.needed == 45
    assert certified.why_not == (
        "not certifiable: with 0 false accepts, alpha 0.05 at 90 % needs at least 45 unanswerable questions; "
        "you have 31"
    )
    enough = max_false_accept(signals + [0.1] * 14, answerable + [False] * 14, WEIGHT, 0.05, 0.1)
    assert enough.row.threshold == 0.9 and enough.bound == pytest.approx(0.0499, abs=1e-4)


@pytest.mark.parametrize(
    ("positives", "negatives", "reason"),
    [
        (
            [0.5],
            [0.9, 0.9, 0.9, *[0.1] * 97],
            "alpha 0.05 at 90 % allows at most 1 of 100 .*; the strictest threshold has 3",
        ),
        ([None], [None] * 50, "no question has a signal"),
        ([0.5], [], "at least 45 unanswerable questions; you have 0"),
    ],
)
def test_why_false_accepts_are_not_certifiable(
    positives: list[float | None], negatives: list[float | None], reason: str
) -> None:
    labels = [True] * len(positives) + [False] * len(negatives)
    found = max_false_accept(positives + negatives, labels, WEIGHT, 0.05, 0.1)
    assert found.row.refuse_all
    with pytest.raises(BadInputError, match=f"not certifiable: .*{reason}"):
        raise BadInputError(found.why_not)


@pytest.mark.parametrize(
    ("n_right", "n_wrong", "min_answers", "reason"),
    [
        (20, 0, 1, "with 0 wrong answers, alpha 0.05 at 90 % needs at least 45 questions with a signal; you have 20"),
        (80, 0, 100, "testing starts at 100 answers; you have 80 questions with a signal"),
        (50, 5, 45, "alpha 0.05 at 90 %: the first 55 answers, 5 of them wrong, bound the risk by 0.1621"),
    ],
)
def test_why_selective_risk_is_not_certifiable(n_right: int, n_wrong: int, min_answers: int, reason: str) -> None:
    labels = [True] * n_right + [False] * n_wrong
    signals: Signals = [*[0.5] * len(labels), None]
    found = max_selective_risk(signals, [*labels, True], WEIGHT, 0.05, 0.1, min_answers)
    assert found.row.refuse_all and found.why_not == f"not certifiable: {reason}"


def test_what_cannot_be_certified_on_is_named() -> None:
    with pytest.raises(BadInputError, match="2 signals for 1 labels"):
        max_false_accept([0.1, 0.2], [True], WEIGHT, 0.05, 0.1)
    with pytest.raises(BadInputError, match=r"signal 1: .*got nan"):
        max_selective_risk([0.1, float("nan")], [True] * 2, WEIGHT, 0.05, 0.1, 1)
    with pytest.raises(BadInputError, match=r"alpha: expected .*got 0\ndelta: expected .*got nan"):
        max_false_accept([0.1], [True], WEIGHT, 0, float("nan"))
    with pytest.raises(BadInputError, match="min_answers: expected 1 or more, got 0"):
        max_selective_risk([0.1], [True], WEIGHT, 0.05, 0.1, 0)
    with pytest.raises(BadInputError, match="3 errors in 2"):
        upper_bound(3, 2, 0.1)


def test_a_million_questions_take_no_loop() -> None:
    rng = np.random.default_rng(5)
    signals, answerable = rng.random(1_000_000), rng.random(1_000_000) < 0.98
    answered = max_selective_risk(signals, answerable, WEIGHT, ALPHA, DELTA, 200)
    assert answered.row.threshold == signals.min() and answered.trials == 1_000_000
    refused = max_false_accept(signals, answerable, WEIGHT, ALPHA, DELTA)
    assert refused.row.fp <= ALPHA * refused.trials < refused.row.fp + 100


def false_accept(signals: Signals, answerable: Bools) -> float | None:
    return max_false_accept(signals, answerable, WEIGHT, ALPHA, DELTA).row.threshold


def selective_risk(signals: Signals, answerable: Bools) -> float | None:
    return max_selective_risk(signals, answerable, WEIGHT, ALPHA, DELTA, 45).row.threshold


def empirical_false_accept(signals: Signals, answerable: Bools) -> float | None:
    """Choose the lowest threshold whose observed rate is at most alpha: a control."""
    rows = sweep(signals, answerable, WEIGHT)[:-1]
    return next((row.threshold for row in rows if row.fp <= ALPHA * (row.fp + row.tn)), None)


def unsequenced_selective_risk(signals: Signals, answerable: Bools) -> float | None:
    """Choose the lowest threshold whose bound is at most alpha, whatever stricter ones have: a control."""
    rows = sweep(signals, answerable, WEIGHT)[:-1]
    counts = ((row.threshold, row.fp, row.tp + row.fp) for row in rows)
    return next((threshold for threshold, k, n in counts if k <= ALPHA * n and not fails(k, n, ALPHA, DELTA)), None)


def steps(values: Floats, levels: int | None) -> Floats:
    """Round up to few levels, so that most are tied; None leaves them continuous."""
    return values if levels is None else np.ceil(values * levels) / levels


def above(threshold: float | None, levels: int | None) -> float:
    """P(steps(U) >= threshold) of a uniform U."""
    if threshold is None:
        return 0.0
    return 1 - threshold if levels is None else 1 - (round(threshold * levels) - 1) / levels


def share_of_false_accept_above_alpha(choice: Choice, levels: int | None, draws: int = DRAWS) -> float:
    """Draw questions of which 60 % are answerable; uniform signals of the others make the rate known exactly."""
    rng, bad = np.random.default_rng(11), 0
    for _ in range(draws):
        answerable = rng.random(QUESTIONS_A_DRAW) < 0.6
        uniform = rng.random(QUESTIONS_A_DRAW)
        signals = steps(np.where(answerable, np.sqrt(uniform), uniform), levels)
        bad += above(choice(signals, answerable), levels) > ALPHA + 1e-12
    return bad / draws


@pytest.mark.parametrize("levels", [None, 50, 19])
def test_the_false_accept_rate_holds_in_all_but_delta_of_the_draws(levels: int | None) -> None:
    share = share_of_false_accept_above_alpha(false_accept, levels)
    assert 0 < share <= DELTA + TOLERANCE


def test_without_a_bound_the_false_accept_rate_does_not_hold() -> None:
    assert share_of_false_accept_above_alpha(empirical_false_accept, None, 300) > 0.3


# The wrong answers among the share u of the highest signals, cumulated, at given u and linear between them. "even" is
# above alpha by a hair everywhere, "waves" crosses alpha five times, "late" and "early" once.
LAWS: dict[str, tuple[list[float], list[float]]] = {
    "even": ([0, 1], [0, 0.0501]),
    "late": ([0, 0.4, 1], [0, 0.004, 0.304]),
    "early": ([0, 0.1, 1], [0, 0.009, 0.039]),
    "waves": ([0, 0.1, 0.2, 0.22, 0.3, 0.35, 0.6, 1], [0, 0.001, 0.0108, 0.0108, 0.0152, 0.0152, 0.0303, 0.0503]),
}


def share_of_selective_risk_above_alpha(choice: Choice, law: str, levels: int | None, draws: int = DRAWS) -> float:
    """Draw uniform signals; a question with u = 1 - signal is unanswerable with the law's slope at u."""
    rng, bad = np.random.default_rng(13), 0
    places, cumulated = LAWS[law]
    slopes = np.diff(cumulated) / np.diff(places)
    for _ in range(draws):
        signals = rng.random(QUESTIONS_A_DRAW)
        risk = slopes[np.searchsorted(places, 1 - signals, side="right") - 1]
        threshold = choice(steps(signals, levels), rng.random(QUESTIONS_A_DRAW) >= risk)
        answered = above(threshold, levels)
        bad += float(np.interp(answered, places, cumulated)) > (ALPHA + 1e-12) * answered
    return bad / draws


@pytest.mark.parametrize("levels", [None, 8])
@pytest.mark.parametrize("law", LAWS)
def test_the_selective_risk_holds_in_all_but_delta_of_the_draws(law: str, levels: int | None) -> None:
    assert share_of_selective_risk_above_alpha(selective_risk, law, levels) <= DELTA + TOLERANCE


def test_without_the_sequence_the_selective_risk_does_not_hold() -> None:
    assert share_of_selective_risk_above_alpha(unsequenced_selective_risk, "even", None, 300) > 2 * DELTA


FEW, LEVELS = 8, 3
FEW_ALPHA, FEW_DELTA, FEW_MIN = 0.3, 0.26, 4  # P(Binomial(8, 0.3) <= 1) is 0.2553


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write `total` as an ordered sum of `parts` counts."""
    for bars in combinations(range(total + parts - 1), parts - 1):
        yield tuple(after - before - 1 for before, after in pairwise([-1, *bars, total + parts - 1]))


def test_the_selective_risk_holds_exactly_for_every_outcome_of_few_tied_questions() -> None:
    """Sum the probabilities of all outcomes that lead to a bad threshold: 8 questions, 3 signals or none, 500 laws."""
    outcomes = np.array(list(compositions(FEW, 2 * LEVELS + 1)))
    chosen, naive = np.array([few_choices(counts) for counts in outcomes]).T
    ways = np.array([math.factorial(FEW) / math.prod(map(math.factorial, counts)) for counts in outcomes.tolist()])
    rng, worst, worst_naive = np.random.default_rng(17), 0.0, 0.0
    for _ in range(500):
        mass, wrong = hugging_law(rng)
        cells = np.array([*mass * wrong, *mass * (1 - wrong), 1 - mass.sum()])
        probability = ways * np.prod(np.maximum(cells, 0) ** outcomes, axis=1)
        bad = np.array([False, *(np.cumsum(mass * (wrong - FEW_ALPHA)) > 1e-12)])
        assert probability.sum() == pytest.approx(1)
        worst, worst_naive = max(worst, probability @ bad[chosen]), max(worst_naive, probability @ bad[naive])
    assert 0.9 * FEW_DELTA < worst <= FEW_DELTA < worst_naive


def few_choices(counts: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Give the level chosen by the sequence and the loosest level that passes by itself; 0 refuses all."""
    wrong, right = counts[:LEVELS], counts[LEVELS:-1]
    signals = [-float(level) for group in (wrong, right) for level, n in enumerate(group, 1) for _ in range(n)]
    answerable = [False] * int(wrong.sum()) + [True] * int(right.sum())
    found = max_selective_risk(signals, answerable, WEIGHT, FEW_ALPHA, FEW_DELTA, FEW_MIN).row.threshold
    passing = [
        level + 1
        for level, (k, n) in enumerate(zip(np.cumsum(wrong), np.cumsum(wrong + right), strict=True))
        if n >= FEW_MIN and upper_bound(int(k), int(n), FEW_DELTA) <= FEW_ALPHA
    ]
    return -int(found or 0), max(passing, default=0)


def hugging_law(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw masses and risks of the levels whose cumulated risk stays near alpha, mostly a little above it."""
    mass = rng.dirichlet(np.ones(LEVELS)) * rng.choice([0.8, 1.0])
    excess = np.abs(rng.normal(size=LEVELS)) * rng.choice([1e-6, 0.02, 0.2]) * rng.choice([-1, 1, 1, 1])
    wrong = FEW_ALPHA + np.diff(excess * mass, prepend=0) / mass
    return mass, np.clip(wrong, 0, 1)
