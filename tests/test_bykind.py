"""One threshold for each kind: as good as the best pair of thresholds that a slow search over all pairs finds."""

from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from stages.calibration.bykind import best_rows, thresholds
from stages.calibration.gate import accepts
from stages.records import TopKind


class One(NamedTuple):
    signal: float | None
    top: TopKind | None
    answerable: bool


ONES = st.builds(
    One, st.one_of(st.none(), st.sampled_from([0.1, 0.2, 0.3])), st.sampled_from(["image", "text", None]), st.booleans()
)


def error(ones: list[One], bars: dict[TopKind, float | None], weight: Fraction) -> Fraction:
    """FN + weight x FP, counted one by one."""
    met = [(one.answerable, one.top is not None and accepts(one.signal, bars[one.top])) for one in ones]
    return sum((Fraction(1) if known else weight for known, taken in met if known != taken), Fraction(0))


@given(st.lists(ONES, max_size=12), st.sampled_from([Fraction(1, 3), Fraction(2)]))
def test_the_best_rows_are_the_best_pair(ones: list[One], weight: Fraction) -> None:
    ones = [one if one.top else one._replace(signal=None) for one in ones]
    rows = best_rows(ones, [one.answerable for one in ones], weight, by_kind=True)
    bars = thresholds(rows)
    assert bars is not None
    values = [0.1, 0.2, 0.3, None]
    least = min(error(ones, {"image": one, "text": other}, weight) for one in values for other in values)
    assert error(ones, bars, weight) == least == sum(row.weighted_error for row in rows.values())
    assert thresholds(best_rows(ones, [one.answerable for one in ones], weight, by_kind=False)) is None
