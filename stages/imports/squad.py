"""SQuAD 2.0: articles of paragraphs, each with questions; an answer names its place in the paragraph."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from stages.imports.collection import Asked, Collection, Passage, Place, Unanswerable

IMPOSSIBLE = Unanswerable(
    "hard_negative", "SQuAD 2.0: the paragraph that the question was written on does not answer it."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Where an annotator found it: characters of the paragraph from `answer_start` on."""

    text: str
    answer_start: int


@dataclass(frozen=True, slots=True)
class SquadQuestion:
    """A question of a paragraph; SQuAD 1.1 has no `is_impossible`."""

    id: str
    question: str
    answers: list[Answer] = field(default_factory=list)
    is_impossible: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text with its questions."""

    context: str
    qas: list[SquadQuestion]


@dataclass(frozen=True, slots=True)
class Article:
    """Paragraphs of one article; questions about it hang together."""

    title: str
    paragraphs: list[Paragraph]


@dataclass(frozen=True, slots=True)
class Squad:
    """The file."""

    data: list[Article]


def squad_findings(squad: Squad) -> Iterator[str]:
    """Answers that do not stand where they are said to stand."""
    for article in squad.data:
        for number, paragraph in enumerate(article.paragraphs, 1):
            for asked in paragraph.qas:
                for answer in asked.answers:
                    if not answer.text or not _stands(answer, paragraph.context):
                        place = f"{answer.answer_start} of paragraph {number} of {article.title!r}"
                        yield f"question {asked.id}: its answer {answer.text!r} does not stand at {place}"


def _stands(answer: Answer, context: str) -> bool:
    return answer.answer_start >= 0 and context.startswith(answer.text, answer.answer_start)


def squad_collection(squad: Squad) -> Collection:
    """Paragraphs as passages, articles as documents; what is evidence is the place of an answer.

    Not its paragraph or sentence: either can be longer than a chunk, and then no chunk would hold it whole.
    """
    passages, questions = [], []
    for number, article in enumerate(squad.data, 1):
        for place, paragraph in enumerate(article.paragraphs, 1):
            name = f"{number}.{place}"
            passages.append(Passage(name, str(number), article.title.replace("_", " "), paragraph.context))
            questions += [_asked(one, name) for one in paragraph.qas]
    return Collection(passages, questions, independent_draws=False)


def _asked(one: SquadQuestion, passage: str) -> Asked:
    if one.is_impossible:
        return Asked(one.id, one.question, (passage,), (), IMPOSSIBLE)
    places = [Place(passage, answer.answer_start, answer.answer_start + len(answer.text)) for answer in one.answers]
    return Asked(one.id, one.question, (passage,), tuple(dict.fromkeys(places)))
