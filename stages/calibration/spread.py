"""How sharply the development set picks its threshold: the flat optimum, and the spread over bootstrap resamples.

A resample draws whole units with replacement, as many as there are (Efron 1979; whole groups, the cluster bootstrap,
where questions on one document stand or fall together). It shows what chance does to the choice; as the frozen
threshold was chosen on the same questions, it is no estimate of the error on new ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from stages.calibration.bykind import ANY, Signalled, best_rows
from stages.calibration.gate import accepts
from stages.calibration.sweep import Answerable, Row, Signals, choose, sweep

SHARES = (Fraction(5, 100), Fraction(50, 100), Fraction(95, 100))
Value = TypeVar("Value", float, Fraction)
Quantiles: TypeAlias = tuple[Value, Value, Value]


class Flat(NamedTuple):
    """Any threshold t with low < t <= high has the least weighted error; None: there is no such end."""

    low: float | None
    high: float | None

    @property
    def width(self) -> float | None:
        """In units of the signal; None where an end is missing."""
        return None if self.low is None or self.high is None else self.high - self.low


class Thresholds(NamedTuple):
    """The thresholds that the resamples choose.

    quantiles   at 5, 50 and 95 %, each a signal of the development set; over the resamples that choose a threshold,
                None where there is none.
    refuse_all  how many resamples choose to refuse all.
    """

    quantiles: Quantiles[float] | None
    refuse_all: int


class Spread(NamedTuple):
    """The spread over `resamples`; thresholds by the keys of `best_rows`.

    weighted_error  quantiles, at 5, 50 and 95 %, of the weighted error of the thresholds that all questions choose,
                    scaled to the number of all questions, since whole groups make resamples of unequal size.
    """

    thresholds: dict[str, Thresholds]
    weighted_error: Quantiles[Fraction]
    resamples: int


def flat_optimum(signals: Signals, answerable: Answerable, fp_weight: Fraction) -> Flat:
    """Give the stretch around the chosen threshold in which nothing costs more. Arguments and errors as in `sweep`.

    Between two signals a threshold decides as the upper one does, above all of them as "refuse all". A boundary that
    costs as little but lies beyond a costlier one is not part of it.
    """
    rows = sweep(signals, answerable, fp_weight)
    best = choose(rows)
    low = high = rows.index(best)
    while low and rows[low - 1].weighted_error == best.weighted_error:
        low -= 1
    while high + 1 < len(rows) and rows[high + 1].weighted_error == best.weighted_error:
        high += 1
    return Flat(rows[low - 1].threshold if low else None, rows[high].threshold)


def draws(units: Sequence[str], resamples: int, seed: int) -> Iterator[list[int]]:
    """Yield the places of each resample's questions; n changes where units differ in size.

    units  (n,) what is drawn whole: a question's own id, or the name of its group. Drawn in their sorted order, so that
           the same questions in another order make the same resamples.
    """
    members: dict[str, list[int]] = {unit: [] for unit in sorted(units)}
    for place, unit in enumerate(units):
        members[unit].append(place)
    groups, rng = list(members.values()), np.random.default_rng(seed)
    for _ in range(resamples):
        yield [place for drawn in rng.integers(len(groups), size=len(groups)).tolist() for place in groups[drawn]]


def spread(
    records: Sequence[Signalled],
    answerable: Sequence[bool],
    fp_weight: Fraction,
    by_kind: bool,
    resamples: Iterable[Sequence[int]],
) -> Spread:
    """Choose again on each of `resamples` (see `draws`), at least one, of at least one question.

    Arguments as in `best_rows`.
    """
    costs = _costs(records, answerable, best_rows(records, answerable, fp_weight, by_kind), fp_weight)
    errors: list[Fraction] = []
    chosen: list[dict[str, Row]] = []
    for places in resamples:
        drawn, known = [records[place] for place in places], [answerable[place] for place in places]
        chosen.append(best_rows(drawn, known, fp_weight, by_kind))
        errors.append(sum(costs[place] for place in places) * Fraction(len(costs), len(places)))
    kinds = {kind: _thresholds([rows[kind] for rows in chosen]) for kind in chosen[0]}
    return Spread(kinds, _quantiles(errors), len(errors))


def _costs(
    records: Sequence[Signalled], answerable: Sequence[bool], rows: Mapping[str, Row], fp_weight: Fraction
) -> list[Fraction]:
    """What each question adds to the weighted error."""
    costs = {(True, False): Fraction(1), (False, True): fp_weight}
    bars = [rows[ANY if ANY in rows else one.top or "text"].threshold for one in records]
    decided = zip(records, answerable, bars, strict=True)
    return [costs.get((known, accepts(one.signal, bar)), Fraction(0)) for one, known, bar in decided]


def _thresholds(chosen: Sequence[Row]) -> Thresholds:
    kept = [row.threshold for row in chosen if row.threshold is not None]
    return Thresholds(_quantiles(kept) if kept else None, len(chosen) - len(kept))


def _quantiles(values: Sequence[Value]) -> Quantiles[Value]:
    """Give the least value that a share of all values does not exceed: always one of them, never a mean of two."""
    ordered = sorted(values)
    low, middle, high = (ordered[ceil(share * len(ordered)) - 1] for share in SHARES)
    return low, middle, high
