"""The gate: whether a signal is good enough to answer on, and what becomes of a record then."""

from typing import Protocol

from stages.records import Decision

UNUSABLE = ("no_candidate", "source_changed")


class Undecided(Protocol):
    """What a decision needs of a record, judged or not."""

    @property
    def signal(self) -> float | None:
        """See `Record`."""

    @property
    def support(self) -> bool:
        """See `Record`."""

    @property
    def refusal(self) -> str | None:
        """See `Record`."""


def accepts(signal: float | None, threshold: float | None) -> bool:
    """True when the system may answer: signal >= threshold. This is the one owner of that comparison.

    A signal of None (no candidate) is never accepted; a threshold of None accepts nothing ("refuse all").
    """
    return signal is not None and threshold is not None and signal >= threshold


def decide(record: Undecided, threshold: float | None) -> Decision:
    """Answer when gate and support both hold; otherwise refuse with the first reason in the order of REASONS."""
    gate = accepts(record.signal, threshold)
    if gate and record.support:
        return Decision(threshold, gate, "answered", None)
    reason = record.refusal if gate or record.refusal in UNUSABLE else "below_threshold"
    return Decision(threshold, gate, "refused", reason)
