"""One system on the holdout, and what its threshold costs there: against dev, and against the threshold of another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from stages.calibration.gate import Gate, accepts
from stages.calibration.threshold import Threshold
from stages.measures.evaluate import Judged
from stages.measures.rate import number
from stages.measures.refusal import confusion
from stages.records import Decision


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A system's judged holdout questions with its decisions on them, in the same order, and its figures."""

    frozen: Threshold
    judged: Sequence[Judged]
    decisions: Sequence[Decision]
    figures: Mapping[str, Any]


def gate_error(judged: Sequence[Judged], frozen: Threshold, fp_weight: Fraction) -> Fraction:
    """FN + fp_weight * FP of a threshold on these signals, the gate alone, whichever system it was frozen for."""
    gate = Gate(frozen)
    accepted = [accepts(row.signal, gate.bar(row.top)) for row in judged]
    counts = confusion([row.answerable for row in judged], accepted)
    return counts.fn + fp_weight * counts.fp


def optimism(frozen: Threshold, judged: Sequence[Judged], fp_weight: Fraction) -> float | None:
    """Dev minus holdout, in weighted errors of the gate per question; None where one of them has no question.

    Below 0 the development set, on which the threshold was chosen, promised fewer errors than the holdout gave.
    """
    dev = frozen.dev
    asked = dev.n_answerable + dev.n_unanswerable
    if not (asked and judged):
        return None
    promised = (dev.fn + fp_weight * dev.fp) / asked
    return float(promised - gate_error(judged, frozen, fp_weight) / len(judged))


def borrowed(evaluated: Mapping[str, Evaluated], fp_weight: Fraction) -> dict[str, dict[str, dict[str, Any]]]:
    """What each system's gate would have cost under each other one's threshold, which is refused: it is not its own.

    By system, then by the owner of the threshold: weighted_error on the holdout, and `difference`, how much more that
    is than under its own.
    """
    return {
        system: {
            owner: _cost(one.judged, one.frozen, other.frozen, fp_weight)
            for owner, other in evaluated.items()
            if owner != system
        }
        for system, one in evaluated.items()
    }


def _cost(judged: Sequence[Judged], own: Threshold, other: Threshold, fp_weight: Fraction) -> dict[str, Any]:
    error = gate_error(judged, other, fp_weight)
    return {"weighted_error": number(error), "difference": number(error - gate_error(judged, own, fp_weight))}
