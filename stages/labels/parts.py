"""What parts share that must be apart: ids, questions, and, development set and holdouts, the facts they ask for."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stages.labels.dataset import DEV, Finding, Part
from stages.records import Span


class _Asked(NamedTuple):
    part: str
    path: str
    line: int
    id: str
    contract: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.path}:{self.line})"


def part_findings(parts: Sequence[Part]) -> Iterator[Finding]:
    """Everything that two questions share and must not; it is found at the later one. dev comes first."""
    ordered = sorted(parts, key=lambda part: (part.name != DEV, part.name))
    yield from _shared_ids(ordered)
    yield from _shared_texts(ordered)
    dev = [part for part in ordered if part.name == DEV]
    yield from _shared_evidence(dev, [part for part in ordered if part.name != DEV])


def normalised(text: str) -> str:
    """A question's text without what makes no other question of it: width, case, white space, the mark at its end."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    while folded and (folded[-1].isspace() or unicodedata.category(folded[-1]).startswith("P")):
        folded = folded[:-1]
    return folded


def _asked(parts: Sequence[Part]) -> Iterator[tuple[_Asked, str]]:
    for part in parts:
        fixed = {label.id for label in part.labels.rows.values() if label.contract}
        for line, row in part.questions.rows.items():
            yield _Asked(part.name, part.questions.path, line, row.id, row.id in fixed), row.text


def _shared_ids(parts: Sequence[Part]) -> Iterator[Finding]:
    first: dict[str, _Asked] = {}
    for one, _ in _asked(parts):
        before = first.setdefault(one.id, one)
        if before.part != one.part:
            yield Finding(one.path, one.line, one.id, f"{before.path}:{before.line} has that id too")


def _shared_texts(parts: Sequence[Part]) -> Iterator[Finding]:
    """Questions asked twice, across parts or in one.

    The contract is fixed for good: what it shares with another part is suspicious, and no error.
    """
    first: dict[str, _Asked] = {}
    for one, text in _asked(parts):
        before = first.setdefault(normalised(text) or f"{one.path}:{one.line}", one)
        if before is not one:
            fixed = before.part != one.part and (before.contract or one.contract)
            yield Finding(one.path, one.line, one.id, f"asks the same as {before}", fixed)


def _spans(part: Part) -> Iterator[tuple[_Asked, Span]]:
    for line, label in part.labels.rows.items():
        one = _Asked(part.name, part.labels.path, line, label.id, label.contract)
        yield from ((one, span) for group in label.evidence for span in group if span.start < span.end)


def _shared_evidence(dev: Sequence[Part], holdouts: Sequence[Part]) -> Iterator[Finding]:
    """Evidence that overlaps: a passage and a value inside it are one fact, so equal spans alone would miss it."""
    by_path: dict[str, list[tuple[_Asked, Span]]] = {}
    for one, span in (pair for part in dev for pair in _spans(part)):
        by_path.setdefault(span.path, []).append((one, span))
    for one, span in (pair for part in holdouts for pair in _spans(part)):
        for other, asked in by_path.get(span.path, ()):
            if asked.start < span.end and span.start < asked.end:
                place = f"{span.path}[{span.start}:{span.end}]"
                yield Finding(one.path, one.line, one.id, f"evidence: {place}: overlaps that of {other}")
