"""The gate: whether a signal is good enough to answer on, and what becomes of a record then."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stages.calibration.sweep import Floats
from stages.calibration.threshold import Threshold
from stages.records import Decision, TopKind

UNUSABLE = ("no_candidate", "source_changed")


class Undecided(Protocol):
    """What a decision needs of a record, judged or not."""

    @property
    def top(self) -> TopKind | None:
        """See `Record`."""

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
    """True when the system may answer: signal >= threshold. This module is the one owner of that comparison.

    A signal of None (no candidate) is never accepted; a threshold of None accepts nothing ("refuse all").
    """
    return signal is not None and threshold is not None and signal >= threshold


def accepts_each(signals: Floats, threshold: float | None) -> npt.NDArray[np.bool_]:
    """Give `accepts` for (n,) signals at once."""
    return np.zeros(len(signals), dtype=np.bool_) if threshold is None else signals >= threshold


def settle(record: Undecided, threshold: float | None) -> Decision:
    """Answer when gate and support both hold; otherwise refuse with the first reason in the order of REASONS."""
    gate = accepts(record.signal, threshold)
    if gate and record.support:
        return Decision(threshold, gate, "answered", None)
    reason = record.refusal if gate or record.refusal in UNUSABLE else "below_threshold"
    return Decision(threshold, gate, "refused", reason)


@dataclass(frozen=True, slots=True)
class Gate:
    """A frozen threshold, ready to decide. `stages.verify.load_gate` loads it and verifies it first.

    In a service of your own, beside a folder that holds params.yaml, dvc.yaml, stages/, the corpus and the artifacts
    (labels and captions may be missing):

        from stages.verify import load_gate

        gate = load_gate("path/to/project", "lexical")  # StaleThresholdError when anything changed since it was frozen
        signal = 0.9  # of your best candidate, made the way that the development signals were made
        print("answer" if gate.decide(signal) else "I don't know")

    It was verified when it was loaded; load it again to verify again. It is the gate alone: the pipeline answers only
    where the support check holds as well.
    """

    frozen: Threshold

    def decide(self, signal: float | None, top: TopKind | None = None) -> bool:
        """True when the signal passes. None is no candidate.

        top: what the best candidate is; without it a system with one threshold a kind passes nothing.
        """
        return accepts(signal, self.bar(top))

    def bar(self, top: TopKind | None) -> float | None:
        """The threshold that a signal meets, by the kind of its best candidate; None accepts nothing."""
        if self.frozen.by_kind is None:
            return self.frozen.threshold
        return None if top is None else self.frozen.by_kind[top]

    def settle(self, record: Undecided) -> Decision:
        """The decision on a record."""
        return settle(record, self.bar(record.top))
