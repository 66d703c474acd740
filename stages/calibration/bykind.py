"""One threshold for a system, or one for each kind of best candidate.

Similarities of a text to images and to texts may live on different scales (the modality gap, Liang et al. 2022): then
one number cannot be right for both. The kind of the best candidate is known before anything is decided.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from stages.calibration.sweep import Row, optimal
from stages.records import TOP_KINDS, TopKind

ANY = "any"


class Signalled(Protocol):
    """What calibration needs of a record."""

    @property
    def signal(self) -> float | None:
        """See `Record`."""

    @property
    def top(self) -> TopKind | None:
        """See `Record`."""


def best_rows(
    records: Sequence[Signalled], answerable: Sequence[bool], fp_weight: Fraction, by_kind: bool
) -> dict[str, Row]:
    """The best boundary over all records (key `any`), or over those of each kind.

    Weighted errors of the kinds add up, so that the best of each gives the best of all. A record without a candidate
    counts as text: no threshold accepts it.
    """
    if not by_kind:
        return {ANY: optimal([one.signal for one in records], answerable, fp_weight)}
    rows: dict[str, Row] = {}
    for kind in TOP_KINDS:
        pairs = zip(records, answerable, strict=True)
        part = [(one.signal, known) for one, known in pairs if (one.top or "text") == kind]
        rows[kind] = optimal([signal for signal, _ in part], [known for _, known in part], fp_weight)
    return rows


def thresholds(rows: Mapping[str, Row]) -> dict[TopKind, float | None] | None:
    """The threshold of each kind, None for "refuse all"; None for a system with a single one."""
    return None if ANY in rows else {kind: rows[kind].threshold for kind in TOP_KINDS}
