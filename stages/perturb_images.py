"""Stage: the image questions of dev, asked again about damaged images, with the same checkpoint and frozen thresholds.

The thresholds are verified first, on the untouched corpus; nothing is trained or tuned here. The clean images go the
same way as the damaged ones, and have to give what dev gave. This process answers and holds labels: what it finds
decides nothing, for every threshold is frozen by then.
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from functools import partial
from pathlib import Path
from typing import Any

from stages import artifacts, files, results, settings
from stages.answering.answer import Answerer
from stages.assemble import derived_threshold, every, read_answerer, read_checkpoint, uses_encoder
from stages.calibration.gate import Gate
from stages.errors import BadInputError
from stages.measures.damage import (
    CLEAN,
    Asked,
    Case,
    Point,
    cases_of,
    conditions,
    curves,
    summary,
)
from stages.measures.relevance import Indexed
from stages.originals import read_index
from stages.params import IndexParams, PerturbationParams, load_systems, of_params
from stages.perturbation.changes import altered
from stages.rebuild import in_threads, remembering, with_images
from stages.records import File, Record
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = (
    *("corpus", "index", "lexical", "checkpoint", "vectors", "hnsw", "embedding", "dev_questions", "dev_labels"),
    *("records", "dev_metrics", "threshold", "altered", "cases", "curves", "results"),
)


def image_questions(paths: Namespace) -> Asked:
    """The dev questions about images, each with its label, in the order of their file."""
    labels = {one.id: one for one in files.read_labels(paths.dev_labels) if one.category == "image"}
    return [(one, labels[one.id]) for one in files.read_questions(paths.dev_questions) if one.id in labels]


def write_altered(folder: Path, images: Mapping[str, bytes]) -> list[File]:
    """Write the images of one condition as originals; returns what they are."""
    for path, data in images.items():
        files.write_bytes(folder / path, data)
    return [files.hashed(folder, path)[0] for path in images]


def refuse_another_dev(
    paths: Namespace, system: str, records: Sequence[Record], cases: Sequence[Case], dev: Mapping[str, Any]
) -> None:
    """Raise BadInputError where the clean images, on the way of the damaged ones, do not give what dev gave."""
    before = {one.id: one for one in artifacts.read_scored(paths.records, system).records}
    other = (f"{one.id}: another record when asked again" for one in records if one != before.get(one.id))
    files.refuse_made(files.of_system(paths.records, system), other)
    found = {"correct": sum(one.outcome == "answered_right" for one in cases), "total": len(cases)}
    known = dev[system]["answers"]["image"]
    other = (f"{system}.answers.image: {known}, but {found} when asked again" for _ in [0] if known != found)
    files.refuse_made(paths.dev_metrics, other)


def ask_damaged(
    params: dict[str, Any], paths: Namespace, answerer: Answerer, gates: Mapping[str, Gate], asked: Asked
) -> list[Case]:
    """Damage all images in every way, write them, and ask each system; the clean ones come first."""
    dev = results.read_figures(paths.dev_metrics, list(gates))
    table, indexing = of_params(PerturbationParams, "perturbation", params), of_params(IndexParams, "index", params)
    encoder = read_checkpoint(paths.checkpoint) if uses_encoder(gates) else None
    entries, sections = answerer.library.entries, settings.read_vocabulary()
    images = {one.path: answerer.read(one.path) for one in entries.values() if one.kind == "image"}
    written: dict[str, list[File]] = {}
    cases: list[Case] = []
    met = conditions(table.changes) if images and asked else []
    for condition in progress(met, len(met), "conditions"):
        most, change, strength = indexing.max_pixels, condition.change, condition.strength or 0
        made = in_threads(
            partial(altered, change=change, strength=strength, seed=table.seed, most=most), images.values()
        )
        new = dict(zip(images, made, strict=True))
        written[condition.name] = write_altered(Path(paths.altered, condition.name), new)
        damaged = with_images(answerer, new, sections, indexing, encoder)
        for system, gate in gates.items():
            records = [damaged.answer(question, system) for question, _ in asked]
            found = cases_of(condition, system, records, asked, Indexed(entries), gate)
            if condition.change == CLEAN:
                refuse_another_dev(paths, system, records, found, dev)
            cases += found
    files.write_rows(Path(paths.altered, "originals.json"), written)
    return cases


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write the altered originals, cases.csv with every question under every condition, curves.csv, results.json."""
    systems, index = load_systems(params), read_index(paths.index)
    gates = every(systems, lambda system: Gate(derived_threshold(params, paths, system)))
    before = files.hash_file(paths.checkpoint) if uses_encoder(systems) else None
    asked = image_questions(paths)
    cases = ask_damaged(params, paths, remembering(read_answerer(params, paths, index, systems)), gates, asked)
    after = files.hash_file(paths.checkpoint) if uses_encoder(systems) else None
    if before != after:
        raise BadInputError(f"{paths.checkpoint}: changed while images were damaged; run it again")
    found = summary(cases, asked, before)
    files.write_csv(paths.cases, [item.name for item in fields(Case)], map(astuple, cases))
    files.write_csv(paths.curves, Point._fields, curves(found.effects))
    files.write_rows(paths.results, found)
    if not cases:
        print("nothing to damage: no image in the index, or no dev question about one")


if __name__ == "__main__":
    run_stage("perturb_images", __doc__, PATHS, main)
