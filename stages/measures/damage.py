"""What becomes of image questions when the images are damaged: answered rightly, confidently mistaken, or refused."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal, NamedTuple

from stages.calibration.gate import Gate, accepts
from stages.measures.evaluate import judge, outcome
from stages.measures.ranking import hit_at
from stages.measures.rate import rate
from stages.measures.relevance import Indexed
from stages.measures.table import aligned
from stages.records import Label, Question, Record
from stages.variations import STRENGTHS

Became = Literal["answered_right", "answered_wrong", "refused"]
OUTCOMES: tuple[Became, ...] = ("answered_right", "answered_wrong", "refused")
CLEAN = "clean"
Asked = Sequence[tuple[Question, Label]]


class Condition(NamedTuple):
    """One change at one strength; `clean` at None is none."""

    change: str
    strength: int | None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.change if self.strength is None else f"{self.change}-{self.strength}"


def conditions(changes: Mapping[str, Sequence[int]]) -> list[Condition]:
    """The clean one first, then every change at each strength, in the order of STRENGTHS: that of a mapping is none."""
    damaged = (Condition(name, one) for name in STRENGTHS for one in changes.get(name, ()))
    return [Condition(CLEAN, None), *damaged]


@dataclass(frozen=True, slots=True)
class Case:
    """One question under one condition: a row of cases.csv.

    got        what was answered, or would have been: an image, or a verbatim value or passage.
    threshold  the one that the signal met, by the kind of the best candidate; None refuses everything.
    rank       of the first right image after reranking; None when the pool holds none.
    """

    change: str
    strength: int | None
    system: str
    id: str
    outcome: Became
    reason: str | None
    got: str | None
    signal: float | None
    threshold: float | None
    rank: int | None


def cases_of(
    condition: Condition,
    system: str,
    records: Sequence[Record],
    asked: Asked,
    indexed: Indexed,
    gate: Gate,
) -> list[Case]:
    """What became of each question under one condition; `records` in the order of `asked`.

    indexed: the clean index. A label means the clean image: another one is not right for having become the
    same under damage.
    """
    return [
        _case(condition, system, record, label, indexed, gate)
        for record, (_, label) in zip(records, asked, strict=True)
    ]


def _case(condition: Condition, system: str, record: Record, label: Label, indexed: Indexed, gate: Gate) -> Case:
    judged, decision = judge(record, label, indexed, verified=False), gate.settle(record)
    found = outcome(judged, decision)
    return Case(
        change=condition.change,
        strength=condition.strength,
        system=system,
        id=record.id,
        outcome="refused" if found.refused else "answered_right" if found.correct else "answered_wrong",
        reason=decision.reason,
        got=record.image or record.answer,
        signal=record.signal,
        threshold=decision.threshold,
        rank=judged.rank_after,
    )


@dataclass(frozen=True, slots=True)
class Effect:
    """One system under one condition, over n image questions; each rate with its counts.

    reasons  of refusals, by number.
    margin   mean of signal less threshold, over the questions that have both.
    above    share of the questions whose signal passes the gate, whatever the support check says.
    """

    change: str
    strength: int | None
    system: str
    n: int
    answered_right: int
    answered_wrong: int
    refused: int
    reasons: dict[str, int]
    hit_at_1: float | None
    hit_at_1_of: tuple[int, int]
    hit_at_5: float | None
    hit_at_5_of: tuple[int, int]
    margin: float | None
    margin_of: tuple[float, int]
    above: float | None
    above_of: tuple[int, int]


def effect(condition: Condition, system: str, cases: Sequence[Case]) -> Effect:
    """Sum up the cases of one system under one condition."""
    ranks, became = [one.rank for one in cases], Counter(one.outcome for one in cases)
    both = [(one.signal, one.threshold) for one in cases if one.signal is not None and one.threshold is not None]
    rates = {
        **hit_at(ranks, 1),
        **hit_at(ranks, 5),
        **rate("margin", sum((Fraction(signal) - Fraction(bar) for signal, bar in both), Fraction(0)), len(both)),
        **rate("above", sum(accepts(one.signal, one.threshold) for one in cases), len(cases)),
    }
    found: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in rates.items()}
    return Effect(
        change=condition.change,
        strength=condition.strength,
        system=system,
        n=len(cases),
        answered_right=became["answered_right"],
        answered_wrong=became["answered_wrong"],
        refused=became["refused"],
        reasons=dict(sorted(Counter(one.reason for one in cases if one.reason).items())),
        **found,
    )


class Point(NamedTuple):
    """A row of curves.csv: a system at a strength of a change, clean images at the one that changes nothing."""

    change: str
    strength: int
    system: str
    questions: int
    answered_right: int
    answered_wrong: int
    refused: int
    hit_at_1: float | None
    hit_at_5: float | None
    above_threshold: float | None
    margin: float | None


def curves(effects: Sequence[Effect]) -> list[Point]:
    """The curves: by change and system, in the order of `effects`, each by rising strength."""
    changes = dict.fromkeys(one.change for one in effects if one.change != CLEAN)
    systems = list(dict.fromkeys(one.system for one in effects))
    points = [_point(change, one) for change in changes for one in effects if one.change in (change, CLEAN)]
    places = {change: place for place, change in enumerate(changes)}
    return sorted(points, key=lambda one: (places[one.change], systems.index(one.system), one.strength))


def _point(change: str, found: Effect) -> Point:
    return Point(
        change=change,
        strength=STRENGTHS[change].none if found.strength is None else found.strength,
        system=found.system,
        questions=found.n,
        answered_right=found.answered_right,
        answered_wrong=found.answered_wrong,
        refused=found.refused,
        hit_at_1=found.hit_at_1,
        hit_at_5=found.hit_at_5,
        above_threshold=found.above,
        margin=found.margin,
    )


def damage_table(effects: Sequence[Effect]) -> str:
    """By change, over all its strengths: questions answered rightly / wrongly / refused, a column a system."""
    counts: dict[str, dict[str, Counter[Became]]] = {}
    for one in effects:
        found = counts.setdefault(one.change, {}).setdefault(one.system, Counter())
        found.update({name: getattr(one, name) for name in OUTCOMES})
    systems = list(dict.fromkeys(one.system for one in effects))
    rows = [[change, *(_counted(found[name]) for name in systems)] for change, found in counts.items()]
    return aligned([["right/mistaken/refused", *systems], *rows])


def _counted(found: Mapping[Became, int]) -> str:
    return "/".join(str(found[name]) for name in OUTCOMES)


@dataclass(frozen=True, slots=True)
class Perturbed:
    """results.json of perturb_images.

    checkpoint  sha256 of the encoder's file, the same before the first image was damaged and after the last; None
                without an encoder.
    effects     the clean ones first; none where the index has no image, or nobody asks about one.
    texts       of the questions that `mistaken` and `shown` name, by id; expected: the right image.
    mistaken    every case that was answered, and wrongly.
    shown       the cases of the one question whose image stands in the report: the first, in the order of its file,
                that every system answers rightly about the clean images, else the first of all.
    """

    checkpoint: str | None
    effects: tuple[Effect, ...]
    texts: dict[str, str]
    expected: dict[str, str]
    mistaken: tuple[Case, ...]
    shown: tuple[Case, ...]


def summary(cases: Sequence[Case], asked: Asked, checkpoint: str | None) -> Perturbed:
    """Sum up all cases, which come condition by condition and system by system."""
    groups = groupby(cases, key=lambda one: (Condition(one.change, one.strength), one.system))
    mistaken = tuple(one for one in cases if one.outcome == "answered_wrong")
    shown = _chosen(cases)
    named = {one.id for one in mistaken} | {shown}
    return Perturbed(
        checkpoint=checkpoint,
        effects=tuple(effect(condition, system, list(found)) for (condition, system), found in groups),
        texts={question.id: question.text for question, _ in asked if question.id in named},
        expected={label.id: label.expected_image or "" for _, label in asked if label.id in named},
        mistaken=mistaken,
        shown=tuple(one for one in cases if one.id == shown),
    )


def damage_findings(found: Perturbed) -> Iterator[str]:
    """What is wrong with results.json by itself."""
    known = dict.fromkeys((one.change, one.strength, one.system) for one in found.effects)
    for change, strength, _ in known:
        if change not in (CLEAN, *STRENGTHS) or (change == CLEAN) != (strength is None):
            yield f"effects: {change} {strength}: no change at a strength"
    shown = dict.fromkeys((one.change, one.strength, one.system) for one in found.shown)
    yield from (f"shown: {one[0]} {one[1]}, {one[2]}: no such effect" for one in shown if one not in known)
    if len({one.id for one in found.shown}) > 1:
        yield "shown: several questions"
    named = {one.id for one in (*found.mistaken, *found.shown)}
    lacking = sorted(named - (found.texts.keys() & found.expected.keys()))
    yield from (f"{name}: no text or no right image" for name in lacking)


def _chosen(cases: Iterable[Case]) -> str | None:
    """The first question that every system answers rightly about the clean images, else the first of all."""
    clean: dict[str, set[Became]] = {}
    for one in cases:
        if one.change == CLEAN:
            clean.setdefault(one.id, set()).add(one.outcome)
    right = (name for name, became in clean.items() if became == {"answered_right"})
    return next(right, next(iter(clean), None))
