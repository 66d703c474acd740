"""Stage: what the objective chooses for each system, bound to what it was measured on, sealed; development figures."""

from argparse import Namespace
from typing import Any

from stages import artifacts, files, results, settings
from stages.calibration.gate import Gate
from stages.calibration.objective import check_draws, choose_rows
from stages.calibration.threshold import freeze
from stages.errors import BadInputError
from stages.measures.evaluate import aggregate
from stages.measures.stability import stability
from stages.params import CalibrateParams, DatasetCard, load_section, load_systems, of_params
from stages.stage.run import run_stage

PATHS = ("dataset", "records", "sweep", "judged", "threshold", "metrics")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write one sealed threshold for each system, and dev_metrics.json; say what is certified, or why nothing is."""
    calibrate = of_params(CalibrateParams, "calibrate", params)
    card = load_section(DatasetCard, paths.dataset, settings.read_yaml(paths.dataset))
    check_draws(calibrate, card, paths.dataset)
    metrics = {}
    for system in load_systems(params):
        swept = artifacts.read_swept(paths.sweep, system)
        judged = results.read_judged(paths.judged, system)
        source = files.of_system(paths.records, system)
        dev_records = files.hash_file(source)
        if dev_records != swept.dev_records:
            raise BadInputError(f"{source}: not the records that were swept; run `dvc repro sweep_thresholds`")
        scored = artifacts.read_scored(paths.records, system)
        results.refuse_others(paths.judged, system, judged, scored.records)
        by_kind = system in calibrate.by_kind
        choice = choose_rows(judged, [one.answerable for one in judged], calibrate, by_kind)
        frozen = freeze(scored, choice, swept.dev_set, dev_records, calibrate)
        files.write_json(files.of_system(paths.threshold, system), frozen)
        if frozen.certificate:
            print(f"{system}: {frozen.certificate.sentence}")
        gate = Gate(frozen)
        decisions = [gate.settle(one) for one in judged]
        dev = {"value": frozen.threshold, "by_kind": frozen.by_kind, "dev_weighted_error": frozen.dev.weighted_error}
        around = {} if frozen.certificate else stability(judged, calibrate.weight, by_kind, card)
        metrics[system] = aggregate(judged, decisions, calibrate.weight) | {"threshold": dev | around}
    files.write_json(paths.metrics, metrics)


if __name__ == "__main__":
    run_stage("freeze_threshold", __doc__, PATHS, main)
