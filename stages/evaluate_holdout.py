"""Stage: the holdout answers meet their labels: one line a question, the numbers, and a line in the ledger.

Refuses a stale threshold like `answer_holdout` (exit status 3); it may open labels, so it also hashes the development
set itself and derives the threshold again from the bound records.
"""

from argparse import Namespace
from typing import Any

from stages import files
from stages.assemble import current_binding, verified_citations
from stages.calibration.binding import Threshold, check_answers, check_derived, check_threshold, dev_set_hash
from stages.calibration.ledger import SYSTEM_SOURCES, Result, Seen, add, holdout_hash, system_hash
from stages.calibration.sweep import optimal
from stages.measures.evaluate import aggregate, judge_all
from stages.measures.perquestion import query_rows
from stages.params import CalibrateParams, load_section, load_systems
from stages.records import Answered, Index, Scored
from stages.stage import run, stage_paths

PATHS = (
    *("params", "corpus", "index", "dev_questions", "dev_labels", "records", "threshold"),
    *("questions", "labels", "holdout", "metrics", "ledger", "seen"),
)


def checked_threshold(params: dict[str, Any], paths: Namespace, system: str) -> Threshold:
    """The frozen threshold after every check that evaluation can make; StaleThresholdError otherwise."""
    calibrate = load_section(CalibrateParams, "calibrate", params.get("calibrate"))
    frozen = files.read_json(files.of_system(paths.threshold, system), Threshold)
    dev_set = dev_set_hash(files.read_bytes(paths.dev_questions), files.read_bytes(paths.dev_labels))
    check_threshold(frozen, system, calibrate.fp_weight, current_binding(params, paths, system, dev_set))
    answerable = {label.id: label.answerable for label in files.read_labels(paths.dev_labels)}
    records = files.read_json(files.of_system(paths.records, system), Scored).records
    check_derived(frozen, optimal([r.signal for r in records], [answerable[r.id] for r in records], calibrate.weight))
    return frozen


def main() -> None:
    """Write <system>/queries.json, metrics.json, the ledger, and from it who has seen this holdout."""
    paths = stage_paths(__doc__, *PATHS)
    params = files.read_yaml(paths.params)
    weight = load_section(CalibrateParams, "calibrate", params.get("calibrate")).weight
    entries = {entry.id: entry for entry in files.read_json(paths.index, Index).entries}
    questions, labels = files.read_questions(paths.questions), files.read_labels(paths.labels)
    metrics: dict[str, Any] = {}
    seals: dict[str, str] = {}
    results: dict[str, Result] = {}
    for system in load_systems(params):
        frozen = checked_threshold(params, paths, system)
        answered = files.read_json(files.in_system(paths.holdout, system, "answers.json"), Answered)
        check_answers(answered, frozen, files.hash_file(paths.questions))
        records = answered.scored.records
        judged = judge_all(records, labels, entries, verified_citations(paths.corpus, records))
        rows = query_rows(records, answered.decisions, {label.id: label for label in labels}, judged, entries)
        files.write_rows(files.in_system(paths.holdout, system, "queries.json"), {"system": system, "queries": rows})
        metrics[system] = aggregate(judged, answered.decisions, weight)
        metrics[system]["threshold"] = {
            "value": frozen.threshold,
            "dev_weighted_error": frozen.dev.weighted_error,
            "holdout_weighted_error": metrics[system]["gate"]["weighted_error"],
        }
        seals[system] = frozen.seal
        results[system] = Result(frozen.dev.weighted_error, float(metrics[system]["gate"]["weighted_error"]))
    files.write_json(paths.metrics, metrics)
    line = Seen(
        holdout=holdout_hash(questions, labels),
        contract=holdout_hash(questions, [label for label in labels if label.contract]),
        system=system_hash(seals, params, files.hash_sources(SYSTEM_SOURCES)),
        results=results,
    )
    ledger = add(files.read_jsonl(paths.ledger, Seen, missing_ok=True), line)
    files.write_jsonl(paths.ledger, ledger)
    files.write_jsonl(paths.seen, [one for one in ledger if one.holdout == line.holdout])


if __name__ == "__main__":
    run(main)
