"""Stage: one row of the sweep for each system, bound to what it was measured on and sealed; development figures."""

from argparse import Namespace
from typing import Any

from stages import files
from stages.calibration.bykind import best_rows
from stages.calibration.gate import Gate
from stages.calibration.threshold import Swept, freeze
from stages.errors import BadInputError
from stages.measures.evaluate import Judged, aggregate
from stages.params import CalibrateParams, load_section, load_systems
from stages.records import Scored
from stages.stage.run import run_stage

PATHS = ("records", "sweep", "judged", "threshold", "metrics")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write one sealed threshold for each system, and dev_metrics.json."""
    calibrate = load_section(CalibrateParams, "calibrate", params.get("calibrate"))
    weight = calibrate.weight
    metrics = {}
    for system in load_systems(params):
        swept = files.read_json(files.of_system(paths.sweep, system), Swept)
        judged = files.read_jsonl(files.of_system(paths.judged, system, ".jsonl"), Judged)
        source = files.of_system(paths.records, system)
        dev_records = files.hash_file(source)
        if dev_records != swept.dev_records:
            raise BadInputError(f"{source}: not the records that were swept; run `dvc repro sweep_thresholds`")
        rows = best_rows(judged, [one.answerable for one in judged], weight, system in calibrate.by_kind)
        frozen = freeze(files.read_json(source, Scored), rows, swept.dev_set, dev_records, weight)
        files.write_json(files.of_system(paths.threshold, system), frozen)
        gate = Gate(frozen)
        decisions = [gate.settle(one) for one in judged]
        dev = {"value": frozen.threshold, "by_kind": frozen.by_kind, "dev_weighted_error": frozen.dev.weighted_error}
        metrics[system] = aggregate(judged, decisions, weight) | {"threshold": dev}
    files.write_json(paths.metrics, metrics)


if __name__ == "__main__":
    run_stage("freeze_threshold", __doc__, PATHS, main)
