"""Two evaluated runs on the same holdout: what changed, as text for a terminal or as Markdown.

What a run holds was written at another time, by anybody: a terminal gets its printable characters, Markdown code spans.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from textwrap import fill
from typing import Any, NamedTuple, TypeAlias

from stages.measures.compared import paired_tests
from stages.measures.evidence import CAUSES
from stages.measures.rate import number
from stages.measures.refusal import cost
from stages.measures.story import COLUMNS, fit, plain
from stages.measures.table import aligned, cell, columns, threshold_cell
from stages.measures.units import units_of
from stages.records import Label, Status, TopKind

PLAIN = re.compile(r"[A-Za-z0-9 .,+()_-]*")
BAR = "\\|"
"""What Markdown takes for a bar in a table's cell, also in a code span there."""
MOST = 12
"""Lines of a frontier that are shown."""
WIDEST = 48
"""Columns of a terminal that a cell takes at most; a commit's whole name has 40."""
NO_TEST = "no paired test: the questions are no independent draws, so a difference is a count over these questions"


@dataclass(frozen=True, slots=True)
class Said:
    """A cause as a run wrote it, whose names may be other ones than ours."""

    name: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What of a question in queries.json is compared; a run of before causes were written has none."""

    id: str
    status: Status
    correct: bool
    label: Label
    cause: Said | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """What of a frozen threshold is compared."""

    threshold: float | None
    by_kind: dict[TopKind, float | None] | None
    fp_weight: float

    @property
    def weight(self) -> Fraction:
        """The weight as the decimal that was written."""
        return Fraction(repr(self.fp_weight))


class Evaluation(NamedTuple):
    """One system of a run. frontier: the lines of its cost frontier on dev, one a choice, in words."""

    bar: Bar
    queries: Sequence[Decided]
    frontier: Sequence[str]


class Run(NamedTuple):
    """One evaluated run, by the name that it was asked for."""

    name: str
    commit: str
    holdout: str
    systems: Mapping[str, Evaluation]


@dataclass(frozen=True, slots=True)
class Data:
    """What a run's files say: anything may stand in it."""

    text: str


Note: TypeAlias = Sequence[str | Data]
"""A line: words of ours, and data."""


class Section(NamedTuple):
    """A part of the comparison: rows of cells with a head, any of which may be data, then notes."""

    title: str
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[Note]


def compared_text(sections: Iterable[Section]) -> str:
    """The comparison for a terminal."""
    return "\n\n".join("\n".join(_plain_lines(one)) for one in sections)


def _plain_lines(one: Section) -> Iterator[str]:
    yield plain(one.title)
    if one.rows:
        yield aligned([[_shown(plain(text)) for text in row] for row in one.rows])
    for note in one.notes:
        line = " ".join(map(_plain_part, note))
        width = COLUMNS if columns(line) == len(line) else COLUMNS // 2
        yield fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _plain_part(part: str | Data) -> str:
    return plain(part.text) if isinstance(part, Data) else part


def _shown(text: str) -> str:
    """A cell, its end cut where it is longer than a table bears."""
    return text if columns(text) <= WIDEST else fit(text, WIDEST)


def compared_markdown(sections: Iterable[Section]) -> str:
    """The comparison for a pull request."""
    return "\n\n".join("\n".join(_markdown_lines(one)) for one in sections)


def _markdown_lines(one: Section) -> Iterator[str]:
    yield f"### {_cell(one.title)}"
    yield ""
    for place, row in enumerate(one.rows):
        yield f"| {' | '.join(_cell(text).replace('|', BAR) for text in row)} |"
        if place == 0:
            yield "|---" * len(row) + "|"
    if one.rows and one.notes:
        yield ""
    for note in one.notes:
        yield " ".join(["-", *(_code(part.text) if isinstance(part, Data) else part for part in note)])


def _cell(text: str) -> str:
    """A text as it is where Markdown sees nothing in it."""
    return text if PLAIN.fullmatch(text) else _code(text)


def _code(text: str) -> str:
    """Data as a code span, which no backtick in it ends."""
    shown = plain(text) or " "
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def compare_runs(a: Run, b: Run, group_by: str | None, *, independent_draws: bool) -> list[Section]:
    """What changed from one run to the other: a head, then a section for each system that either of them has.

    Both on the same holdout. With independent draws, whole groups of them where `group_by` says so, each system that
    both have is tested, B minus A.
    """
    both = [system for system in a.systems if system in b.systems]
    tests = _tests(a, b, both, group_by) if independent_draws else {}
    alone = [
        Section(system, (), [[f"only in {letter}"]])
        for letter, one, other in (("A", a, b), ("B", b, a))
        for system in one.systems
        if system not in other.systems
    ]
    return [_head(a, b, independent_draws), *(_section(a, b, system, tests) for system in both), *alone]


def _head(a: Run, b: Run, independent_draws: bool) -> Section:
    rows = [("run", "revision", "commit", "fp_weight")]
    rows += [(letter, one.name, one.commit[:12], _weights(one)) for letter, one in (("A", a), ("B", b))]
    notes = [] if independent_draws else [[NO_TEST]]
    if _weights(a) != _weights(b):
        notes.append(["the weight differs: errors are given at both"])
    return Section(f"holdout {a.holdout[:12]}", rows, notes)


def _weights(run: Run) -> str:
    return ", ".join(dict.fromkeys(str(number(one.bar.weight)) for one in run.systems.values()))


def _section(a: Run, b: Run, system: str, tests: Mapping[tuple[str, str], dict[str, Any]]) -> Section:
    first, second = a.systems[system], b.systems[system]
    rows = [("", "A", "B", "B - A"), _threshold_row(first.bar, second.bar)]
    rows += [_row(name, count(first.queries), count(second.queries)) for name, count in _counts(first, second).items()]
    found = ((name, test) for (of, name), test in tests.items() if of == system)
    notes = [*_flips(first, second), *_frontier(first.frontier, second.frontier), *(_told(*one) for one in found)]
    return Section(system, rows, notes)


def _threshold_row(a: Bar, b: Bar) -> tuple[str, ...]:
    known = a.threshold is not None and b.threshold is not None
    moved = f"{(b.threshold or 0) - (a.threshold or 0):+.4f}" if known else ""
    return ("threshold", threshold_cell(a.threshold, a.by_kind), threshold_cell(b.threshold, b.by_kind), moved)


def _row(name: str, a: int | Fraction | None, b: int | Fraction | None) -> tuple[str, ...]:
    moved = "-" if a is None or b is None else f"{float(b - a):+g}"
    return (name, *(cell(None if one is None else number(one)) for one in (a, b)), moved)


Count = Callable[[Sequence[Decided]], int | Fraction | None]


def _counts(first: Evaluation, second: Evaluation) -> dict[str, Count]:
    """What is counted in each run: decisions, their weighted error at the weight of both, and every cause of either."""
    counts: dict[str, Count] = {
        "right": lambda rows: sum(one.correct for one in rows),
        "false refusals": lambda rows: sum(_is_refused(one) and one.label.answerable for one in rows),
        "false accepts": lambda rows: sum(not _is_refused(one) and not one.label.answerable for one in rows),
    }
    for weight in dict.fromkeys([first.bar.weight, second.bar.weight]):
        counts[f"weighted error at {number(weight)}"] = _error_at(weight)
    causes = {one.cause.name for one in (*first.queries, *second.queries) if one.cause}
    known = [name for name in CAUSES if name in causes]
    return counts | {name: _of_cause(name) for name in (*known, *sorted(causes.difference(known)))}


def _is_refused(one: Decided) -> bool:
    return one.status == "refused"


def _error_at(weight: Fraction) -> Count:
    return lambda rows: sum((_cost(one, weight) for one in rows), Fraction(0))


def _cost(one: Decided, weight: Fraction) -> Fraction:
    return cost(one.label.answerable, not _is_refused(one), weight)


def _of_cause(name: str) -> Count:
    """None for a run without causes."""
    return lambda rows: sum(_is_of(one, name) for one in rows) if _has_causes(rows) else None


def _is_of(one: Decided, name: str) -> bool:
    return one.cause is not None and one.cause.name == name


def _has_causes(rows: Sequence[Decided]) -> bool:
    """False for a run of before causes were written: it has none although it has wrong decisions."""
    return any(one.cause for one in rows) or all(one.correct for one in rows)


def _flips(first: Evaluation, second: Evaluation) -> Iterator[Note]:
    """Ids of the questions whose decision turned right or wrong, or is wrong for another cause, by what it was."""
    after = {one.id: one for one in second.queries}
    pairs = [(one, after[one.id]) for one in first.queries]
    yield from _moved("right -> wrong", [(one, now) for one, now in pairs if one.correct and not now.correct])
    yield from _moved("wrong -> right", [(one, now) for one, now in pairs if now.correct and not one.correct])
    wrong = [(one, now) for one, now in pairs if not one.correct and not now.correct]
    if lacking := [letter for letter, one in (("A", first), ("B", second)) if not _has_causes(one.queries)]:
        yield [f"wrong -> wrong: {len(wrong)}, causes not compared: none recorded in {' and '.join(lacking)}"]
    else:
        yield from _moved("wrong -> wrong, another cause", [(one, now) for one, now in wrong if _why(one) != _why(now)])


def _moved(title: str, pairs: Sequence[tuple[Decided, Decided]]) -> Iterator[Note]:
    """How many, then the ids by what their decision was and is."""
    by_cause: dict[tuple[str | Data, str | Data], list[Data]] = {}
    for before, now in pairs:
        by_cause.setdefault((_why(before), _why(now)), []).append(Data(before.id))
    yield [f"{title}: {len(pairs)}"]
    told = sorted(by_cause.items(), key=lambda item: tuple(map(_plain_part, item[0])))
    yield from ([was, "->", now, f"({len(ids)}):", *ids] for (was, now), ids in told)


def _why(one: Decided) -> str | Data:
    """Its cause without figures, which move with every threshold."""
    if one.correct:
        return "right"
    if one.cause is None:
        return "wrong"
    return Data(one.cause.name + (f" ({one.cause.detail})" if one.cause.detail else ""))


def _frontier(a: Sequence[str], b: Sequence[str]) -> Iterator[Note]:
    """What each weight would choose on dev: the choices that went, and those that came."""
    gone, came = [one for one in a if one not in b], [one for one in b if one not in a]
    if not gone and not came:
        yield [f"cost frontier on dev: unchanged, {len(a)} choices"]
        return
    yield [f"cost frontier on dev: {len(a)} choices in A, {len(b)} in B, {len(a) - len(gone)} of them the same"]
    lines: list[Note] = [("only in A:", Data(one)) for one in gone]
    lines += [("only in B:", Data(one)) for one in came]
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield [f"... and {len(lines) - MOST} more choices"]


def _tests(a: Run, b: Run, systems: Sequence[str], group_by: str | None) -> dict[tuple[str, str], dict[str, Any]]:
    """By system and measure: B minus A on the same questions, corrected over all of them."""
    measured = {
        (system, name): (measure(b.systems[system]), measure(a.systems[system]))
        for system in systems
        for name, measure in _measures(b.systems[system].bar.weight).items()
    }
    units = units_of([one.label for system in systems[:1] for one in a.systems[system].queries], group_by)
    return paired_tests(measured, units)


def _measures(weight: Fraction) -> dict[str, Callable[[Evaluation], dict[str, Fraction]]]:
    return {
        "share of right decisions": lambda of: {one.id: Fraction(one.correct) for one in of.queries},
        f"weighted error per question at {number(weight)}": lambda of: {
            one.id: _cost(one, weight) for one in of.queries
        },
    }


def _told(name: str, test: Mapping[str, Any]) -> Note:
    interval = test["ci95"]
    between = f", 95 % interval {interval[0]:+.4f} to {interval[1]:+.4f}" if interval else ""
    difference = "nothing to compare" if test["difference"] is None else f"{test['difference']:+.4f}{between}"
    return [f"paired test, {name}: {difference}, p {test['p']:.4f}, after Holm {test['p_holm']:.4f}"]
