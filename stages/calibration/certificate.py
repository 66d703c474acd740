"""Thresholds with a guarantee for new questions, where `stages.calibration.sweep` measures on known ones.

A certificate bounds an error rate by alpha with confidence 1 - delta: of many development sets, drawn and calibrated
alike, at most a share of delta leads to a threshold whose true rate is above alpha. It takes the questions of both
sets for independent draws from one population; questions that share a document are not, and it says nothing of them.

The test of one threshold is the exact binomial one (Clopper & Pearson 1934). Thresholds are tested from the strictest
to looser ones up to the first failure, each at the full delta: fixed-sequence testing (Angelopoulos, Bates, Candès,
Jordan & Lei 2021, "Learn then Test", section 3.2; for monotone risks Bates et al. 2021, "Distribution-Free,
Risk-Controlling Prediction Sets").
"""

from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stages.calibration.sweep import Answerable, Counts, Floats, Row, Scores, Signals, accepted_at, by_label, row_at
from stages.errors import BadInputError

BLOCK = 2**16
LARGEST = 2**52


class Certified(NamedTuple):
    """What was certified: the boundary and its test, or "refuse all" and `why_not`, in a sentence.

    errors, trials  the counts of the binomial at `row`: false accepts of unanswerable questions, or of answered ones.
    bound           the upper bound of errors / trials at confidence 1 - delta; None with `why_not`.
    needed          the fewest trials with which 0 errors are enough.
    """

    row: Row
    errors: int
    trials: int
    bound: float | None
    needed: int
    why_not: str | None


def upper_bound(k: int, n: int, delta: float) -> float:
    """Give the one-sided Clopper-Pearson upper bound, at confidence 1 - delta, of the rate behind k errors in n.

    It is the rate p at which P(Binomial(n, p) <= k) = delta, the 1 - delta quantile of Beta(k + 1, n - k); 1 for
    k = n, also where both are 0. Raises BadInputError unless 0 <= k <= n and 0 < delta < 1.
    """
    from scipy.special import betainccinv

    _check(delta=delta)
    if not 0 <= k <= n:
        raise BadInputError(f"{k} errors in {n}: expected 0 <= errors <= trials")
    return float(betainccinv(k + 1, n - k, delta)) if k < n else 1.0


def needed_trials(alpha: float, delta: float) -> int:
    """Give the smallest n with (1 - alpha) ** n <= delta: what certifies alpha when no error is seen."""
    _check(alpha=alpha, delta=delta)
    return bisect_left(range(LARGEST), True, lo=1, key=lambda n: _tail(0, n, alpha) <= delta)


def percent(delta: float) -> str:
    """The confidence 1 - delta in percent, with all its decimals: 0.1 is "90 %"."""
    return f"{(100 * (1 - Decimal(repr(delta)))).normalize():f} %"


def max_false_accept(
    signals: Signals, answerable: Answerable, fp_weight: Fraction, alpha: float, delta: float
) -> Certified:
    """Give the lowest threshold, the one with the most answers, whose false-accept rate is certified at most alpha.

    signals, answerable, fp_weight  as in `sweep`; the weight decides nothing here and stands in the row's error.
    alpha, delta                    both in (0, 1).

    The rate at t is P(signal >= t) among unanswerable questions; given their number n the false accepts are
    Binomial(n, rate). Neither rises with t, so the boundaries that pass are those with at most as many false accepts
    as the largest k that passes, and any of them may be chosen by whatever the data say: let t* be the supremum of the
    thresholds with a rate above alpha. The rate is left-continuous, so at t* it is alpha or more. A bad choice is at
    most t*, so it accepts what t* accepts: at most k false accepts at one fixed threshold, which has a probability of
    at most delta. Ties need no care.

    Raises BadInputError for what `sweep` refuses, and for alpha and delta.
    """
    needed = needed_trials(alpha, delta)
    scores = by_label(signals, answerable)
    thresholds = np.unique(np.concatenate([scores.positives, scores.negatives]))
    fp, n = accepted_at(scores.negatives, thresholds), scores.n_negative
    allowed = bisect_left(range(n), True, key=lambda k: _tail(k, n, alpha) > delta) - 1
    passed = thresholds[fp <= allowed]
    row = _at(scores, passed[:1], fp_weight)
    why_not = _why_no_rate(fp, n, allowed, needed, _goal(alpha, delta)) if row.refuse_all else None
    return _certified(row, row.fp, n, delta, needed, why_not)


def max_selective_risk(
    signals: Signals, answerable: Answerable, fp_weight: Fraction, alpha: float, delta: float, min_answers: int
) -> Certified:
    """Give the lowest threshold, the one with the most answers, whose selective risk is certified at most alpha.

    signals, answerable, fp_weight  as in `sweep`; the weight decides nothing here and stands in the row's error.
    alpha, delta                    both in (0, 1).
    min_answers                     >= 1, fixed before the signals are seen: stricter boundaries are not tested. Fewer
                                    than `needed` answers can certify nothing, so that counts as `needed`.

    The selective risk at t is R(t) = P(unanswerable | signal >= t) (Geifman & El-Yaniv 2017, whose union over
    thresholds the fixed sequence replaces). Tested is, for every distinct signal from the strictest with min_answers
    answers downwards, the hypothesis R(t) > alpha: it is rejected when P(Binomial(answers, alpha) <= wrong) <= delta.

    R need not be monotone, and both the boundaries and the first of them depend on the data, which the fixed sequence
    of Learn then Test does not allow for. The family-wise error is delta all the same, for every law, with ties or
    without. Call a threshold bad when R > alpha there; which ones are is fixed, though unknown. Between two observed
    signals the counts do not change, so that a bad choice implies a passed test at the first bad threshold with at
    least min_answers answers. It is enough to look at finitely many bad thresholds v1 > v2 > ... (R is left-continuous)
    and to show that stopping at the first with N(v) >= m answers, N known but which one random, passes with
    probability at most delta. Write D(v) = P(signal >= v) (R(v) - alpha) > 0. For the last level v take the last
    stricter level b with D(b) <= D(v), or the start, where D = 0. Then

    1. what stops at b or before is the same claim for fewer levels;
    2. given N(b) < m <= N(v), the answers beyond b have on average a risk of at least alpha, and those down to b are
       no better than alpha, so the count of wrong ones is Binomial(N(v), alpha) or larger in likelihood ratio order;
       P(pass at v) is at most delta;
    3. stopping at a level u between them, where D(u) > D(v), is no likelier to pass than going on to v would be: what
       v adds has a risk of at most alpha, so that the test at v is, as seen from u, a test of size delta; but among all
       tests of this size the binomial one, made at random exactly delta, passes least often where the risk is above
       alpha (Neyman & Pearson). This again is the claim for fewer levels, with v in the place of delta.

    Raises BadInputError for what `sweep` refuses, and for alpha, delta and min_answers.
    """
    needed = needed_trials(alpha, delta)
    if min_answers < 1:
        raise BadInputError(f"min_answers: expected 1 or more, got {min_answers}")
    scores = by_label(signals, answerable)
    thresholds, wrong, answers = _tested(scores, max(min_answers, needed))
    passed = _passed(wrong, answers, alpha, delta)
    row = _at(scores, thresholds[:passed][-1:], fp_weight)
    why_not = None
    if row.refuse_all:
        n = len(scores.positives) + len(scores.negatives)
        why_not = _why_no_risk(wrong, answers, n, needed, min_answers, _goal(alpha, delta), delta)
    return _certified(row, row.fp, row.tp + row.fp, delta, needed, why_not)


def _check(**shares: float) -> None:
    bad = [f"{name}: expected a number in (0, 1), got {share}" for name, share in shares.items() if not 0 < share < 1]
    if bad:
        raise BadInputError("\n".join(bad))


def _goal(alpha: float, delta: float) -> str:
    return f"alpha {alpha} at {percent(delta)}"


def _tail(k: int, n: int, p: float) -> float:
    """P(Binomial(n, p) <= k) for k < n, which is 1 - I_p(k + 1, n - k)."""
    from scipy.special import betaincc

    return float(betaincc(k + 1, n - k, p))


def _tested(scores: Scores, first: int) -> tuple[Floats, Counts, Counts]:
    """Give the boundaries that accept `first` or more, by falling threshold, with their wrong answers and answers."""
    thresholds = np.unique(np.concatenate([scores.positives, scores.negatives]))[::-1]
    wrong = accepted_at(scores.negatives, thresholds)
    answers = wrong + accepted_at(scores.positives, thresholds)
    tested = answers >= first
    return thresholds[tested], wrong[tested], answers[tested]


def _passed(wrong: Counts, answers: Counts, alpha: float, delta: float) -> int:
    """Count the boundaries before the first that fails. Right answers alone never make one fail: they are skipped."""
    from scipy.special import betaincc

    places = np.flatnonzero(np.diff(wrong, prepend=-1))
    for start in range(0, len(places), BLOCK):
        block = places[start : start + BLOCK]
        k, n = wrong[block], answers[block]
        failed = np.flatnonzero((k == n) | (betaincc(k + 1, np.maximum(n - k, 1), alpha) > delta))
        if len(failed):
            return int(block[failed[0]])
    return len(wrong)


def _at(scores: Scores, threshold: Floats, fp_weight: Fraction) -> Row:
    """Give the row of one threshold, or of "refuse all" where there is none."""
    tp, fp = (int(accepted_at(ascending, threshold).sum()) for ascending in (scores.positives, scores.negatives))
    return row_at(scores, threshold.item() if len(threshold) else None, tp, fp, fp_weight)


def _why_no_rate(fp: Counts, n: int, allowed: int, needed: int, goal: str) -> str:
    """Say why no boundary passed; fp: the false accepts of each, by rising threshold."""
    if n < needed:
        return f"with 0 false accepts, {goal} needs at least {needed} unanswerable questions; you have {n}"
    if not len(fp):
        return "no question has a signal"
    return f"{goal} allows at most {allowed} of {n} false accepts; the strictest threshold has {fp[-1]}"


def _why_no_risk(wrong: Counts, answers: Counts, n: int, needed: int, min_answers: int, goal: str, delta: float) -> str:
    """Say why no boundary passed; wrong, answers: of those that were tested, n: the answers of the loosest."""
    if n < needed:
        return f"with 0 wrong answers, {goal} needs at least {needed} questions with a signal; you have {n}"
    if n < min_answers:
        return f"testing starts at {min_answers} answers; you have {n} questions with a signal"
    first = upper_bound(int(wrong[0]), int(answers[0]), delta)
    return f"{goal}: the first {answers[0]} answers, {wrong[0]} of them wrong, bound the risk by {first:.4f}"


def _certified(row: Row, errors: int, trials: int, delta: float, needed: int, why_not: str | None) -> Certified:
    if why_not is not None:
        return Certified(row, errors, trials, None, needed, f"not certifiable: {why_not}")
    return Certified(row, errors, trials, upper_bound(errors, trials, delta), needed, None)
