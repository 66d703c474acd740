"""Stage: development records meet their labels: every decision boundary, the cost frontier, the judged records."""

from argparse import Namespace
from typing import Any

from stages import artifacts, files
from stages.assemble import verified_citations
from stages.calibration.hull import COLUMNS, frontier_cells, hull
from stages.calibration.sweep import Row, cells, sweep
from stages.calibration.threshold import Swept, dev_set_hash
from stages.errors import BadInputError
from stages.measures.evaluate import judge_all
from stages.measures.relevance import what_is_indexed
from stages.originals import read_index
from stages.params import CalibrateParams, load_systems, of_params
from stages.records import TOP_KINDS
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "questions", "labels", "records", "sweep", "judged")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write the sweep, one row a boundary, the cost frontier, what they were made of, and the judged records.

    Where each kind of best candidate has a threshold, each has a sweep and a frontier of its own as well.
    """
    calibrate = of_params(CalibrateParams, "calibrate", params)
    indexed = what_is_indexed(read_index(paths.index))
    labels = files.read_labels(paths.labels)
    if len({label.answerable for label in labels}) < 2:
        raise BadInputError(f"{paths.labels}: a threshold needs both answerable and unanswerable questions")
    dev_set = dev_set_hash(files.read_bytes(paths.questions), files.read_bytes(paths.labels))
    for system in load_systems(params):
        source = files.of_system(paths.records, system)
        records = artifacts.read_scored(paths.records, system).records
        judged = judge_all(records, labels, indexed, verified_citations(paths.corpus, records), progress)
        parts = {
            "": judged,
            **{f".{kind}": [row for row in judged if (row.top or "text") == kind] for kind in TOP_KINDS},
        }
        for suffix, part in parts.items():
            if not suffix or system in calibrate.by_kind:
                known = [row.signal for row in part], [row.answerable for row in part], calibrate.weight
                rows, best = map(cells, sweep(*known)), map(frontier_cells, hull(*known))
                files.write_csv(files.of_system(paths.sweep, system, f"{suffix}.csv"), Row._fields, rows)
                files.write_csv(files.of_system(paths.sweep, system, f"{suffix}.frontier.csv"), COLUMNS, best)
        files.write_json(
            files.of_system(paths.sweep, system),
            Swept(system, dev_set, files.hash_file(source)),
        )
        files.write_jsonl(files.of_system(paths.judged, system, ".jsonl"), judged)


if __name__ == "__main__":
    run_stage("sweep_thresholds", __doc__, PATHS, main)
