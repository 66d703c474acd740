"""Stage: one row of the sweep for each system, bound to what it was measured on and sealed; development figures."""

from stages import files
from stages.calibration.binding import Swept, bar, freeze
from stages.calibration.bykind import best_rows
from stages.calibration.gate import decide
from stages.errors import BadInputError
from stages.measures.evaluate import Judged, aggregate
from stages.params import CalibrateParams, load_section, load_systems
from stages.records import Scored
from stages.stage import run, stage_paths


def main() -> None:
    """Write one sealed threshold for each system, and dev_metrics.json."""
    paths = stage_paths(__doc__, "params", "records", "sweep", "judged", "threshold", "metrics")
    params = files.read_params(paths.params)
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
        decisions = [decide(one, bar(frozen, one.top)) for one in judged]
        dev = {"value": frozen.threshold, "by_kind": frozen.by_kind, "dev_weighted_error": frozen.dev.weighted_error}
        metrics[system] = aggregate(judged, decisions, weight) | {"threshold": dev}
    files.write_json(paths.metrics, metrics)


if __name__ == "__main__":
    run(main)
