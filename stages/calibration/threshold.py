"""The frozen threshold: one row of a sweep, bound to exactly what it was measured on, and sealed.

A threshold is a number about one system, index, development set and weight. Anywhere else it is an accident. So it
carries the hashes of all of them; `stages.calibration.binding` compares them with what is there now.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from stages.calibration.bykind import single, thresholds
from stages.calibration.objective import GOALS, Certificate, Choice, rule
from stages.calibration.sweep import Row
from stages.hashing import hash_of, sha256
from stages.params import CalibrateParams
from stages.records import TOP_KINDS, Scored, TopKind

_LEXICAL = (
    *("stages/corpus", "stages/retrieval", "stages/answering", "stages/calibration/gate.py"),
    *("stages/assemble.py", "stages/arrays.py", "stages/artifacts.py", "stages/atomic.py", "stages/exact.py"),
    *("stages/files.py", "stages/hashing.py", "stages/originals.py", "stages/params.py", "stages/records.py"),
    *("stages/settings.py", "stages/wellformed.py"),
)
_NEURAL = (*_LEXICAL, "stages/encoder")
SCORING_SOURCES: Mapping[str, tuple[str, ...]] = {"lexical": _LEXICAL, "neural": _NEURAL, "hybrid": _NEURAL}
SCORING_PARAMS: Mapping[str, tuple[str, ...]] = {
    "lexical": ("index", "retrieval"),
    "neural": ("index", "encoder", "neighbours", "retrieval"),
    "hybrid": ("index", "encoder", "neighbours", "retrieval"),
}


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
    vectors      vectors.json, which names vectors and HNSW index by hash; None for a system without them.
    dev_set      development texts and labels.
    dev_records  the records that were swept.
    scoring      the params and sources that make the signal.

    Of scores that another system made (`freeze_scores`): `model` is the name that was given; `dev_set` hashes ids and
    labels, `dev_records` the file of scores; `scoring` says in words which column and direction (`scoring_words`).
    """

    model: str | None
    checkpoint: str | None
    dimension: int | None
    snapshot: str | None
    index: str | None
    vectors: str | None
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
    rule: what it was chosen for (`stages.calibration.objective`); certificate: what that promises, None for nothing.
    """

    system: str
    threshold: float | None
    by_kind: dict[TopKind, float | None] | None
    refuse_all: bool
    fp_weight: float
    rule: str
    certificate: Certificate | None
    binding: Binding
    dev: DevFigures
    seal: str


def threshold_findings(threshold: Threshold) -> Iterator[str]:
    """What is wrong with a threshold by itself, its seal left out."""
    by_kind, dev = threshold.by_kind, threshold.dev
    bars = [threshold.threshold, *(by_kind or {}).values()]
    rules = {
        "by_kind: expected null, or a threshold for each of image and text and null as threshold": by_kind is None
        or (by_kind.keys() == set(TOP_KINDS) and threshold.threshold is None),
        "refuse_all: true where every threshold is null, and nowhere else": threshold.refuse_all
        == all(bar is None for bar in bars),
        "fp_weight: expected a number above 0": threshold.fp_weight > 0,
        "dev: expected counts that add up": min(dev.tp, dev.fp, dev.fn, dev.tn) >= 0
        and (dev.n_answerable, dev.n_unanswerable) == (dev.tp + dev.fn, dev.fp + dev.tn),
        "certificate: expected a known objective, counts, and a bound or why not": _is_sound(threshold.certificate),
    }
    yield from (text for text, holds in rules.items() if not holds)


def _is_sound(one: Certificate | None) -> bool:
    if one is None:
        return True
    promised = one.objective in GOALS and 0 < one.alpha < 1 and 0 < one.delta < 1
    return promised and 0 <= one.errors <= one.trials and (one.bound is None) == (one.why_not is not None)


def scoring_hash(sources: Mapping[str, str], params: Mapping[str, Any]) -> str:
    """Hash of what makes a signal: sha256 of every source by its path, and the params."""
    return hash_of({"sources": sources, "params": params})


def dev_set_hash(questions: bytes, labels: bytes) -> str:
    """Hash of the development texts and labels, as the bytes of their files."""
    return hash_of({"questions": sha256(questions), "labels": sha256(labels)})


def seal_of(threshold: Threshold) -> str:
    """Sha256 over the canonical JSON of all fields but the seal."""
    return hash_of({key: value for key, value in asdict(threshold).items() if key != "seal"})


def freeze(scored: Scored, choice: Choice, dev_set: str, dev_records: str, calibrate: CalibrateParams) -> Threshold:
    """Bind the choice over `scored` (`choose_rows`) and seal it. dev_records: sha256 of the file that held `scored`."""
    binding = Binding(
        model=scored.model,
        checkpoint=scored.checkpoint,
        dimension=scored.dimension,
        snapshot=scored.snapshot,
        index=scored.index,
        vectors=scored.vectors,
        dev_set=dev_set,
        dev_records=dev_records,
        scoring=scored.scoring,
    )
    return _frozen(scored.system, binding, choice, rule(calibrate), calibrate.weight)


def scoring_words(column: str, lower_is_better: bool) -> str:
    """How the scores of another system become signals, "na_prob, lower is better" by their negatives."""
    return f"{column}, {'lower' if lower_is_better else 'higher'} is better"


def freeze_scores(
    model: str, scoring: str, choice: Choice, dev_set: str, dev_records: str, calibrate: CalibrateParams
) -> Threshold:
    """Bind the choice over the scores that another system made (`choose_row`), and seal it; see `Binding`."""
    binding = Binding(
        model=model,
        checkpoint=None,
        dimension=None,
        snapshot=None,
        index=None,
        vectors=None,
        dev_set=dev_set,
        dev_records=dev_records,
        scoring=scoring,
    )
    return _frozen(model, binding, choice, rule(calibrate), calibrate.weight)


def at_weight(frozen: Threshold, rows: Mapping[str, Row], fp_weight: Fraction) -> Threshold:
    """The threshold that would be frozen at another weight, bound to the same; `rows` are the best ones there.

    `frozen` is one of the least weighted error: under another objective the weight decides nothing.
    """
    return _frozen(frozen.system, frozen.binding, Choice(dict(rows), None), frozen.rule, fp_weight)


def _frozen(system: str, binding: Binding, choice: Choice, rule: str, fp_weight: Fraction) -> Threshold:
    rows = choice.rows
    return sealed(
        Threshold(
            system=system,
            threshold=single(rows),
            by_kind=thresholds(rows),
            refuse_all=all(row.refuse_all for row in rows.values()),
            fp_weight=float(fp_weight),
            rule=rule,
            certificate=choice.certificate,
            binding=binding,
            dev=dev_figures(rows.values()),
            seal="",
        )
    )


def dev_figures(rows: Collection[Row]) -> DevFigures:
    """The figures of the rows that were chosen, one or one a kind, together."""
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
