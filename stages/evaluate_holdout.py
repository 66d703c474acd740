"""Stage: the holdout answers meet their labels: one line a question, the numbers, and a line in the ledger.

Refuses a stale threshold like `answer_holdout` (exit status 3); it may open labels, so it also hashes the development
set itself and derives the threshold again from the bound records.
"""

from argparse import Namespace
from typing import Any

from stages import files
from stages.assemble import current_binding, current_system, exact_neighbours, verified_citations
from stages.calibration.binding import Threshold, check_answers, check_derived, check_threshold, dev_set_hash
from stages.calibration.bykind import best_rows
from stages.calibration.ledger import Seen, add, holdout_hash, result
from stages.measures.encoder import encoder_metrics
from stages.measures.evaluate import aggregate, judge_all
from stages.measures.perquestion import query_rows
from stages.measures.rate import rate
from stages.params import CalibrateParams, load_section, load_systems
from stages.records import Answered, Index, Label, Question, Scored
from stages.retrieval.neighbours import recall
from stages.stage import run, stage_paths

PATHS = (
    *("params", "corpus", "index", "checkpoint", "vectors", "embedding"),
    *("dev_questions", "dev_labels", "records", "threshold"),
    *("questions", "labels", "holdout", "metrics", "ledger", "seen"),
)


def checked_threshold(params: dict[str, Any], paths: Namespace, system: str) -> Threshold:
    """The frozen threshold after every check that evaluation can make; StaleThresholdError otherwise."""
    calibrate = load_section(CalibrateParams, "calibrate", params.get("calibrate"))
    frozen = files.read_sealed(files.of_system(paths.threshold, system), Threshold)
    dev_set = dev_set_hash(files.read_bytes(paths.dev_questions), files.read_bytes(paths.dev_labels))
    check_threshold(frozen, system, calibrate, current_binding(params, paths, system, dev_set))
    answerable = {label.id: label.answerable for label in files.read_labels(paths.dev_labels)}
    records = files.read_json(files.of_system(paths.records, system), Scored).records
    known = [answerable[record.id] for record in records]
    check_derived(frozen, best_rows(records, known, calibrate.weight, system in calibrate.by_kind))
    return frozen


def evaluate(params: dict[str, Any], paths: Namespace, system: str, labels: list[Label]) -> tuple[str, dict[str, Any]]:
    """Check one system's threshold and answers, write its queries.json; returns the seal and the figures."""
    frozen = checked_threshold(params, paths, system)
    answered = files.read_json(files.in_system(paths.holdout, system, "answers.json"), Answered)
    now = current_system(params, {system: frozen.seal})
    check_answers(answered, frozen, {"system": now, "questions": files.hash_file(paths.questions)})
    entries = {entry.id: entry for entry in files.read_json(paths.index, Index).entries}
    records = answered.scored.records
    judged = judge_all(records, labels, entries, verified_citations(paths.corpus, records))
    rows = query_rows(records, answered.decisions, {label.id: label for label in labels}, judged, entries)
    files.write_rows(files.in_system(paths.holdout, system, "queries.json"), {"system": system, "queries": rows})
    weight = load_section(CalibrateParams, "calibrate", params.get("calibrate")).weight
    figures = aggregate(judged, answered.decisions, weight)
    errors = {
        "dev_weighted_error": frozen.dev.weighted_error,
        "holdout_weighted_error": figures["gate"]["weighted_error"],
    }
    return frozen.seal, figures | {"threshold": {"value": frozen.threshold, "by_kind": frozen.by_kind} | errors}


def encoder_figures(paths: Namespace, questions: list[Question], labels: list[Label]) -> dict[str, Any]:
    """How the encoder pairs the contract's phrases with their images, and how much of exact search HNSW found."""
    asked = {question.id: question.text for question in questions}
    pairs = [label for label in labels if label.contract and label.category == "image"]
    exact = exact_neighbours(paths, files.read_json(paths.index, Index))
    paired = encoder_metrics(
        [exact.vectors[exact.rows[label.expected_image or ""]] for label in pairs],
        [exact.embed(asked[label.id]) for label in pairs],
        [label.split == "heldout" for label in pairs],
    )
    answered = files.read_json(files.in_system(paths.holdout, "neural", "answers.json"), Answered)
    found = [record.rank_lists["neural"] for record in answered.scored.records]
    wanted = [
        exact.nearest(exact.embed(asked[record.id]), len(record.rank_lists["neural"]))
        for record in answered.scored.records
    ]
    return paired | rate("hnsw_recall", *recall(wanted, found))


def main() -> None:
    """Write <system>/queries.json, metrics.json, the ledger, and from it who has seen this holdout."""
    paths = stage_paths(__doc__, *PATHS)
    params = files.read_params(paths.params)
    questions, labels = files.read_questions(paths.questions), files.read_labels(paths.labels)
    before = files.hash_file(paths.checkpoint)
    found = {system: evaluate(params, paths, system, labels) for system in load_systems(params)}
    figures: dict[str, Any] = {system: one for system, (_, one) in found.items()}
    if "neural" in found:
        figures["encoder"] = encoder_figures(paths, questions, labels)
        figures["checkpoint_unchanged"] = files.hash_file(paths.checkpoint) == before
    files.write_json(paths.metrics, figures)
    line = Seen(
        holdout=holdout_hash(questions, labels),
        contract=holdout_hash(questions, [label for label in labels if label.contract]),
        system=current_system(params, {system: seal for system, (seal, _) in found.items()}),
        results={system: result(one["threshold"]) for system, (_, one) in found.items()},
    )
    ledger = add(files.read_jsonl(paths.ledger, Seen, missing_ok=True), line)
    files.write_jsonl(paths.ledger, ledger)
    files.write_jsonl(paths.seen, [one for one in ledger if one.holdout == line.holdout])


if __name__ == "__main__":
    run(main)
