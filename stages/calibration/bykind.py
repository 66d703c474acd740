"""One threshold for a system, or one for each kind of best candidate.

Similarities of a text to images and to texts may live on different scales (the modality gap, Liang et al. 2022): then
one number cannot be right for both. The kind of the best candidate is known before anything is decided.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, TypeAlias

from stages.calibration.sweep import Row, optimal
from stages.records import TOP_KINDS, TopKind

ANY = "any"
Part: TypeAlias = tuple[list[float | None], list[bool]]


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
    parts = split_by_kind(records, answerable, by_kind)
    return {kind: optimal(signals, known, fp_weight) for kind, (signals, known) in parts.items()}


def split_by_kind(records: Sequence[Signalled], answerable: Sequence[bool], by_kind: bool) -> dict[str, Part]:
    """Signals and labels of all records (key `any`), or of those of each kind, in the records' order."""
    if not by_kind:
        return {ANY: ([one.signal for one in records], list(answerable))}
    parts: dict[str, Part] = {kind: ([], []) for kind in TOP_KINDS}
    for one, known in zip(records, answerable, strict=True):
        signals, labels = parts[one.top or "text"]
        signals.append(one.signal)
        labels.append(known)
    return parts


def single(rows: Mapping[str, Row]) -> float | None:
    """The threshold over all records, None for "refuse all"; None too for a system with one a kind."""
    return rows[ANY].threshold if ANY in rows else None


def thresholds(rows: Mapping[str, Row]) -> dict[TopKind, float | None] | None:
    """The threshold of each kind, None for "refuse all"; None for a system with a single one."""
    return None if ANY in rows else {kind: rows[kind].threshold for kind in TOP_KINDS}
