"""How well a signal tells what to answer from what to refuse, over all its thresholds: none is chosen here.

`right` says of each question whether answering it is no error: it is answerable or, where the caller hands that, its
answer is correct. A question without a signal is never covered, yet counts in every n. Points stand between distinct
signals alone, so that the order of the questions changes no digit: sums are of whole numbers, or rounded once (fsum).
"""

from math import fsum
from typing import Any, NamedTuple

import numpy as np

from stages.calibration.sweep import Answerable, Counts, Floats, Signals, accepted_at, by_label

RISKS = (1, 5, 10)
"""Per cent."""
BINS = 15


class Curve(NamedTuple):
    """The risk-coverage curve (Geifman & El-Yaniv 2017): k points, one a distinct signal, by rising coverage.

    thresholds        (k,) the signals, highest first.
    right, wrong      (k,) questions at or above each; coverage = (right + wrong) / n, risk = wrong / (right + wrong).
    n_right, n_wrong  over all questions; they add up to n.
    """

    thresholds: Floats
    right: Counts
    wrong: Counts
    n_right: int
    n_wrong: int

    @property
    def n(self) -> int:
        """All questions."""
        return self.n_right + self.n_wrong

    @property
    def covered(self) -> Counts:
        """Accepted questions at each point."""
        return self.right + self.wrong


def selective_metrics(signals: Signals, right: Answerable) -> dict[str, Any]:
    """Give every figure of this file, None where it has nothing to count; n, scored and wrong say over how many.

    signals  (n,) finite, higher answers sooner; None is a question without a candidate.
    right    (n,) in the same order. Raises BadInputError as `sweep` does.
    """
    curve = risk_coverage(signals, right)
    return {
        "n": curve.n,
        "scored": int(curve.covered.max(initial=0)),
        "wrong": curve.n_wrong,
        "aurc": aurc(curve),
        "eaurc": eaurc(curve),
        "augrc": augrc(curve),
        **{name: value for percent in RISKS for name, value in _coverage(curve, percent).items()},
        "auroc": auroc(curve),
        "average_precision": average_precision(curve),
        "calibration_error": calibration_error(signals, right),
    }


def risk_coverage(signals: Signals, right: Answerable) -> Curve:
    """Count what each threshold accepts. Arguments and errors as in `selective_metrics`."""
    scores = by_label(signals, right)
    thresholds = np.unique(np.concatenate([scores.positives, scores.negatives]))[::-1]
    accepted, erring = (accepted_at(part, thresholds) for part in (scores.positives, scores.negatives))
    return Curve(thresholds, accepted, erring, scores.n_positive, scores.n_negative)


def aurc(curve: Curve) -> float | None:
    """The area under the risk-coverage curve: the sum of the risks at 1, 2, … covered questions, over n.

    The form of Geifman, Uziel & El-Yaniv 2019. Equal signals count as their mean over all orders; the area ends at the
    coverage that can be reached. None where no question has a signal.
    """
    return _risks(curve.right, curve.wrong) / curve.n if curve.covered.size else None


def eaurc(curve: Curve) -> float | None:
    """The excess of AURC over that of the best order of the same covered questions, every right one first.

    Geifman, Uziel & El-Yaniv 2019, with the sum itself in place of their approximation r + (1 - r) ln(1 - r).
    """
    if not curve.covered.size:
        return None
    right, wrong = curve.right[-1], curve.wrong[-1]
    best = _risks(np.array([right, right]), np.array([0, wrong]))
    return (_risks(curve.right, curve.wrong) - best) / curve.n


def augrc(curve: Curve) -> float | None:
    """The area under the generalised risk, wrong / n, over coverage (Traub et al. 2024), by trapezoids.

    A trapezoid over equal signals is their mean over all orders. The area ends as that of `aurc`; where every question
    has a signal it is (1 - AUROC) a (1 - a) + (1 - a)^2 / 2 with a = n_right / n.
    """
    if not curve.covered.size:
        return None
    doubled = np.diff(curve.covered, prepend=0) * (2 * curve.wrong - np.diff(curve.wrong, prepend=0))
    return int(doubled.sum()) / (2 * curve.n**2)


def coverage_at(curve: Curve, percent: int) -> int | None:
    """The most questions that a threshold covers at a risk of at most `percent`; None where every threshold errs more.

    The risk is that of these questions: no bound for others.
    """
    within = np.flatnonzero(curve.wrong * 100 <= curve.covered * percent)
    return int(curve.covered[within[-1]]) if within.size else None


def auroc(curve: Curve) -> float | None:
    """The share of pairs, one right and one wrong, with the higher signal on the right one; a tie is half a pair.

    The area under the ROC curve as the Mann-Whitney statistic (Hanley & McNeil 1982). Questions without a signal are
    tied below all others. None where either side has no question.
    """
    right = np.diff(curve.right, prepend=0, append=curve.n_right)
    wrong = np.diff(curve.wrong, prepend=0, append=curve.n_wrong)
    doubled = right * (2 * (curve.n_wrong - np.cumsum(wrong)) + wrong)
    pairs = curve.n_right * curve.n_wrong
    return int(doubled.sum()) / (2 * pairs) if pairs else None


def average_precision(curve: Curve) -> float | None:
    """The sum over the thresholds of precision times the recall gained there (scikit-learn's step-wise definition).

    Equal signals enter together; what no threshold accepts gains nothing. None where no question is right.
    """
    gained = np.diff(curve.right, prepend=0)
    return fsum((gained * curve.right / curve.covered).tolist()) / curve.n_right if curve.n_right else None


def calibration_error(signals: Signals, right: Answerable) -> float | None:
    """The expected calibration error: |share that is right - mean signal| by bin, weighted by the bin's questions.

    15 bins of equal width on [0, 1], open below, 0 in the first (Naeini et al. 2015, Guo et al. 2017): bins of equal
    mass would split ties. Over questions with a signal; None where there is none or one lies outside [0, 1]. It means
    something only where the signal claims to be the probability of being right.
    """
    scores = by_label(signals, right)
    claimed = np.concatenate([scores.positives, scores.negatives])
    if not claimed.size or claimed.min() < 0 or claimed.max() > 1:
        return None
    came_true = np.arange(len(claimed)) < len(scores.positives)
    bins = np.ceil(claimed * BINS).clip(1)
    gaps = (fsum(np.append(-claimed[bins == one], came_true[bins == one]).tolist()) for one in range(1, BINS + 1))
    return fsum(map(abs, gaps)) / len(claimed)


def _coverage(curve: Curve, percent: int) -> dict[str, Any]:
    covered, name = coverage_at(curve, percent), f"coverage_at_{percent}"
    return {name: None if covered is None else covered / curve.n, f"{name}_of": [covered, curve.n]}


def _risks(right: Counts, wrong: Counts) -> float:
    """Sum the risks at each number of covered questions, expected over the orders of equal signals."""
    covered = right + wrong
    sizes, errors = np.diff(covered, prepend=0), np.diff(wrong, prepend=0)
    block = np.repeat(np.arange(len(sizes)), sizes)
    count = np.arange(1, len(block) + 1)
    within = (count - (covered - sizes)[block]) * errors[block] / sizes[block]
    return fsum((((wrong - errors)[block] + within) / count).tolist())
