"""Every wrong decision, in words: what was right, what came out, and what stood first."""

from collections.abc import Iterable

from stages.measures.ranking import first_relevant_rank
from stages.records import Label, Span
from stages.report.inputs import Query

FALSE_ACCEPT = "answered, although the corpus holds no answer"
WRONG_ANSWER = "answered, but not with what is right"
FALSE_REFUSAL = "refused, although the corpus holds the answer"


def wrong_decisions(queries: Iterable[Query]) -> dict[str, list[Query]]:
    """Give all wrong ones by what went wrong, the costliest first, in their own order."""
    groups: dict[str, list[Query]] = {FALSE_ACCEPT: [], WRONG_ANSWER: [], FALSE_REFUSAL: []}
    for one in queries:
        if not one.correct:
            groups[_failure(one)].append(one)
    return groups


def _failure(query: Query) -> str:
    if query.status == "refused":
        return FALSE_REFUSAL
    return WRONG_ANSWER if query.label.answerable else FALSE_ACCEPT


def expected(query: Query) -> str:
    """Say what is right: the images, the value, the places of the evidence, or why there is no answer."""
    label = query.label
    if not label.answerable:
        return f"a refusal ({label.unanswerable_kind}): {label.unanswerable_reason}"
    if label.expected_image:
        return " or ".join(dict.fromkeys((label.expected_image, *query.relevant)))
    return label.expected_value or _evidence(label)


def several_images(queries: Iterable[Query]) -> list[str]:
    """Give the ids of the image questions that more than one image answers, for they have the same pixels."""
    return [one.id for one in queries if one.label.expected_image and len(one.relevant) > 1]


def _evidence(label: Label) -> str:
    return "; and ".join(" or ".join(map(_place, group)) for group in label.evidence)


def _place(span: Span) -> str:
    return f"{span.path} {span.start}–{span.end}"


def held_answer(query: Query) -> str:
    """Give what was answered, or would have been; a dash when there was nothing."""
    return query.image or query.answer or "–"


def relevant_rank(query: Query) -> int | None:
    """Give the 1-based place of the first relevant candidate after reranking, or None when the pool holds none."""
    return first_relevant_rank((candidate.id for candidate in query.reranked), query.relevant)
