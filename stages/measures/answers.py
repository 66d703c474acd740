"""Whether what came out is right: answers, refusals and their reasons, citations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stages.measures.relevance import held
from stages.records import CATEGORIES, UNANSWERABLE_KINDS, Entry, Label, Record

FITTING_REASONS: Mapping[str, frozenset[str]] = {
    "missing": frozenset({"no_such_subject", "no_candidate"}),
    "hard_negative": frozenset({"field_not_given"}),
    "partial": frozenset({"partial"}),
    "unknown_attribute": frozenset({"unknown_attribute"}),
    "conflict": frozenset({"conflict"}),
    "injection": frozenset({"instruction_in_source"}),
}
"""The reasons that name the kind. `below_threshold` fits none: the gate does not know why."""


class Outcome(NamedTuple):
    """One question after the decision: what was asked, what came out, whether it is right.

    heldout   True for an image question whose combination was held out from training.
    kind      why it cannot be answered; None for an answerable question.
    cited     True when it has a citation; `verified` when each quote was compared with its original.
    """

    category: str
    heldout: bool
    kind: str | None
    refused: bool
    reason: str | None
    correct: bool
    cited: bool
    verified: bool


def correct_if_accepted(record: Record, label: Label, context: Sequence[Entry]) -> bool:
    """Say whether the answer that the record holds would be right; `context` is what was selected.

    image    it is the expected image.
    field    it is the expected value, character by character.
    passage  one alternative of every evidence group lies whole in a selected entry and in a citation.
    refusal  never: no answer is right.
    """
    return _RIGHT[label.category](record, label, context)


def _right_image(record: Record, label: Label, context: Sequence[Entry]) -> bool:
    return record.image is not None and record.image == label.expected_image


def _right_field(record: Record, label: Label, context: Sequence[Entry]) -> bool:
    return record.answer is not None and record.answer == label.expected_value


def _right_passage(record: Record, label: Label, context: Sequence[Entry]) -> bool:
    cited = ([span for span in group if held(span, record.citations)] for group in label.evidence)
    return bool(label.evidence) and all(any(held(span, context) for span in group) for group in cited)


def _right_refusal(record: Record, label: Label, context: Sequence[Entry]) -> bool:
    return False


_RIGHT: Mapping[str, Callable[[Record, Label, Sequence[Entry]], bool]] = {
    "image": _right_image,
    "field": _right_field,
    "passage": _right_passage,
    "refusal": _right_refusal,
}


def answer_counts(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Give {correct, total} over everything, refusals included, and the same for each category and for `heldout`."""
    return {
        **_score(outcomes),
        **{category: _score([row for row in outcomes if row.category == category]) for category in CATEGORIES},
        "heldout": _score([row for row in outcomes if row.heldout]),
    }


def _score(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return {"correct": sum(row.correct for row in outcomes), "total": len(outcomes)}


def refusal_reasons(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Give {total, refused, reason_fits} over unanswerable questions, and the same `by_kind`.

    `reason_fits` counts, among the refused, those with a reason of FITTING_REASONS for their kind.
    """
    by_kind = {kind: _reasons([row for row in outcomes if row.kind == kind]) for kind in UNANSWERABLE_KINDS}
    return {**_reasons([row for row in outcomes if row.kind is not None]), "by_kind": by_kind}


def _reasons(outcomes: Sequence[Outcome]) -> dict[str, int]:
    refused = [row for row in outcomes if row.refused]
    fits = sum(row.reason in FITTING_REASONS[row.kind] for row in refused if row.kind is not None)
    return {"total": len(outcomes), "refused": len(refused), "reason_fits": fits}


def citation_counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Give {answered, with_citation, verified}: each counts within the one before.

    A citation that exists, even verbatim, does not prove that it supports the answer.
    """
    answered = [row for row in outcomes if not row.refused]
    cited = [row for row in answered if row.cited]
    return {"answered": len(answered), "with_citation": len(cited), "verified": sum(row.verified for row in cited)}
