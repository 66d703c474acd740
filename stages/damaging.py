"""Image questions asked about damaged images. Thresholds are frozen; whoever asks holds the labels."""

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from stages import files, settings
from stages.answering.answer import Answerer
from stages.assemble import read_checkpoint, uses_encoder
from stages.calibration.gate import Gate
from stages.measures.damage import Asked, Case, Condition, cases_of, conditions
from stages.measures.relevance import Indexed
from stages.params import IndexParams, of_params
from stages.perturbation.changes import altered
from stages.rebuild import in_threads, with_images
from stages.records import Record
from stages.stage.progress import progress
from stages.variations import PerturbationParams


class Met(NamedTuple):
    """What one condition gave: the altered images by path; by system the records, and what became of each question."""

    condition: Condition
    images: dict[str, bytes]
    records: dict[str, list[Record]]
    cases: dict[str, list[Case]]


def ask_damaged(
    params: dict[str, Any], paths: Namespace, answerer: Answerer, gates: Mapping[str, Gate], asked: Asked
) -> Iterator[Met]:
    """Damage all images in every way and ask each system, the clean images first; nothing where nobody asks."""
    table, indexing = of_params(PerturbationParams, "perturbation", params), of_params(IndexParams, "index", params)
    encoder = read_checkpoint(paths.checkpoint) if uses_encoder(gates) else None
    entries, sections = answerer.library.entries, settings.read_vocabulary()
    images = {one.path: answerer.read(one.path) for one in entries.values() if one.kind == "image"}
    met = conditions(table.changes) if images and asked else []
    for condition in progress(met, len(met), "conditions"):
        most, change, strength = indexing.max_pixels, condition.change, condition.strength or 0
        made = in_threads(
            partial(altered, change=change, strength=strength, seed=table.seed, most=most), images.values()
        )
        new = dict(zip(images, made, strict=True))
        damaged = with_images(answerer, new, sections, indexing, encoder)
        records = {system: [damaged.answer(question, system) for question, _ in asked] for system in gates}
        cases = {
            system: cases_of(condition, system, found, asked, Indexed(entries), gates[system])
            for system, found in records.items()
        }
        yield Met(condition, new, records, cases)


class Before(NamedTuple):
    """What the clean questions of one system gave before, in two files: records by id, figures of `answers.image`."""

    records_path: str | Path
    records: Mapping[str, Record]
    figures_path: str | Path
    image: Mapping[str, int]


def refuse_another(system: str, records: Sequence[Record], cases: Sequence[Case], before: Before) -> None:
    """Raise BadInputError where the clean images, on the way of the damaged ones, do not give what they gave before."""
    other = (f"{one.id}: another record when asked again" for one in records if one != before.records.get(one.id))
    files.refuse_made(before.records_path, other)
    found = {"correct": sum(one.outcome == "answered_right" for one in cases), "total": len(cases)}
    told = f"{system}.answers.image: {before.image}, but {found} when asked again"
    files.refuse_made(before.figures_path, [] if before.image == found else [told])
