"""Stage: the image questions of dev, asked again about damaged images, with the same checkpoint and frozen thresholds.

The thresholds are verified first, on the untouched corpus; nothing is trained or tuned here. The clean images go the
same way as the damaged ones, and have to give what dev gave. This process answers and holds labels: what it finds
decides nothing, for every threshold is frozen by then.
"""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from stages import artifacts, files, results
from stages.answering.answer import Answerer
from stages.assemble import derived_threshold, every, read_answerer, uses_encoder
from stages.calibration.gate import Gate
from stages.damaging import Before, ask_damaged, refuse_another
from stages.errors import BadInputError
from stages.measures.damage import CLEAN, Asked, Case, Point, curves, summary
from stages.originals import read_index
from stages.params import load_systems
from stages.rebuild import remembering
from stages.records import File
from stages.stage.run import run_stage

PATHS = (
    *("corpus", "index", "lexical", "checkpoint", "vectors", "hnsw", "embedding", "dev_questions", "dev_labels"),
    *("records", "dev_metrics", "threshold", "altered", "cases", "curves", "results"),
)


def image_questions(paths: Namespace) -> Asked:
    """The dev questions about images, each with its label, in the order of their file."""
    labels = {one.id: one for one in files.read_labels(paths.dev_labels) if one.category == "image"}
    return [(one, labels[one.id]) for one in files.read_questions(paths.dev_questions) if one.id in labels]


def on_dev(paths: Namespace, system: str, dev: Mapping[str, Any]) -> Before:
    """What dev gave, `dev` being its figures."""
    records = artifacts.read_scored(paths.records, system).records
    known = {one.id: one for one in records}
    return Before(files.of_system(paths.records, system), known, paths.dev_metrics, dev[system]["answers"]["image"])


def write_altered(folder: Path, images: Mapping[str, bytes]) -> list[File]:
    """Write the images of one condition as originals; returns what they are."""
    for path, data in images.items():
        files.write_bytes(folder / path, data)
    return [files.hashed(folder, path)[0] for path in images]


def write_damaged(
    params: dict[str, Any], paths: Namespace, answerer: Answerer, gates: Mapping[str, Gate], asked: Asked
) -> list[Case]:
    """Write the images of every condition; returns what became of the questions."""
    dev = results.read_figures(paths.dev_metrics, list(gates))
    written: dict[str, list[File]] = {}
    cases: list[Case] = []
    for met in ask_damaged(params, paths, answerer, gates, asked):
        written[met.condition.name] = write_altered(Path(paths.altered, met.condition.name), met.images)
        for system, found in met.cases.items():
            if met.condition.change == CLEAN:
                refuse_another(system, met.records[system], found, on_dev(paths, system, dev))
            cases += found
    files.write_rows(Path(paths.altered, "originals.json"), written)
    return cases


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write the altered originals, cases.csv with every question under every condition, curves.csv, results.json."""
    systems, index = load_systems(params), read_index(paths.index)
    gates = every(systems, lambda system: Gate(derived_threshold(params, paths, system)))
    before = files.hash_file(paths.checkpoint) if uses_encoder(systems) else None
    asked = image_questions(paths)
    cases = write_damaged(params, paths, remembering(read_answerer(params, paths, index, systems)), gates, asked)
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
