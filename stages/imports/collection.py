"""What every format is read into: passages, and questions about them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that is retrieved; passages of one `document` stay together. `title` may be empty.

    `text` is one line and keeps its length: each line end or control character is a space.
    """

    id: str
    document: str
    title: str
    text: str

    def __post_init__(self) -> None:
        """Make a line of the text, and of the title."""
        object.__setattr__(self, "text", _CONTROL.sub(" ", self.text))
        object.__setattr__(self, "title", " ".join(_CONTROL.sub(" ", self.title).split()))


class Place(NamedTuple):
    """A stretch of a passage: characters start:end of its text."""

    passage: str
    start: int
    end: int


class Unanswerable(NamedTuple):
    """Why nothing in the corpus answers a question: one of `stages.records.UNANSWERABLE_KINDS`, and a sentence."""

    kind: Literal["missing", "hard_negative"]
    reason: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question.

    about         ids of the passages that it was written or judged on, also of such as are left out of the corpus.
    evidence      alternatives; none for an unanswerable question.
    unanswerable  None for an answerable one.
    """

    id: str
    text: str
    about: tuple[str, ...]
    evidence: tuple[Place, ...]
    unanswerable: Unanswerable | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """`independent_draws` is that of dataset.yaml; `notes` say what of the source was left out."""

    passages: Sequence[Passage]
    questions: Sequence[Asked]
    independent_draws: bool
    notes: tuple[str, ...] = ()


def findings(collection: Collection) -> Iterator[str]:
    """What is wrong in any format: ids that stand there twice, passages without text, questions without evidence."""
    passages = Counter(one.id for one in collection.passages)
    asked = Counter(one.id for one in collection.questions)
    yield from (f"passage {name}: stands there {times} times" for name, times in passages.items() if times > 1)
    yield from (f"passage {one.id}: no text" for one in collection.passages if not one.text.strip())
    yield from (f"question {name}: stands there {times} times" for name, times in asked.items() if times > 1)
    texts = {one.id: one.text for one in collection.passages}
    for one in collection.questions:
        if one.unanswerable is None and not one.evidence:
            yield f"question {one.id}: answerable, and no place that answers it"
        if any(not texts[place.passage][place.start : place.end].strip() for place in one.evidence):
            yield f"question {one.id}: its answer is white space alone"
