"""What is the same whatever is imported: rows, the card of a dataset, and what is said of its parts."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from stages.errors import BadInputError
from stages.hashing import canonical_json
from stages.labels.parts import normalised

T = TypeVar("T")


class Asked(Protocol):
    """A question, a label or a score of one."""

    @property
    def answerable(self) -> bool:
        """True for a question that can be answered."""


class Made(NamedTuple):
    """The files by path, and a line on what is in them."""

    files: dict[str, bytes]
    summary: str


def lines(rows: Iterable[object]) -> bytes:
    """One object a line."""
    return b"".join(canonical_json(row) + b"\n" for row in rows)


def distinct(asked: Sequence[T], text: Callable[[T], str]) -> tuple[list[T], dict[str, int]]:
    """Those that ask for something, and for what no other asks for; how many were left out, by why.

    Of two that ask the same, in different places, neither has an answer of its own.
    """
    told = [normalised(text(one)) for one in asked]
    times = Counter(told)
    kept = [one for one, words in zip(asked, told, strict=True) if words and times[words] == 1]
    blank = times[""]
    same = len(asked) - len(kept) - blank
    return kept, {"questions without words": blank, "questions that ask the same as another": same}


def left_out(counts: Mapping[str, int]) -> list[str]:
    """A note for each of what was left out, by what it is."""
    return [f"left out {number} {what}" for what, number in counts.items() if number]


def card(name: str, independent_draws: bool) -> bytes:
    """dataset.yaml; JSON text is YAML text. In which languages a source is, its files do not say."""
    text = [f"name: {json.dumps(name)}", "languages: []", f"independent_draws: {str(independent_draws).lower()}"]
    return "\n".join([*text, "group_by: document", ""]).encode("utf-8")


def refuse_one_sided(parts: Mapping[str, Sequence[Asked]]) -> None:
    """Raise BadInputError naming every part that lacks answerable or unanswerable questions."""
    findings = []
    for split, part in parts.items():
        answerable = sum(one.answerable for one in part)
        if not 0 < answerable < len(part):
            findings.append(
                f"{split}: {answerable} answerable and {len(part) - answerable} unanswerable questions; a threshold "
                "needs both, take another --seed or --dev-share, or more of the source"
            )
    if findings:
        raise BadInputError("\n".join(findings))


def summary(head: str, parts: Mapping[str, Sequence[Asked]], notes: Sequence[str] = ()) -> str:
    """What a folder holds, in a line."""
    told = [head]
    for split, part in parts.items():
        told.append(f"{split} {len(part)} questions, {sum(not one.answerable for one in part)} unanswerable")
    return "; ".join([*told, *notes])
