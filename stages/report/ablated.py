"""Ablations on the page: what a changed factor moved, with the questions that flipped."""

from collections.abc import Iterable
from typing import NamedTuple

from stages.measures.ablation import Ablated, Compared
from stages.records import CATEGORIES


class Figure(NamedTuple):
    """A count before and after, of how many; `of` None where it is a count of errors."""

    title: str
    before: int | float
    after: int | float
    of: int | None


def figures(one: Compared) -> list[Figure]:
    """Right of each category, then errors, then how early what is right stands, and how much of it was seen."""
    before, after = one.before, one.after
    return [
        *(Figure(name, before.right[name], after.right[name], one.questions[name]) for name in CATEGORIES),
        Figure("FP", before.fp, after.fp, None),
        Figure("FN", before.fn, after.fn, None),
        Figure("error", before.weighted_error, after.weighted_error, None),
        Figure("hit@1", before.hit_at_1, after.hit_at_1, one.answerable),
        Figure("hit@5", before.hit_at_5, after.hit_at_5, one.answerable),
        Figure("evidence", before.visible, after.visible, one.groups),
    ]


def factors(ablated: Ablated) -> dict[str, list[Compared]]:
    """The systems of each ablation, by its name."""
    found: dict[str, list[Compared]] = {}
    for one in ablated.compared:
        found.setdefault(one.name, []).append(one)
    return found


def flipped(one: Compared) -> dict[str, list[str]]:
    """Ids of the questions that flipped, by what they were and became, the most frequent first."""
    found: dict[str, list[str]] = {}
    for flip in one.flips:
        found.setdefault(f"{flip.before} → {flip.after}", []).append(f"{flip.id} ({flip.category})")
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def any_flips(compared: Iterable[Compared]) -> bool:
    """True where some system has a question that flipped."""
    return any(one.flips for one in compared)


def setting(value: object) -> str:
    """A value as params.yaml writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
