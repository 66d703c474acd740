"""Pictures with a name and keywords -> a dataset: names are captions to learn from, keywords ask for other pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stages.hashing import sha256
from stages.imports.collection import Unanswerable
from stages.imports.files import Made, card, distinct, left_out, lines, refuse_one_sided, summary
from stages.records import Caption, Label, Question
from stages.wellformed import path_finding, repeated

LEARNED = 0.6
"""Share of the pictures whose names are captions."""
LEFT_OUT = 3
"""One of as many pictures that are asked for is not in the corpus."""
NOT_THERE = Unanswerable("missing", "The picture with these keywords was left out of the corpus.")


@dataclass(frozen=True, slots=True)
class Picture:
    """A row of captions.jsonl; `image` is a file in images/."""

    image: str
    name: str
    keywords: list[str]


def picture_findings(rows: Sequence[Picture]) -> Iterator[str]:
    """Rows that name no PNG, stand there twice, or have no words."""
    yield from (f"{name}: stands there twice" for name in repeated(row.image for row in rows))
    for row in rows:
        if found := path_finding(f"images/{row.image}"):
            yield found
        if not row.name.strip() or not any(map(str.strip, row.keywords)):
            yield f"{row.image}: no name, or no keywords"


def picture_dataset(
    rows: Sequence[Picture], images: Mapping[str, bytes], name: str, seed: int, dev_share: float
) -> Made:
    """All files of a dataset; `images`: the bytes of each. No picture that is asked for has a caption to learn from.

    Raises BadInputError for too few pictures to ask for.
    """
    order = sorted(rows, key=lambda row: sha256(f"{seed}\0{row.image}".encode()))
    learned = round(LEARNED * len(order))
    asked, unasked = distinct(order[learned:], _question)
    dev = round(dev_share * len(asked))
    labels = {
        split: [_label(row, place % LEFT_OUT == LEFT_OUT - 1) for place, row in enumerate(part)]
        for split, part in (("dev", asked[:dev]), ("holdout", asked[dev:]))
    }
    refuse_one_sided(labels)
    texts = {row.image: _question(row) for row in asked}
    away = {one.id for part in labels.values() for one in part if not one.answerable}
    made = {f"corpus/images/{row.image}": images[row.image] for row in rows if row.image not in away}
    made["training/captions.jsonl"] = lines(Caption(f"images/{row.image}", row.name) for row in order[:learned])
    for split, part in labels.items():
        made[f"queries/{split}.jsonl"] = lines(Question(one.id, texts[one.id])._asdict() for one in part)
        made[f"evaluation-only/{split}.jsonl"] = lines(part)
    made["dataset.yaml"] = card(name, independent_draws=False)
    told = f"{len(rows) - len(away)} pictures, {learned} with a caption to learn from, {len(away)} left out"
    return Made(made, summary(told, labels, left_out(unasked)))


def _question(row: Picture) -> str:
    return " ".join(row.keywords)


def _label(row: Picture, away: bool) -> Label:
    kind, reason = NOT_THERE if away else (None, None)
    return Label(
        id=row.image,
        category="refusal" if away else "image",
        split=None if away else "heldout",
        contract=False,
        expected_image=None if away else f"images/{row.image}",
        expected_value=None,
        evidence=(),
        unanswerable_kind=kind,
        unanswerable_reason=reason,
    )
