"""A collection -> the files of a dataset: Markdown, questions, labels, and where each passage stands."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stages.imports.collection import Asked, Collection, Passage
from stages.imports.files import Made, card, distinct, left_out, lines, refuse_one_sided, summary
from stages.imports.page import page
from stages.imports.split import chosen, joined
from stages.records import Label, Question, Span

PACK = 100
"""Passages, at least, in a file of documents that no question is about."""
SPLITS = ("dev", "holdout")


class Corpus(NamedTuple):
    """`places`: by passage id the path and offset of its text in the documents `files`."""

    files: dict[str, bytes]
    places: dict[str, tuple[str, int]]


def dataset(name: str, collection: Collection, seed: int, dev_share: float) -> Made:
    """All files of a dataset, whose questions differ.

    Raises BadInputError where a part lacks answerable or unanswerable ones.
    """
    questions, away = distinct(collection.questions, lambda one: one.text)
    group_of = _groups(collection)
    sizes = Counter(group_of["question", one.id] for one in questions)
    dev = chosen(sizes, seed, dev_share)
    corpus = _corpus(_pages(collection.passages, group_of, sizes))
    parts: dict[str, list[Asked]] = {split: [] for split in SPLITS}
    for one in questions:
        parts["dev" if group_of["question", one.id] in dev else "holdout"].append(one)
    labels = {split: [_label(one, corpus.places) for one in asked] for split, asked in parts.items()}
    refuse_one_sided(labels)
    made = dict(corpus.files)
    for split, asked in parts.items():
        made[f"queries/{split}.jsonl"] = lines(Question(one.id, one.text)._asdict() for one in asked)
        made[f"evaluation-only/{split}.jsonl"] = lines(labels[split])
    made["passages.jsonl"] = lines(_placed(collection.passages, corpus.places))
    made["dataset.yaml"] = card(name, collection.independent_draws)
    told = f"{len(collection.passages)} passages in {len(corpus.files)} documents"
    return Made(made, summary(told, labels, [*collection.notes, *left_out(away)]))


def _groups(collection: Collection) -> dict[tuple[str, str], str]:
    """By ("document" or "question", id), the name of its group."""
    document_of = {one.id: one.document for one in collection.passages}
    sets = [[("document", one.document)] for one in collection.passages]
    for one in collection.questions:
        sets.append([("question", one.id), *(("document", document_of.get(name, name)) for name in one.about)])
    return {name: "\0".join(group) for name, group in joined(sets).items()}


def _pages(
    passages: Iterable[Passage], group_of: Mapping[tuple[str, str], str], asked: Mapping[str, int]
) -> Iterator[list[Passage]]:
    """The passages of each file: those of a group with questions; of the others whole documents, PACK or more."""
    groups: dict[str, list[Passage]] = defaultdict(list)
    for one in passages:
        groups[group_of["document", one.document]].append(one)
    yield from (members for group, members in groups.items() if group in asked)
    packed: list[Passage] = []
    for group, members in groups.items():
        packed += members if group not in asked else []
        if len(packed) >= PACK:
            yield packed
            packed = []
    if packed:
        yield packed


def _corpus(pages: Iterable[Sequence[Passage]]) -> Corpus:
    found = Corpus({}, {})
    for number, passages in enumerate(pages, 1):
        path = f"docs/{number:05}{_slug(passages[0].title)}.md"
        written = page(passages)
        found.files[f"corpus/{path}"] = written.text.encode("utf-8")
        found.places.update((name, (path, offset)) for name, offset in written.offsets.items())
    return found


def _slug(title: str) -> str:
    words = re.findall(r"[a-z0-9]+", title.lower())
    return f"-{'-'.join(words)[:40].rstrip('-')}" if words else ""


def _label(asked: Asked, places: Mapping[str, tuple[str, int]]) -> Label:
    spans = []
    for place in asked.evidence:
        path, offset = places[place.passage]
        spans.append(Span(path, offset + place.start, offset + place.end))
    kind, reason = asked.unanswerable or (None, None)
    return Label(
        id=asked.id,
        category="refusal" if asked.unanswerable else "passage",
        split=None,
        contract=False,
        expected_image=None,
        expected_value=None,
        evidence=() if asked.unanswerable else (tuple(spans),),
        unanswerable_kind=kind,
        unanswerable_reason=reason,
    )


def _placed(passages: Iterable[Passage], places: Mapping[str, tuple[str, int]]) -> Iterator[dict[str, object]]:
    for one in passages:
        path, offset = places[one.id]
        yield {"id": one.id, "path": path, "start": offset, "end": offset + len(one.text)}
