"""What is wrong with the rows of one part: by themselves, against each other, against corpus and captions."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from stages.labels.dataset import DEV, Dataset, Finding, Originals, Part, Table
from stages.labels.parts import normalised
from stages.records import Caption, Label, Span
from stages.wellformed import DOCUMENT_SUFFIX, IMAGE_SUFFIX, label_findings, path_finding

FEWEST_CAPTIONS = 4


def row_findings(dataset: Dataset) -> Iterator[Finding]:
    """Everything that is wrong inside a part, or with the captions."""
    captioned = {row.image: line for line, row in sorted(dataset.captions.rows.items(), reverse=True)}
    for part in dataset.parts:
        yield from _question_findings(part)
        yield from _unmatched(part.questions, part.labels, "label")
        yield from _unmatched(part.labels, part.questions, "question")
        yield from _repeated_ids(part.labels)
        for line, label in part.labels.rows.items():
            found = chain(
                label_findings(label),
                _split_findings(label, dataset, captioned),
                _contract_findings(label, part.name),
                _evidence_findings(label, dataset.originals),
                _image_findings(label.expected_image, dataset.originals),
            )
            yield from (Finding(part.labels.path, line, label.id, text) for text in found)
    yield from _caption_findings(dataset.captions, dataset.originals, captioned)


def _question_findings(part: Part) -> Iterator[Finding]:
    table = part.questions
    if table.whole and not table.rows:
        yield Finding(table.path, None, None, "no questions")
    yield from _repeated_ids(table)
    for line, row in table.rows.items():
        if not normalised(row.text):
            yield Finding(table.path, line, row.id, "a question without words")


def _repeated_ids(table: Table[Any]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for line, row in table.rows.items():
        if (before := first.setdefault(row.id, line)) != line:
            yield Finding(table.path, line, row.id, f"line {before} has that id too")


def _unmatched(table: Table[Any], other: Table[Any], lacking: str) -> Iterator[Finding]:
    """Ids that only `table` has; none where some line of the other could not be read and may hold them."""
    known = {row.id for row in other.rows.values()}
    if other.whole:
        for line, row in table.rows.items():
            if row.id not in known:
                yield Finding(table.path, line, row.id, f"no {lacking} with that id in {other.path}")


def _split_findings(label: Label, dataset: Dataset, captioned: Mapping[str, int]) -> Iterator[str]:
    """`split` says whether the image has a training caption; an unread caption may be the one that is missed."""
    image, captions = label.expected_image or "", dataset.captions
    if (label.category == "image") != (label.split is not None):
        yield "an image question, and no other, has a split"
    elif label.split == "heldout" and image in captioned:
        yield f"split: heldout, but {image} has a training caption ({captions.path}:{captioned[image]})"
    elif label.split == "train" and image in dataset.originals.images - captioned.keys() and captions.whole:
        yield f"split: train, but {image} has no training caption"


def _contract_findings(label: Label, part: str) -> Iterator[str]:
    if label.contract and part == DEV:
        yield "contract: only a question of a holdout is one"


def _evidence_findings(label: Label, originals: Originals) -> Iterator[str]:
    """Spans that lie in no document, outside it or on white space; or, in no group, all on the expected value."""
    spans = [span for group in label.evidence for span in group if 0 <= span.start < span.end]
    for span in spans:
        yield from (f"evidence: {_shown(span)}: {text}" for text in _span_findings(span, originals))
    value = label.expected_value
    if value and not any(all(_may_hold(span, value, originals) for span in group) for group in label.evidence):
        lacking = (_shown(span) for span in spans if not _may_hold(span, value, originals))
        yield from (f"evidence: {place}: expected_value does not stand there" for place in lacking)


def _shown(span: Span) -> str:
    return f"{span.path}[{span.start}:{span.end}]"


def _span_findings(span: Span, originals: Originals) -> Iterator[str]:
    text = originals.texts.get(span.path)
    if text is None:
        yield from _place_findings(span.path, DOCUMENT_SUFFIX, originals)
    elif span.end > len(text):
        yield f"outside the document, which has {len(text)} characters"
    elif not text[span.start : span.end].strip():
        yield "white space alone"


def _may_hold(span: Span, value: str, originals: Originals) -> bool:
    """True where the value stands in the span, character by character as answers are judged, or nobody can tell."""
    text = originals.texts.get(span.path)
    return text is None or span.end > len(text) or value in text[span.start : span.end]


def _image_findings(image: str | None, originals: Originals) -> Iterator[str]:
    if image:
        yield from (f"{image}: {text}" for text in _place_findings(image, IMAGE_SUFFIX, originals))


def _place_findings(path: str, suffix: str, originals: Originals) -> Iterator[str]:
    """A path that names nothing in the corpus, or something of the other kind.

    One that is no path, and a corpus without originals, are found elsewhere.
    """
    if path_finding(path) or not len(originals):
        return
    if not path.lower().endswith(suffix):
        yield f"expected a {suffix} file"
    elif path not in originals.texts and path not in originals.images and path not in originals.unusable:
        yield "not in the corpus"


def _caption_findings(table: Table[Caption], originals: Originals, captioned: Mapping[str, int]) -> Iterator[Finding]:
    if table.whole and len(captioned) < FEWEST_CAPTIONS:
        text = f"captions of {len(captioned)} images; the encoder learns from at least {FEWEST_CAPTIONS}"
        yield Finding(table.path, None, None, text)
    for line, row in table.rows.items():
        if found := path_finding(row.image):
            yield Finding(table.path, line, None, f"image: {found}")
        for text in _image_findings(row.image, originals):
            yield Finding(table.path, line, None, text)
        if captioned[row.image] != line:
            yield Finding(table.path, line, None, f"{row.image}: line {captioned[row.image]} has a caption of it too")
