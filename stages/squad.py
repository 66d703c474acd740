"""SQuAD 2.0 questions and what a reader says of each: the probability that it has no answer."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from stages.calibration.cells import Cells, Columns, convert, findings
from stages.errors import BadInputError
from stages.scores import Rows, Scores, make_scores, read_whole, refuse, sha256_of

SQUAD = Columns("id", "na_prob", "is_impossible")


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    is_impossible: bool


@dataclass(frozen=True, slots=True)
class _Paragraph:
    qas: list[_Question]


@dataclass(frozen=True, slots=True)
class _Article:
    paragraphs: list[_Paragraph]


@dataclass(frozen=True, slots=True)
class _Squad:
    data: list[_Article]


def read_squad(na_prob: str | Path, data: str | Path) -> Scores:
    """Read SQuAD 2.0 questions and the `na_prob` file of a reader, {id: probability of no answer}: lower is better.

    Raises BadInputError listing ids that only one of the files has or that stand there twice, and bad probabilities.
    """
    na_prob, data = Path(na_prob), Path(data)
    digest = sha256_of(na_prob, in_lines=False)
    given, questions = _na_probs(na_prob), _questions(data)
    refuse(chain(_unmatched(na_prob, given, data, questions), findings(_squad_rows(na_prob, given, questions), SQUAD)))
    probabilities = dict(given)
    rows = [(one.id, probabilities[one.id], not one.is_impossible) for one in questions]
    if not rows:
        raise BadInputError(f"{data}: no questions")
    return make_scores(convert(*zip(*rows, strict=True)), SQUAD.score, True, digest)


def _questions(path: Path) -> list[_Question]:
    try:
        squad = msgspec.json.decode(read_whole(path), type=_Squad)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: not SQuAD 2.0 ({error})") from error
    return [one for article in squad.data for paragraph in article.paragraphs for one in paragraph.qas]


def _na_probs(path: Path) -> list[tuple[str, object]]:
    """The pairs as they stand there: a mapping would keep only the last of an id that stands there twice."""
    try:
        pairs = json.loads(read_whole(path), object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{path}: not JSON ({error})") from error
    if not isinstance(pairs, tuple):
        raise BadInputError(f"{path}: expected an object {{id: probability}}, got {type(pairs).__name__}")
    return list(pairs)


def _unmatched(
    na_prob: Path, given: Sequence[tuple[str, object]], data: Path, questions: Sequence[_Question]
) -> Iterator[str]:
    scored, asked = dict(given), {one.id for one in questions}
    yield from (f"{na_prob}: no probability for {one.id}" for one in questions if one.id not in scored)
    yield from (f"{data}: no question {name}, which {na_prob} has" for name in scored if name not in asked)
    seen: set[str] = set()
    for one in questions:
        if one.id in seen:
            yield f"{data}: question {one.id} stands there twice"
        seen.add(one.id)


def _squad_rows(path: Path, given: Sequence[tuple[str, object]], questions: Sequence[_Question]) -> Rows:
    known = {one.id: not one.is_impossible for one in questions}
    rows = ((name, value) for name, value in given if name in known)
    return ((f"{path}: entry {number}", Cells(*row, known[row[0]])) for number, row in enumerate(rows, 1))
