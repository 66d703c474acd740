"""Every decision boundary of a set of signals, and the choice among them.

The positive class is "the system answers". A boundary accepts what `stages.calibration.gate.accepts` accepts; only
distinct signals are boundaries, so ties are never split. Errors and F1 are exact: 3 x 0.1 costs what 0.3 costs.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stages.errors import BadInputError

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]
Signals: TypeAlias = Sequence[float | None] | Floats
Answerable: TypeAlias = Sequence[bool] | npt.NDArray[np.bool_]

INT64_MAX = 2**63 - 1


class Row(NamedTuple):
    """One boundary. `threshold` is None exactly when `refuse_all`; an F1 is None when it has nothing to count."""

    threshold: float | None
    refuse_all: bool
    tp: int
    fp: int
    fn: int
    tn: int
    weighted_error: Fraction
    answer_f1: Fraction | None
    refusal_f1: Fraction | None


class Scores(NamedTuple):
    """Signals apart by label, each ascending. The totals also count the questions without a signal."""

    positives: Floats
    negatives: Floats
    n_positive: int
    n_negative: int


def sweep(signals: Signals, answerable: Answerable, fp_weight: Fraction) -> list[Row]:
    """Give one row for each distinct signal, by rising threshold, and "refuse all" last.

    signals     (n,) finite; None is a question without a candidate, which no threshold accepts. -0.0 is 0.0.
    answerable  (n,) in the same order.
    fp_weight   >= 0: how many false refusals one false accept is worth; weighted error = FN + fp_weight * FP.

    The rows do not depend on the order of the questions. Raises BadInputError for unequal lengths, NaN and infinities.
    """
    scores = by_label(signals, answerable)
    return rows_at(scores, np.unique(np.concatenate([scores.positives, scores.negatives])), fp_weight)


def choose(rows: Sequence[Row]) -> Row:
    """Choose the least weighted error, then the higher answer F1 (None counts 0), then the higher threshold.

    "Refuse all" stands above every threshold. `rows` holds at least one row, as every sweep does.
    """
    return max(rows, key=lambda row: (-row.weighted_error, *preference(row)))


def preference(row: Row) -> tuple[Fraction | int, bool, float]:
    """Give the rank of a row among those of equal weighted error; no weight is in it."""
    return row.answer_f1 or 0, row.refuse_all, row.threshold or 0.0


def optimal(signals: Signals, answerable: Answerable, fp_weight: Fraction) -> Row:
    """Give `choose(sweep(...))` without making every row: for millions of signals, in linear memory.

    Between two positives' signals a lower threshold only adds false accepts, so that only a positive's signal or
    "refuse all" can be chosen. Among positives' signals of equal error, FP and FN are linear in TP, which makes
    2TP / (2TP + FP + FN) monotone in TP: the highest F1 stands at one of the two ends. Arguments as in `sweep`.
    """
    scores = by_label(signals, answerable)
    thresholds = np.unique(scores.positives)
    least = _least_error(scores, thresholds, fp_weight)
    return choose(rows_at(scores, np.unique(thresholds[[*least[:1], *least[-1:]]]), fp_weight))


def by_label(signals: Signals, answerable: Answerable) -> Scores:
    """Check and part the signals. Arguments and errors as in `sweep`."""
    if len(signals) != len(answerable):
        raise BadInputError(f"{len(signals)} signals for {len(answerable)} labels; give one of each for every question")
    values = np.array(signals, dtype=np.float64) + 0.0
    scored = np.isfinite(values)
    if len(values) - np.count_nonzero(scored) != sum(signal is None for signal in signals):
        _refuse_unusable(signals, np.flatnonzero(~scored))
    positive = np.array(answerable, dtype=np.bool_)
    n_positive = int(np.count_nonzero(positive))
    positives, negatives = np.sort(values[scored & positive]), np.sort(values[scored & ~positive])
    return Scores(positives, negatives, n_positive, len(values) - n_positive)


def _refuse_unusable(signals: Signals, suspects: npt.NDArray[np.intp]) -> None:
    found = [place for place in suspects.tolist() if signals[place] is not None]
    raise BadInputError("\n".join(f"signal {n}: expected a finite number or None, got {signals[n]}" for n in found))


def accepted_at(ascending: Floats, thresholds: Floats) -> Counts:
    """Count the scores at or above each threshold."""
    return len(ascending) - np.searchsorted(ascending, thresholds, side="left")


def _least_error(scores: Scores, thresholds: Floats, fp_weight: Fraction) -> npt.NDArray[np.intp]:
    """Give the places of the thresholds with the least weighted error; none where "refuse all" alone has it.

    The cost is what a threshold adds to the error of "refuse all", in whole numbers: 64 bits where they suffice.
    """
    tp, fp = accepted_at(scores.positives, thresholds), accepted_at(scores.negatives, thresholds)
    top, bottom = fp_weight.as_integer_ratio()
    largest = top * (scores.n_negative + 1) + bottom * (scores.n_positive + 1)
    kind = "int64" if largest <= INT64_MAX else "object"
    cost = fp.astype(kind) * top - tp.astype(kind) * bottom
    return np.flatnonzero(cost == cost.min(initial=0))


def rows_at(scores: Scores, thresholds: Floats, fp_weight: Fraction) -> list[Row]:
    """Give the rows of some thresholds in their order, and "refuse all" last."""
    tp, fp = accepted_at(scores.positives, thresholds), accepted_at(scores.negatives, thresholds)
    counted = zip(thresholds.tolist(), tp.tolist(), fp.tolist(), strict=True)
    return [*(row_at(scores, *boundary, fp_weight) for boundary in counted), row_at(scores, None, 0, 0, fp_weight)]


def row_at(scores: Scores, threshold: float | None, tp: int, fp: int, fp_weight: Fraction) -> Row:
    """Give the row of a threshold, None for "refuse all", that accepts tp answerable and fp unanswerable questions."""
    fn, tn = scores.n_positive - tp, scores.n_negative - fp
    error = fn + fp_weight * fp
    return Row(threshold, threshold is None, tp, fp, fn, tn, error, _f1(tp, fp + fn), _f1(tn, fn + fp))


def _f1(right: int, wrong: int) -> Fraction | None:
    """F1 = 2PR / (P + R) = 2 right / (2 right + wrong)."""
    return Fraction(2 * right, 2 * right + wrong) if right + wrong else None


def cells(row: Iterable[object]) -> tuple[object, ...]:
    """One line of a CSV: exact values as the nearest number, None as an empty cell."""
    return tuple(_number(value) if isinstance(value, Fraction) else value for value in row)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
