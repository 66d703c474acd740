"""Whether a frozen threshold, and answers made with it, belong to what they meet. The one place that says so."""

from collections.abc import Mapping
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from stages.calibration.bykind import single, thresholds
from stages.calibration.gate import Gate
from stages.calibration.objective import Choice, rule
from stages.calibration.threshold import Threshold, dev_figures, seal_of
from stages.errors import StaleThresholdError
from stages.params import CalibrateParams
from stages.records import Answered, Scored

REMEDY = "run `dvc repro -f --no-run-cache freeze_threshold`"
SCORES_REMEDY = "name model, column and direction as they were, or run `frostline calibrate` on development scores"
ANSWER_REMEDY = "run `dvc repro -f --no-run-cache answer_holdout`"


def check_threshold(threshold: Threshold, system: str, calibrate: CalibrateParams, found: Mapping[str, Any]) -> None:
    """Compare a frozen threshold with what is on disk now.

    found: the binding's fields as they are now; a field that the caller may not open is left out.
    Raises StaleThresholdError listing every mismatch: field, frozen value, found value, and the command that mends it.
    """
    bound = asdict(threshold.binding)
    pairs = {
        "seal": (threshold.seal, seal_of(threshold)),
        "system": (threshold.system, system),
        "fp_weight": (threshold.fp_weight, float(calibrate.fp_weight)),
        "one threshold a kind": (threshold.by_kind is not None, system in calibrate.by_kind),
        "rule": (threshold.rule, rule(calibrate)),
        **{f"binding.{name}": (bound[name], value) for name, value in found.items()},
    }
    _refuse(system, pairs)


def check_seal(threshold: Threshold, system: str) -> None:
    """Compare a frozen threshold with its own seal and with whose it should be, where it is only shown."""
    _refuse(system, {"seal": (threshold.seal, seal_of(threshold)), "system": (threshold.system, system)})


def check_questions(threshold: Threshold, scored: Scored, questions: str) -> None:
    """Compare the questions that the bound records answer with the development questions; by their files' hashes."""
    _refuse(threshold.system, {"dev_records.questions": (scored.questions, questions)})


def check_scores(threshold: Threshold, model: str, scoring: str) -> None:
    """Compare a threshold frozen over another system's scores with whose scores these are (`scoring_words`).

    Raises StaleThresholdError listing every mismatch.
    """
    pairs: dict[str, tuple[object, object]] = {
        "seal": (threshold.seal, seal_of(threshold)),
        "binding.model": (threshold.binding.model, model),
        "binding.scoring": (threshold.binding.scoring, scoring),
        "one threshold a kind": (threshold.by_kind is not None, False),
    }
    _refuse(threshold.system, pairs, SCORES_REMEDY)


def check_derived(threshold: Threshold, choice: Choice) -> None:
    """Compare a frozen threshold with what its bound records and labels give when it is chosen again."""
    rows = choice.rows
    pairs: dict[str, tuple[object, object]] = {
        "threshold": (threshold.threshold, single(rows)),
        "by_kind": (threshold.by_kind, thresholds(rows)),
        "refuse_all": (threshold.refuse_all, all(row.refuse_all for row in rows.values())),
        "certificate": (threshold.certificate, choice.certificate),
    }
    frozen, derived = asdict(threshold.dev), asdict(dev_figures(rows.values()))
    _refuse(threshold.system, pairs | {f"dev.{name}": (frozen[name], derived[name]) for name in frozen})


def check_answers(answered: Answered, threshold: Threshold, found: Mapping[str, str]) -> None:
    """Compare answers with what they must have been made with.

    found: `system`, the hash of all params and sources that answer, and `questions`, of the questions file, as they are
    now. Every decision is taken again from its record.
    """
    bound, made = threshold.binding, answered.scored
    pairs: dict[str, tuple[object, object]] = {
        "answers.threshold": (answered.seal, threshold.seal),
        "answers.system": (made.system, threshold.system),
        "answers.snapshot": (made.snapshot, bound.snapshot),
        "answers.index": (made.index, bound.index),
        "answers.scoring": (made.scoring, bound.scoring),
        "answers.questions": (made.questions, found["questions"]),
        "answers.params_and_sources": (answered.system, found["system"]),
    }
    if answered.seal == threshold.seal:
        gate = Gate(threshold)
        met = zip_longest(answered.decisions, (gate.settle(record) for record in made.records))
        same = sum(was == now for was, now in met)
        pairs["answers.decisions"] = (len(answered.decisions), same)
        pairs["answers.records"] = (len(made.records), same)
    _refuse(threshold.system, pairs, ANSWER_REMEDY)


def _refuse(system: str, pairs: Mapping[str, tuple[object, object]], remedy: str = REMEDY) -> None:
    """Raise StaleThresholdError when some (frozen, found) pair differs."""
    lines = [f"  {name}: frozen {was}, found {now}" for name, (was, now) in pairs.items() if was != now]
    if lines:
        raise StaleThresholdError(f"{system}: what is frozen does not belong here; {remedy}:\n" + "\n".join(lines))
