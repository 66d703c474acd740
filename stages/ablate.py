"""Stage: the dev questions again, with one factor of the base run changed at a time: what each part is good for.

Checkpoint, originals, questions and the frozen thresholds, which are verified first, stay. This process answers and
holds labels: what it finds decides nothing, for every threshold is frozen by then.
"""

from argparse import Namespace
from typing import Any

from stages import artifacts, files, results
from stages.ablating import Base, ask_ablated
from stages.assemble import derived_threshold, every, read_answerer, uses_encoder
from stages.calibration.gate import Gate
from stages.measures.ablation import Ablated
from stages.originals import read_index
from stages.params import CalibrateParams, load_systems, of_params
from stages.rebuild import remembering
from stages.stage.progress import progress
from stages.stage.run import run_stage
from stages.variations import load_ablations

PATHS = (
    *("corpus", "index", "lexical", "checkpoint", "vectors", "hnsw", "embedding", "captions"),
    *("dev_questions", "dev_labels", "records", "judged", "threshold", "results"),
)


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write results.json."""
    systems, index = load_systems(params), read_index(paths.index)
    gates = every(systems, lambda system: Gate(derived_threshold(params, paths, system)))
    answerer = remembering(read_answerer(params, paths, index, systems))
    dev = Base(
        files.read_captions(paths.captions) if uses_encoder(systems) else [],
        files.read_questions(paths.dev_questions),
        files.read_labels(paths.dev_labels),
        {system: results.read_judged(paths.judged, system) for system in systems},
    )
    for system, judged in dev.judged.items():
        records = artifacts.read_scored(paths.records, system).records
        results.refuse_others(paths.judged, system, judged, records)
    weight = of_params(CalibrateParams, "calibrate", params).weight
    listed = load_ablations(params)
    asked = progress(listed, len(listed), "ablations")
    found = [one for item in asked for one in ask_ablated(item, paths, answerer, gates, dev, weight)]
    files.write_rows(paths.results, Ablated(tuple(found)))


if __name__ == "__main__":
    run_stage("ablate", __doc__, PATHS, main)
