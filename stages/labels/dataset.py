"""A dataset as it was read, each row with its line, and what is found wrong with it."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from stages.records import Caption, Label, Question

Row = TypeVar("Row")
DEV = "dev"


class Finding(NamedTuple):
    """Something wrong at a line of a file, or with a file as a whole; `id` names the row where there is one.

    It never holds the text of a question or a value: a log may show it and the holdout stays unseen.
    """

    path: str
    line: int | None
    id: str | None
    text: str
    suspicious: bool = False

    def __str__(self) -> str:
        """One line, `path:line: error: id: text`, whatever stands in a name."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        parts = (place, "suspicious" if self.suspicious else "error", self.id, self.text)
        return _printable(": ".join(part for part in parts if part is not None))


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


@dataclass(frozen=True)
class Table(Generic[Row]):
    """The rows of a file by line; `whole` where every line of it could be read."""

    path: str
    rows: Mapping[int, Row]
    whole: bool


@dataclass(frozen=True)
class Part:
    """The development set or a holdout: its questions and their labels."""

    name: str
    questions: Table[Question]
    labels: Table[Label]

    def labelled(self) -> Iterator[tuple[int, Question, Label]]:
        """Each question that has a label, with the line of the question."""
        by_id = {label.id: label for label in self.labels.rows.values()}
        for line, question in self.questions.rows.items():
            if question.id in by_id:
                yield line, question, by_id[question.id]


@dataclass(frozen=True)
class Originals:
    """The corpus by path: the texts of its documents, its images, and what lies there and cannot be read."""

    texts: Mapping[str, str]
    images: Set[str]
    unusable: Set[str]

    def __len__(self) -> int:
        return len(self.texts) + len(self.images)


@dataclass(frozen=True)
class Dataset:
    """All that lies in a dataset's folder; the part DEV is the development set, every other a holdout."""

    parts: tuple[Part, ...]
    captions: Table[Caption]
    originals: Originals
