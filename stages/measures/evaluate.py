"""One system's numbers, in two steps: judging records needs labels, summing them up under a threshold does not."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from stages.errors import BadInputError
from stages.measures.answers import Outcome, answer_counts, citation_counts, correct_if_accepted, refusal_reasons
from stages.measures.attribution import cause_figures
from stages.measures.context import ContextCounts, context_counts, context_metrics
from stages.measures.evidence import Cause, lost
from stages.measures.ranking import first_relevant_rank, ranking_metrics
from stages.measures.refusal import confusion, refusal_metrics
from stages.measures.relevance import Holders, Indexed, holds, is_expected_image
from stages.measures.selective import selective_metrics
from stages.measures.units import units_of
from stages.records import Category, Decision, Entry, Label, Record, Shown, Span, TopKind, unseen


@dataclass(frozen=True, slots=True)
class Judged:
    """A record that met its label, before any threshold; plain JSON on disk.

    rank_before/rank_after  first relevant rank in the pool before and after reranking; None when it holds none.
    cited/verified          the record has citations; each quote was compared with its original.
    holders                 the entries of the index that hold each necessary group of evidence (`Indexed.holders`).
    lost                    where the evidence was lost on the way to what the record holds; None where that is right.
    unit                    what it is drawn with where documents group the questions (`units_of`); alone, its own id.
    """

    id: str
    category: Category
    split: Literal["train", "heldout"] | None
    contract: bool
    kind: str | None
    top: TopKind | None
    signal: float | None
    support: bool
    refusal: str | None
    correct_if_accepted: bool
    rank_before: int | None
    rank_after: int | None
    cited: bool
    verified: bool
    context: ContextCounts
    holders: Holders
    lost: Cause | None
    unit: str

    @property
    def answerable(self) -> bool:
        """True for a question that the frozen corpus answers."""
        return self.category != "refusal"


def judge(record: Record, label: Label, indexed: Indexed, verified: bool) -> Judged:
    """Compare one record with its label; `verified` says whether its quotes were compared.

    Raises BadInputError naming every id of the record that the index lacks.
    """
    seen = {candidate.id for candidate in (*record.candidates, *record.reranked)} | set(record.context.selected)
    ranked = {candidate.id for one in record.rank_lists.values() for candidate in one}
    dropped = (*record.context.dropped_budget, *record.context.dropped_duplicate)
    entries = indexed.entries
    lacking = sorted(seen.union(ranked, dropped) - entries.keys())
    if lacking:
        raise BadInputError(f"{record.id}: not in the index: {', '.join(lacking)}; answer with this index again")
    holders = indexed.holders(label)
    relevant = {name for group in holders for name in group}
    right = correct_if_accepted(
        record, _met(record, label, entries), [entries[name] for name in record.context.selected]
    )
    return Judged(
        id=record.id,
        category=label.category,
        split=label.split,
        contract=label.contract,
        kind=None if label.answerable else label.unanswerable_kind,
        top=record.top,
        signal=record.signal,
        support=record.support,
        refusal=record.refusal,
        correct_if_accepted=right,
        rank_before=first_relevant_rank((candidate.id for candidate in record.candidates), relevant),
        rank_after=first_relevant_rank((candidate.id for candidate in record.reranked), relevant),
        cited=bool(record.citations),
        verified=verified,
        context=context_counts(record.context, label, entries),
        holders=holders,
        lost=lost(record, label, indexed, right),
        unit=label.id,
    )


def _met(record: Record, label: Label, entries: Mapping[str, Entry]) -> Label:
    """The label; of images with the same pixels, it expects the one that the record holds."""
    image = entries.get(record.image or "")
    return replace(label, expected_image=image.path) if image and is_expected_image(label, image) else label


def judge_all(
    records: Sequence[Record],
    labels: Sequence[Label],
    indexed: Indexed,
    verified: Mapping[str, bool],
    shown: Shown = unseen,
) -> list[Judged]:
    """Judge every record, in the records' order; `verified` by question id; `shown` is told how far it is.

    Raises BadInputError listing every question that records, labels and `verified` do not each hold exactly once, and
    every place in a label that the corpus does not have. A place in an original that was left out is no such place.
    """
    expected = {label.id: label for label in labels}
    names = [record.id for record in records]
    findings = [
        *_twice("records", names),
        *_twice("labels", [label.id for label in labels]),
        *_lacking("records", expected, names),
        *_lacking("labels", names, expected),
        *_lacking("verified", names, verified),
        *_lost_places(labels, indexed),
    ]
    if findings:
        raise BadInputError("\n".join(findings))
    units, told = units_of(labels, "document"), shown(records, len(records), "questions judged")
    judged = (judge(record, expected[record.id], indexed, verified[record.id]) for record in told)
    return [replace(one, unit=units[one.id]) for one in judged]


def _twice(where: str, names: Sequence[str]) -> list[str]:
    return [f"{where}: {name}: stands there {times} times" for name, times in Counter(names).items() if times > 1]


def _lacking(where: str, wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    return [f"{where}: {name}: missing" for name in sorted(set(wanted) - set(found))]


def _lost_places(labels: Iterable[Label], indexed: Indexed) -> Iterator[str]:
    """Yield what labels point at and the index lacks: an image, a place in a document, the value in that place."""
    known = indexed.by_path.keys() | set(indexed.rejected)
    for label in labels:
        if label.expected_image and label.expected_image not in known:
            yield f"labels: {label.id}: no image {label.expected_image} in the corpus"
        for span in (span for group in label.evidence for span in group if span.path not in indexed.rejected):
            found = indexed.by_path.get(span.path, [])
            place = f"{span.path}[{span.start}:{span.end}]"
            if span.end > max((entry.end or 0 for entry in found), default=0):
                yield f"labels: {label.id}: no place {place} in the corpus"
            elif label.expected_value and not any(_stands(label.expected_value, span, entry) for entry in found):
                yield f"labels: {label.id}: {label.expected_value!r} does not stand at {place}"


def _stands(value: str, span: Span, entry: Entry) -> bool:
    """True for a field with this value in this place."""
    return (entry.value, entry.value_start, entry.value_end) == (value, span.start, span.end) or (
        entry.kind == "chunk"
        and holds(entry, span)
        and value == entry.text[_at(entry, span.start) : _at(entry, span.end)]
    )


def _at(entry: Entry, offset: int) -> int:
    return offset - (entry.start or 0)


def outcome(row: Judged, decision: Decision) -> Outcome:
    """Give what became of one question: an answer is right as judged, a refusal where nothing can be answered."""
    refused = decision.status == "refused"
    return Outcome(
        category=row.category,
        heldout=row.category == "image" and row.split == "heldout",
        kind=row.kind,
        refused=refused,
        reason=decision.reason,
        correct=not row.answerable if refused else row.correct_if_accepted,
        cited=row.cited,
        verified=row.verified,
    )


def aggregate(judged: Sequence[Judged], decisions: Sequence[Decision], fp_weight: Fraction) -> dict[str, Any]:
    """Sum up one system's questions; `decisions` in the order of `judged` (ValueError for unequal lengths).

    contract   answers and, after reranking, retrieval over the questions fixed for good.
    answers    counts by category over all questions, and the reasons of refusals.
    retrieval  before and after reranking, over answerable questions.
    gate, support, decision   the threshold alone, the support check alone, both, each against answerability.
    causes     what made each wrong decision wrong, and what that adds to the weighted error of `decision`.
    context, citations        as in their rooms.
    selective  the signal over all thresholds, right being answerable. Where each kind of best candidate has a threshold
               of its own, signals on two scales are mixed here as if they were one.
    """
    outcomes = [outcome(row, decision) for row, decision in zip(judged, decisions, strict=True)]
    fixed = [row for row in judged if row.contract]
    asked = [row for row in judged if row.answerable]
    answerable = [row.answerable for row in judged]
    return {
        "contract": {
            **answer_counts([result for row, result in zip(judged, outcomes, strict=True) if row.contract]),
            "retrieval": ranking_metrics([row.rank_after for row in fixed if row.answerable]),
        },
        "answers": {**answer_counts(outcomes), "reasons": refusal_reasons(outcomes)},
        "retrieval": {
            "before_rerank": ranking_metrics([row.rank_before for row in asked]),
            "after_rerank": ranking_metrics([row.rank_after for row in asked]),
        },
        "gate": refusal_metrics(confusion(answerable, [decision.gate for decision in decisions]), fp_weight),
        "support": refusal_metrics(confusion(answerable, [row.support for row in judged]), fp_weight),
        "decision": refusal_metrics(confusion(answerable, [not result.refused for result in outcomes]), fp_weight),
        "causes": cause_figures(judged, decisions, fp_weight),
        "context": context_metrics([row.context for row in judged], answerable),
        "citations": citation_counts(outcomes),
        "selective": selective_metrics([row.signal for row in judged], answerable),
    }
