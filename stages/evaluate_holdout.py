"""Stage: the holdout answers meet their labels: one line a question, the numbers, and a line in the ledger.

Refuses a stale threshold like `answer_holdout` (exit status 3); it may open labels, so it also hashes the development
set itself and derives the threshold again from the bound records.
"""

from argparse import Namespace
from fractions import Fraction
from typing import Any

from stages import artifacts, files, settings
from stages.assemble import (
    checked_answers,
    current_system,
    every,
    exact_neighbours,
    read_answerable,
    verified_citations,
)
from stages.calibration.ledger import Seen, add, holdout_hash, result
from stages.calibration.threshold import Threshold
from stages.measures.compared import comparisons, shifts
from stages.measures.encoder import encoder_metrics
from stages.measures.evaluate import aggregate, judge_all
from stages.measures.holdout import Evaluated, borrowed, optimism
from stages.measures.intervals import with_intervals
from stages.measures.perquestion import query_rows
from stages.measures.rate import rate
from stages.measures.relevance import what_is_indexed
from stages.measures.units import units_of
from stages.originals import read_index
from stages.params import CalibrateParams, DatasetCard, load_section, load_systems, of_params
from stages.records import Answered, Label, Question
from stages.retrieval.neighbours import recall
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = (
    *("dataset", "corpus", "index", "checkpoint", "vectors", "embedding"),
    *("dev_questions", "dev_labels", "records", "threshold"),
    *("questions", "labels", "holdout", "metrics", "ledger", "seen"),
)


def evaluate(
    paths: Namespace, frozen: Threshold, answered: Answered, labels: list[Label], weight: Fraction
) -> Evaluated:
    """Judge one system's answers, write its queries.json."""
    records = answered.scored.records
    verified = verified_citations(paths.corpus, records)
    judged = judge_all(records, labels, what_is_indexed(read_index(paths.index)), verified, progress)
    rows = query_rows(records, answered.decisions, {label.id: label for label in labels}, judged)
    files.write_rows(
        files.in_system(paths.holdout, frozen.system, "queries.json"), {"system": frozen.system, "queries": rows}
    )
    figures = aggregate(judged, answered.decisions, weight)
    errors = {
        "dev_weighted_error": frozen.dev.weighted_error,
        "holdout_weighted_error": figures["gate"]["weighted_error"],
        "optimism": optimism(frozen, judged, weight),
    }
    figures |= {"threshold": {"value": frozen.threshold, "by_kind": frozen.by_kind} | errors}
    return Evaluated(frozen, judged, answered.decisions, figures)


def inferred(
    paths: Namespace, found: dict[str, Evaluated], labels: list[Label], group_by: str | None, weight: Fraction
) -> dict[str, Any]:
    """What independent draws allow: systems compared, by whole groups where questions hang together.

    Where they do not, each question is a draw, which intervals of a rate and a two-sample test need: these too.
    """
    compared = {"comparisons": comparisons(found, units_of(labels, group_by), weight)}
    if group_by is not None:
        return {system: dict(one.figures) for system, one in found.items()} | compared
    scored = {system: artifacts.read_scored(paths.records, system) for system in found}
    known = {
        system: zip((row.signal for row in one.records), read_answerable(paths, one), strict=True)
        for system, one in scored.items()
    }
    moved = shifts(known, found)
    systems = {system: with_intervals(one.figures) | {"shift": moved[system]} for system, one in found.items()}
    return systems | compared


def encoder_figures(paths: Namespace, questions: list[Question], labels: list[Label]) -> dict[str, Any]:
    """How the encoder pairs the contract's phrases with their images, and how much of exact search HNSW found.

    An image that was left out of the index has no vector, and its phrase no part in this.
    """
    asked = {question.id: question.text for question in questions}
    exact = exact_neighbours(paths, read_index(paths.index))
    pairs = [label for label in labels if label.contract and label.category == "image"]
    pairs = [label for label in pairs if label.expected_image in exact.rows]
    paired = encoder_metrics(
        [exact.vectors[exact.rows[label.expected_image or ""]] for label in pairs],
        [exact.embed(asked[label.id]) for label in pairs],
        [label.split == "heldout" for label in pairs],
    )
    answered = artifacts.read_answered(paths.holdout, "neural")
    found = [record.rank_lists["neural"] for record in answered.scored.records]
    wanted = [
        exact.nearest(exact.embed(asked[record.id]), len(record.rank_lists["neural"]))
        for record in answered.scored.records
    ]
    return paired | rate("hnsw_recall", *recall(wanted, found))


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write <system>/queries.json, metrics.json, the ledger, and from it who has seen this holdout.

    `system` in metrics.json is the hash that the ledger knows these figures by.
    """
    questions, labels = files.read_questions(paths.questions), files.read_labels(paths.labels)
    systems = load_systems(params)
    before = files.hash_file(paths.checkpoint) if "neural" in systems else None
    checked = every(systems, lambda system: checked_answers(params, paths, system))
    card = load_section(DatasetCard, paths.dataset, settings.read_yaml(paths.dataset))
    weight = of_params(CalibrateParams, "calibrate", params).weight
    found = {system: evaluate(paths, *pair, labels, weight) for system, pair in checked.items()}
    figures: dict[str, Any] = {system: dict(one.figures) for system, one in found.items()}
    if card.independent_draws:
        figures = inferred(paths, found, labels, card.group_by, weight)
    for system, costs in borrowed(found, weight).items():
        figures[system]["borrowed"] = costs
    if "neural" in found:
        figures["encoder"] = encoder_figures(paths, questions, labels)
        figures["checkpoint_unchanged"] = files.hash_file(paths.checkpoint) == before
    line = Seen(
        holdout=holdout_hash(questions, labels),
        contract=holdout_hash(questions, [label for label in labels if label.contract]),
        system=current_system(params, {system: frozen.seal for system, (frozen, _) in checked.items()}),
        results={system: result(one.figures["threshold"]) for system, one in found.items()},
    )
    ledger = files.update_jsonl(paths.ledger, Seen, lambda seen: add(seen, line))
    files.write_json(paths.metrics, figures | {"system": line.system})
    files.write_jsonl(paths.seen, [one for one in ledger if one.holdout == line.holdout])


if __name__ == "__main__":
    run_stage("evaluate_holdout", __doc__, PATHS, main)
