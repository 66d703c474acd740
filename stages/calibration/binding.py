"""The frozen threshold: one row of a sweep, bound to exactly what it was measured on, and sealed.

A threshold is a number about one system, index, development set and weight. Anywhere else it is an accident. So it
carries the hashes of all of them, and whoever uses it compares them with what is there now.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from stages.calibration.bykind import ANY, thresholds
from stages.calibration.gate import decide
from stages.calibration.sweep import Row
from stages.errors import StaleThresholdError
from stages.hashing import hash_of, sha256
from stages.params import CalibrateParams
from stages.records import Answered, Scored, TopKind

RULE = "least weighted_error = fn + fp_weight * fp, then higher answer_f1, then higher threshold"
_LEXICAL = ("stages/corpus", "stages/retrieval", "stages/answering", "stages/assemble.py", "stages/records.py")
_NEURAL = (*_LEXICAL, "stages/encoder")
SCORING_SOURCES: Mapping[str, tuple[str, ...]] = {"lexical": _LEXICAL, "neural": _NEURAL, "hybrid": _NEURAL}
SCORING_PARAMS: Mapping[str, tuple[str, ...]] = {
    "lexical": ("index", "retrieval"),
    "neural": ("index", "encoder", "neighbours", "retrieval"),
    "hybrid": ("index", "encoder", "neighbours", "retrieval"),
}
REMEDY = "dvc repro -f --no-run-cache freeze_threshold"
ANSWER_REMEDY = "dvc repro -f --no-run-cache answer_holdout"


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep was made of, without a label: `dev_set` hashes texts and labels, `dev_records` the records file."""

    system: str
    dev_set: str
    dev_records: str


@dataclass(frozen=True, slots=True)
class Binding:
    """What a threshold was measured on: sha256 hashes, None where the system has no such part.

    model, checkpoint, dimension  the encoder; None, None, None for a system without one.
    snapshot     all originals, as (path, sha256).
    index        index.json.
    dev_set      development texts and labels.
    dev_records  the records that were swept.
    scoring      the params and sources that make the signal.
    """

    model: str | None
    checkpoint: str | None
    dimension: int | None
    snapshot: str
    index: str
    dev_set: str
    dev_records: str
    scoring: str


@dataclass(frozen=True, slots=True)
class DevFigures:
    """How the threshold does on the development set, gate alone."""

    tp: int
    fp: int
    fn: int
    tn: int
    weighted_error: float
    answer_f1: float | None
    n_answerable: int
    n_unanswerable: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """The sealed record. `seal` is the sha256 of the canonical JSON of everything else.

    by_kind: one threshold for each kind of best candidate, None to refuse all of it; `threshold` is then None.
    """

    system: str
    threshold: float | None
    by_kind: dict[TopKind, float | None] | None
    refuse_all: bool
    fp_weight: float
    rule: str
    binding: Binding
    dev: DevFigures
    seal: str


def scoring_hash(sources: Mapping[str, str], params: Mapping[str, Any]) -> str:
    """Hash of what makes a signal: sha256 of every source by its path, and the params."""
    return hash_of({"sources": sources, "params": params})


def dev_set_hash(questions: bytes, labels: bytes) -> str:
    """Hash of the development texts and labels, as the bytes of their files."""
    return hash_of({"questions": sha256(questions), "labels": sha256(labels)})


def seal_of(threshold: Threshold) -> str:
    """Sha256 over the canonical JSON of all fields but the seal."""
    return hash_of({key: value for key, value in asdict(threshold).items() if key != "seal"})


def bar(threshold: Threshold, top: TopKind | None) -> float | None:
    """The threshold that a record meets, by the kind of its best candidate; None accepts nothing."""
    if threshold.by_kind is None:
        return threshold.threshold
    return None if top is None else threshold.by_kind[top]


def freeze(scored: Scored, rows: Mapping[str, Row], dev_set: str, dev_records: str, fp_weight: Fraction) -> Threshold:
    """Bind the best rows over `scored` (`best_rows`) and seal them. dev_records: sha256 of the file that held it."""
    binding = Binding(
        model=scored.model,
        checkpoint=scored.checkpoint,
        dimension=scored.dimension,
        snapshot=scored.snapshot,
        index=scored.index,
        dev_set=dev_set,
        dev_records=dev_records,
        scoring=scored.scoring,
    )
    return sealed(
        Threshold(
            system=scored.system,
            threshold=rows[ANY].threshold if ANY in rows else None,
            by_kind=thresholds(rows),
            refuse_all=all(row.refuse_all for row in rows.values()),
            fp_weight=float(fp_weight),
            rule=RULE,
            binding=binding,
            dev=_figures(rows.values()),
            seal="",
        )
    )


def _figures(rows: Collection[Row]) -> DevFigures:
    tp, fp, fn, tn = (sum(counts) for counts in zip(*((row.tp, row.fp, row.fn, row.tn) for row in rows), strict=True))
    return DevFigures(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        weighted_error=float(sum(row.weighted_error for row in rows)),
        answer_f1=float(Fraction(2 * tp, 2 * tp + fp + fn)) if tp + fp + fn else None,
        n_answerable=tp + fn,
        n_unanswerable=fp + tn,
    )


def sealed(threshold: Threshold) -> Threshold:
    """The same threshold with the seal that its content calls for."""
    return replace(threshold, seal=seal_of(threshold))


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
        "rule": (threshold.rule, RULE),
        **{f"binding.{name}": (bound[name], value) for name, value in found.items()},
    }
    _refuse(system, pairs)


def check_derived(threshold: Threshold, rows: Mapping[str, Row]) -> None:
    """Compare a frozen threshold with the best rows that its bound records and labels give when swept again."""
    single = rows[ANY].threshold if ANY in rows else None
    pairs: dict[str, tuple[object, object]] = {
        "threshold": (threshold.threshold, single),
        "by_kind": (threshold.by_kind, thresholds(rows)),
        "refuse_all": (threshold.refuse_all, all(row.refuse_all for row in rows.values())),
    }
    frozen, derived = asdict(threshold.dev), asdict(_figures(rows.values()))
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
    decided = [decide(record, bar(threshold, record.top)) for record in made.records]
    met = zip_longest(made.records, answered.decisions, decided)
    pairs |= {f"answers.{one.id if one else 'more'}": (was, now) for one, was, now in met if was != now}
    _refuse(threshold.system, pairs, ANSWER_REMEDY)


def _refuse(system: str, pairs: Mapping[str, tuple[object, object]], remedy: str = REMEDY) -> None:
    """Raise StaleThresholdError when some (frozen, found) pair differs."""
    lines = [f"  {name}: frozen {was}, found {now}" for name, (was, now) in pairs.items() if was != now]
    if lines:
        raise StaleThresholdError(
            f"{system}: what is frozen does not belong here; run `{remedy}`:\n" + "\n".join(lines)
        )
