"""What came out, as those read it who may know the answers: judged questions, and figures.

Of their kind, and sound by themselves; whether they belong together, `stages.chain` says by hash.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import msgspec

from stages.files import of_system, read_json, read_jsonl, refuse_made
from stages.measures.evaluate import Judged, aggregate
from stages.measures.evidence import CauseName
from stages.measures.intervals import with_intervals
from stages.params import SYSTEMS
from stages.records import REASONS, UNANSWERABLE_KINDS, Record
from stages.wellformed import repeated

Interval = tuple[float, float] | None
Pair = tuple[int, int]


class Flat(TypedDict):
    """A flat optimum (`stages.measures.stability`)."""

    low: float | None
    high: float | None
    width: float | None


class Quantiles(TypedDict):
    """Of resamples, at 5, 50 and 95 %."""

    p5: float
    p50: float
    p95: float


class Chosen(TypedDict):
    """What resamples chose as a threshold."""

    quantiles: Quantiles | None
    refuse_all: int


class Spread(TypedDict):
    """How far resamples of the development set lie apart."""

    resamples: int
    units: int
    thresholds: dict[str, Chosen]
    weighted_error: Quantiles


class ByKind(TypedDict):
    """The threshold of each kind of best candidate."""

    image: float | None
    text: float | None


class Bar(TypedDict):
    """The part `threshold` of a system's figures."""

    value: float | None
    by_kind: ByKind | None
    dev_weighted_error: NotRequired[float]
    holdout_weighted_error: NotRequired[float]
    optimism: NotRequired[float | None]
    flat: NotRequired[dict[str, Flat]]
    spread: NotRequired[Spread]


class Cost(TypedDict):
    """What the threshold of another system would have cost."""

    weighted_error: float
    difference: float


class Moved(TypedDict):
    """A two-sample test, dev against holdout."""

    n: Pair
    statistic: float
    direction: str
    p: float
    p_holm: float


class Compared(TypedDict):
    """A pair of systems, by one measure."""

    difference: float | None
    ci95: Interval
    p: float | None
    p_holm: float | None


class Right(TypedDict):
    """How many of how many."""

    correct: int
    total: int


class Encoder(TypedDict):
    """The encoder's part of metrics.json."""

    image_to_text: dict[str, Right]
    text_to_image: dict[str, Right]
    hnsw_recall_of: Pair


class OfCause(TypedDict):
    """The wrong decisions of one cause (`stages.measures.attribution`)."""

    questions: int
    weighted_error: float
    details: dict[str, int]


class OfSystem(TypedDict):
    """What a system's figures hold beside what `aggregate` gives, and of that what is named by the data."""

    threshold: Bar
    causes: dict[CauseName, OfCause]
    borrowed: NotRequired[dict[str, Cost]]
    shift: NotRequired[dict[str, Moved | None]]


class OfAll(TypedDict):
    """What metrics.json holds beside the systems."""

    system: NotRequired[str]
    encoder: NotRequired[Encoder]
    comparisons: NotRequired[dict[str, dict[str, Compared]]]


def read_figures(path: str | Path, systems: Sequence[str] = (), *, intervals: bool = False) -> dict[str, Any]:
    """Read metrics.json or dev_metrics.json with every figure that is printed or shown.

    Raises BadInputError where one of `systems`, or any system at all, is missing, and for each figure that is missing
    or none. intervals: every share has its interval beside it.
    """
    figures = read_json(path, dict[str, Any])
    known = [name for name in SYSTEMS if name in figures]
    lacking = [name for name in systems if name not in known] or ([] if known else ["any system"])
    refuse_made(path, (f"no figures for {name}" for name in lacking))
    model = aggregate((), (), Fraction(1))
    wanted = with_intervals(model) if intervals else model
    refuse_made(path, (text for name in known for text in _unlike(figures[name], wanted, name)))
    refuse_made(path, (text for name in known for text in _unfit(figures[name], OfSystem, name)))
    refuse_made(path, _unfit(figures, OfAll, "beside the systems"))
    return figures


def _unlike(found: object, model: object, place: str) -> Iterator[str]:
    """Where `found` lacks what `model` has, or has another kind of value; None stands for a number or null."""
    if isinstance(model, dict) and isinstance(found, dict):
        yield from (f"{place}.{name}: missing" for name in model if name not in found)
        for name in model.keys() & found.keys():
            yield from _unlike(found[name], model[name], f"{place}.{name}")
    elif isinstance(model, list) and isinstance(found, list) and len(found) == len(model):
        for number, (one, like) in enumerate(zip(found, model, strict=True)):
            yield from _unlike(one, like, f"{place}.{number}")
    elif model is None and place.endswith("_ci95") and isinstance(found, list):
        yield from _unlike(found, [0, 0], place)
    elif not _is_like(found, model):
        yield f"{place}: expected {'a number' if model is None else type(model).__name__}, got {type(found).__name__}"


def _is_like(found: object, model: object) -> bool:
    number = isinstance(found, int | float) and not isinstance(found, bool)
    if model is None:
        return found is None or number
    return number if type(model) in (int, float) else type(found) is type(model) and not isinstance(model, list)


def _unfit(found: object, kind: Any, place: str) -> Iterator[str]:
    """Where optional parts are of another kind than declared."""
    try:
        msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        yield f"{place}: {error}"


def read_judged(folder: str | Path, system: str) -> list[Judged]:
    """Read the judged development questions of a system."""
    path = of_system(folder, system, ".jsonl")
    judged = read_jsonl(path, Judged)
    refuse_made(path, (f"{name}: stands there twice" for name in repeated(one.id for one in judged)))
    refuse_made(path, (f"{one.id}: {text}" for one in judged for text in _judged_findings(one)))
    return judged


def _judged_findings(one: Judged) -> Iterator[str]:
    kinds = (None,) if one.answerable else UNANSWERABLE_KINDS
    ranks = [rank for rank in (one.rank_before, one.rank_after) if rank is not None]
    rules = {
        "kind: only an unanswerable question has one, and needs it": one.kind in kinds,
        "signal, top: both are there, or neither": (one.signal is None) == (one.top is None),
        "refusal: none with support, else a known reason": one.refusal in ((None,) if one.support else REASONS),
        "ranks begin at 1": min(ranks, default=1) >= 1,
        "lost: the answer to an answerable question has one, or is right": (one.lost is not None)
        == (one.answerable and not one.correct_if_accepted),
        "context: expected counts": min(msgspec.to_builtins(one.context).values()) >= 0,
    }
    yield from (text for text, holds in rules.items() if not holds)


def refuse_others(folder: str | Path, system: str, judged: Sequence[Judged], records: Sequence[Record]) -> None:
    """Raise BadInputError where judged questions are not those of the records: the same, in the same order."""

    def told(one: Judged | Record) -> tuple[Any, ...]:
        return one.id, one.top, one.signal, one.support, one.refusal

    path, same = of_system(folder, system, ".jsonl"), list(map(told, judged)) == list(map(told, records))
    refuse_made(path, [] if same else [f"not judged from {system}'s records"])
