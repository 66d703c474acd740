"""The story of one question as text: its rank lists, where the evidence stood at each step, the decision, and why.

A screenful: 120 columns, of one system or of two side by side. What a document or a question says is shown as one line
of printable characters.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from textwrap import wrap

from stages.measures.evidence import CAUSES, Cause, cause_text, context_size, rank_of
from stages.measures.relevance import Holders
from stages.measures.table import cell, columns
from stages.records import Candidate, Category, Decision, Record

COLUMNS = 120
LABEL = 14
GAP = 2
SHOWN, SHOWN_RERANKED = 3, 5
"""Entries of a rank list that are shown, beside those that hold the evidence."""
Rows = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Story:
    """One question through one system. `holders` as in `Judged`; `cause` is None for a right decision."""

    part: str
    system: str
    record: Record
    decision: Decision
    category: Category
    kind: str | None
    holders: Holders
    cause: Cause | None


def story_text(stories: Sequence[Story]) -> str:
    """Tell the same question through one system, or through two, side by side."""
    width = (COLUMNS - LABEL - GAP * (len(stories) - 1)) // len(stories)
    told = [rows(one, width) for one in stories]
    labels = sorted({label for one in told for label in one}, key=_place)
    lines = list(_head(stories[0]))
    if len(stories) > 1:
        lines += _side_by_side("", [[one.system] for one in stories], width)
    for label in labels:
        lines += _side_by_side(label, [one.get(label, ["-"]) for one in told], width)
    return "\n".join(line.rstrip() for line in lines)


def _head(one: Story) -> Iterator[str]:
    yield from fold(f"{one.record.id} ({one.part}): {one.record.text}", COLUMNS, 2)
    if one.kind:
        yield from fold(f"must be refused: {one.kind}", COLUMNS, 1)
    else:
        groups = " and ".join(" or ".join(group) or "no entry" for group in one.holders)
        yield from fold(f"{one.category}, evidence (*) in {groups}", COLUMNS, 2)


def _place(label: str) -> int:
    order = ("lexical list", "neural list", "candidates", "reranked", "context", "dropped")
    return (*order, "proposal", "support", "gate", "decision", "first wrong").index(label)


def _side_by_side(label: str, blocks: Sequence[Sequence[str]], width: int) -> list[str]:
    """Lines of one row: the label, then a block of lines for each system."""
    lines = zip_longest(*blocks, fillvalue="")
    names = [label]
    return [
        "".join([fit(names.pop() if names else "", LABEL), *(fit(text, width) + " " * GAP for text in line)])
        for line in lines
    ]


def rows(one: Story, width: int) -> Rows:
    """What happened at each step, by the step's name, as lines of at most `width` columns."""
    record, wide = one.record, width - 1
    lists = {f"{name} list": ranked for name, ranked in sorted(record.rank_lists.items())}
    pool = {"candidates": record.candidates} if len(lists) > 1 else {}
    told = {name: _ranked(ranked, one.holders, SHOWN, wide) for name, ranked in (lists | pool).items()}
    told["reranked"] = _ranked(record.reranked, one.holders, SHOWN_RERANKED, wide, context_size(record))
    told |= _context(one, wide)
    held = record.image or record.answer or ("none, the source changed" if record.top else "none")
    told["proposal"] = fold(held, wide, 2)
    told["support"] = ["holds" if record.support else f"refused: {record.refusal}"]
    told["gate"] = [_gate(one)]
    told["decision"] = [one.decision.status + (f": {one.decision.reason}" if one.decision.reason else "")]
    told["first wrong"] = fold(_first_wrong(one), wide, 3)
    return told


def _ranked(ranked: Sequence[Candidate], holders: Holders, shown: int, width: int, k: int | None = None) -> list[str]:
    """A rank list: where the evidence stands in it, its first entries, and below them those that hold the evidence."""
    places = [rank_of(group, ranked) for group in holders]
    first = [*range(1, min(shown, len(ranked)) + 1)]
    extra = sorted({place for place in places if place and place > shown})
    went_on = "" if k is None else f", {k} went on"
    found = ", ".join(f"at {place}" if place else "not in it" for place in places)
    lines = [f"{len(ranked)}{went_on}{'; evidence ' if found else ''}{found}"]
    marked = {name for group in holders for name in group}
    return lines + [_candidate(place, ranked[place - 1], marked, width) for place in (*first, *extra)]


def _candidate(place: int, one: Candidate, marked: set[str], width: int) -> str:
    head, score = f"{'*' if one.id in marked else ' '}{place:>3} ", f" {one.score:.4f}"
    return f"{head}{fit(plain(one.id), width - len(head) - len(score), tail=True)}{score}"


def _context(one: Story, width: int) -> Mapping[str, list[str]]:
    context = one.record.context
    seen = ["in it" if set(group) & set(context.selected) else "not in it" for group in one.holders]
    evidence = f"; evidence {', '.join(seen)}" if seen else ""
    size = f"{len(context.selected)} selected, {context.used} of {context.budget} {context.unit}{evidence}"
    dropped = {"budget": context.dropped_budget, "duplicate": context.dropped_duplicate}
    told = "; ".join(f"{why}: {', '.join(dict.fromkeys(names))}" for why, names in dropped.items() if names)
    return {"context": [size], "dropped": fold(told or "nothing", width, 2)}


def _gate(one: Story) -> str:
    signal, bar = one.record.signal, one.decision.threshold
    if signal is None:
        return "no signal: there is no candidate"
    if bar is None:
        return f"signal {cell(signal)}, refuse all"
    return (
        f"signal {cell(signal)} {'>=' if one.decision.gate else '<'} threshold {cell(bar)} (by {abs(signal - bar):.4f})"
    )


def _first_wrong(one: Story) -> str:
    if one.cause is not None:
        return f"{cause_text(one.cause)}: {CAUSES[one.cause.name]}"
    return "nothing: rightly refused" if one.kind else "nothing: a right answer"


def plain(text: str) -> str:
    """A text as one line of printable characters."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def fit(text: str, width: int, *, tail: bool = False) -> str:
    """A text cut to `width` columns, or filled up; `tail` keeps its end, where ids differ. All of it is printable."""
    text = "".join(one if one.isprintable() else " " for one in text)
    if columns(text) > width:
        text = f"…{_first(text[::-1], width - 1)[::-1]}" if tail else f"{_first(text, width - 1)}…"
    return text + " " * (width - columns(text))


def _first(text: str, width: int) -> str:
    """The first characters, as many as `width` columns hold."""
    return text[: bisect_right(list(accumulate(map(columns, text))), width)]


def fold(text: str, width: int, most: int) -> list[str]:
    """A text on at most `most` lines of `width` columns, its end cut where it is longer."""
    wide = plain(text)[: (most + 1) * (width + 1)]  # what is behind that is cut whatever it is
    narrow = width if columns(wide) == len(wide) else width // 2
    lines = wrap(wide, narrow, break_on_hyphens=False) or [""]
    return lines if len(lines) <= most else [*lines[: most - 1], fit(" ".join(lines[most - 1 :]), width).rstrip()]
