"""Every wrong decision and its one cause: the first step on the way that went wrong; a right decision has none.

Before the decision stands what was lost of the evidence (`stages.measures.evidence`, which names all causes in order);
here come support, gate, and what should have been refused. No label is needed: judged records have what counts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from stages.measures.evidence import CAUSES, Cause
from stages.measures.rate import number
from stages.measures.refusal import cost
from stages.records import Decision

if TYPE_CHECKING:
    from stages.measures.evaluate import Judged

DECIMALS = 6
"""Of a signal, and so of what it is short of a threshold."""

_NOT_SEEN = {"unknown_attribute": "attribute", "field_not_given": "field"}
"""What a refusal of the support check did not see in the question, though it stood before the right answer."""


def cause(row: "Judged", decision: Decision) -> Cause | None:
    """The cause of a wrong decision on a judged record; None for a right one."""
    refused = decision.status == "refused"
    if not row.answerable:
        return None if refused else Cause("answered_unanswerable", row.kind)
    if row.lost is not None:
        return replace(row.lost, detail=decision.status) if row.lost.name == "wrong_candidate" else row.lost
    if not refused:
        return None
    return _by_gate(row.signal, decision.threshold) if row.support else _by_support(row)


def _by_support(row: "Judged") -> Cause:
    """What a question asks of an image or a field has a name to be found; of a passage it has none."""
    if row.refusal == "source_changed":
        return Cause("source_changed")
    if row.refusal in _NOT_SEEN and row.category != "passage":
        return Cause("asked_not_parsed", _NOT_SEEN[row.refusal])
    return Cause("support_refused", row.refusal)


def _by_gate(signal: float | None, threshold: float | None) -> Cause:
    if threshold is None or signal is None:
        return Cause("gate_refused", "refuse_all")
    return Cause("gate_refused", None, round(threshold - signal, DECIMALS))


def cause_figures(judged: Sequence["Judged"], decisions: Sequence[Decision], fp_weight: Fraction) -> dict[str, Any]:
    """By cause: `questions`, what they add to the weighted error of the decisions, and `details` with their counts.

    judged, decisions  (n,) in the same order. The questions sum up to all wrong decisions, the weighted errors to the
    weighted error of gate and support together.
    """
    met = [(row, decision, cause(row, decision)) for row, decision in zip(judged, decisions, strict=True)]
    found = [(one, cost(row.answerable, decision.status == "answered", fp_weight)) for row, decision, one in met if one]
    return {
        name: {
            "questions": sum(one.name == name for one, _ in found),
            "weighted_error": number(sum((weighed for one, weighed in found if one.name == name), Fraction(0))),
            "details": dict(Counter(one.detail for one, _ in found if one.name == name and one.detail)),
        }
        for name in CAUSES
    }
