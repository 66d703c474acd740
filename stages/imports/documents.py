"""Markdown with front matter -> a dataset: every key of every document is asked for, and usual keys that it lacks.

A question calls a document by its title where no other has it. Otherwise the value of a key that tells the documents
apart says which is meant, beside the title or alone; where there is none either, the document is not asked about.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stages.corpus.frontmatter import Key
from stages.corpus.markdown import Document, sections
from stages.imports.collection import Unanswerable
from stages.imports.files import Made, card, distinct, left_out, lines, refuse_one_sided, summary
from stages.imports.split import chosen
from stages.labels.parts import normalised
from stages.records import Label, Question, Span

USUAL = 0.5
"""Share of the documents that have a key from which on the others lack it."""
TITLE = "title"


@dataclass(frozen=True, slots=True)
class Described:
    """A document as its front matter describes it: the keys that can be asked for, with the span of their value.

    title    that of the front matter, else the first heading; None without both.
    unclear  keys that stand there more than once, or that no text can hold.
    """

    path: str
    text: str
    keys: Mapping[str, Key]
    title: str | None
    unclear: frozenset[str]

    def value(self, key: str) -> str:
        """What a key says, as it stands there."""
        return self.text[self.keys[key].start : self.keys[key].end]


class Asked(NamedTuple):
    """A question about a key of a document, which has it or lacks it."""

    document: Described
    key: str
    text: str


def described(path: str, document: Document) -> Described:
    """Read the keys and the title of a document."""
    times = Counter(key.name for key in document.keys)
    keys = {key.name: key for key in document.keys if times[key.name] == 1 and _is_text(key.name)}
    named = (document.text[key.start : key.end] for name, key in keys.items() if name.casefold() == TITLE)
    headings = (section.headings[-1] for section in sections(document)[1:] if section.headings)
    title = " ".join(next(named, next(headings, "")).split())
    return Described(path, document.text, keys, title or None, frozenset(times.keys() - keys.keys()))


def _is_text(name: str) -> bool:
    return bool(name.strip()) and name.isprintable()


def documents_dataset(
    read: Sequence[Described], files: Mapping[str, bytes], others: int, name: str, seed: int, dev_share: float
) -> Made:
    """All files of a dataset; `files`: the bytes of each document, `others`: how many files are no documents.

    Each document is in one part with all its questions.

    Raises BadInputError where a part lacks answerable or unanswerable questions.
    """
    asked, notes = _questions(read)
    dev = chosen(Counter(one.document.path for one in asked), seed, dev_share)
    parts: dict[str, list[Asked]] = {"dev": [], "holdout": []}
    for one in asked:
        parts["dev" if one.document.path in dev else "holdout"].append(one)
    labels = {split: [_label(one) for one in part] for split, part in parts.items()}
    refuse_one_sided(labels)
    made = {f"corpus/docs/{path}": data for path, data in files.items()}
    for split, part in parts.items():
        made[f"queries/{split}.jsonl"] = lines(Question(_id(one), one.text)._asdict() for one in part)
        made[f"evaluation-only/{split}.jsonl"] = lines(labels[split])
    made["dataset.yaml"] = card(name, independent_draws=False)
    left = [f"left out {others} files that are no Markdown"] * bool(others)
    return Made(made, summary(f"{len(files)} documents", labels, [*left, *notes]))


def _questions(read: Sequence[Described]) -> tuple[list[Asked], list[str]]:
    """All questions, no two the same, and what is not asked for."""
    fronted = [one for one in read if one.keys]
    usual = _usual(fronted)
    mark = _mark(fronted)
    alike = Counter(normalised(one.title or "") for one in read)
    asked, nameless = [], 0
    for one in fronted:
        wanted = [*one.keys, *(key for key in usual if _lacks(one, key))]
        texts = {key: _text(one, key, mark, alike) for key in wanted}
        asked += [Asked(one, key, text) for key, text in texts.items() if text]
        nameless += sum(text is None for text in texts.values())
    once, away = distinct(asked, lambda one: one.text)
    counts = {
        "documents without front matter": len(read) - len(fronted),
        "keys that stand twice in a document or are no words": sum(len(one.unclear) for one in read),
        "questions for which nothing tells which document is meant": nameless,
    }
    return once, left_out(counts | away)


def _usual(read: Sequence[Described]) -> list[str]:
    """Keys that at least USUAL of the documents have, in the order in which they come up."""
    times = Counter(key for one in read for key in one.keys)
    return [key for key, number in times.items() if number >= USUAL * len(read)]


def _mark(read: Sequence[Described]) -> str | None:
    """The key, other than the title, with a value of its own in every document that has it: the most usual, or none."""
    values: dict[str, list[str]] = defaultdict(list)
    for one in read:
        for key in one.keys:
            values[key].append(normalised(one.value(key)))
    usual = [key for key in _usual(read) if key.casefold() != TITLE and len({*values[key]}) == len(values[key])]
    return max(usual, key=lambda key: len(values[key]), default=None)


def _lacks(one: Described, key: str) -> bool:
    """True where a document does not give a key in any way; a title that the front matter lacks, a heading may give."""
    return key not in one.keys and key not in one.unclear and not (key.casefold() == TITLE and one.title)


def _text(one: Described, key: str, mark: str | None, alike: Mapping[str, int]) -> str | None:
    """`What is the status of Frost?`; None where the document has no name that leaves out what is asked for."""
    title = one.title if key.casefold() != TITLE else None
    if title and alike[normalised(title)] == 1:
        return f"What is the {key} of {title}?"
    if mark is None or mark not in one.keys or key == mark:
        return None
    told = f"{mark} {' '.join(one.value(mark).split())}"
    return f"What is the {key} of {f'{title} ({told})' if title else told}?"


def _id(one: Asked) -> str:
    return f"{one.document.path}#{one.key}"


def _label(one: Asked) -> Label:
    key = one.document.keys.get(one.key)
    path = f"docs/{one.document.path}"
    lacking = Unanswerable("hard_negative", f"The front matter of {path} has no key {one.key} with a value.")
    kind, reason = (None, None) if key else lacking
    return Label(
        id=_id(one),
        category="field" if key else "refusal",
        split=None,
        contract=False,
        expected_image=None,
        expected_value=one.document.value(one.key) if key else None,
        evidence=((Span(path, key.start, key.end),),) if key else (),
        unanswerable_kind=kind,
        unanswerable_reason=reason,
    )
