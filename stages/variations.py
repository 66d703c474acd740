"""What is asked again, as params.yaml declares it: damage to images, and one factor at a time changed.

None of it decides an answer of the base run, so it stands apart from `stages.params`, which the ledger hashes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from stages.errors import BadInputError
from stages.params import (
    ContextParams,
    IndexParams,
    NeighboursParams,
    RetrievalParams,
    SupportParams,
    load_section,
    ranged,
    typed,
)


class Strength(NamedTuple):
    """What the strength of a change counts: the one that changes nothing, the range, the step, the unit."""

    none: int
    low: int
    high: int
    unit: str
    step: int = 1


STRENGTHS: Mapping[str, Strength] = {
    "brightness": Strength(100, 0, 1000, "% of each level"),
    "contrast": Strength(100, 0, 1000, "% of the distance from the middle"),
    "hue": Strength(0, 0, 359, "degrees"),
    "noise": Strength(0, 0, 255, "levels, standard deviation"),
    "blur": Strength(0, 0, 100, "pixels, radius of three box means"),
    "quantisation": Strength(0, 0, 1000, "levels, step of a coefficient of 8 x 8 pixels"),
    "downscale": Strength(1, 1, 100, "pixels to one"),
    "rotation": Strength(0, 0, 355, "degrees clockwise", 5),
    "translation": Strength(0, 0, 99, "% of height and width"),
    "crop": Strength(0, 0, 49, "% at each edge"),
    "occlusion": Strength(0, 0, 100, "% of the shorter side"),
    "background": Strength(0, 0, 100, "% of the way to the opposite"),
    "inversion": Strength(0, 0, 100, "% of the way to the opposite"),
}
"""The changes of `stages.perturbation.changes`, by name."""


@dataclass(frozen=True)
class PerturbationParams:
    """How images are damaged: the strengths of each change (STRENGTHS), and the `seed` of noise and occlusion."""

    seed: int = ranged(int, 0)
    changes: Mapping[str, list[int]] = typed(dict)

    def __post_init__(self) -> None:
        """Refuse unknown changes and strengths that are none, all at once."""
        findings = [text for name, found in self.changes.items() for text in _strength_findings(name, found)]
        if findings:
            raise BadInputError("\n".join(f"perturbation.changes.{text}" for text in findings))


def _strength_findings(name: str, found: object) -> Iterator[str]:
    rule = STRENGTHS.get(name)
    if rule is None:
        yield f"{name}: unknown change (known: {', '.join(STRENGTHS)})"
    elif not isinstance(found, list) or not found or len(set(map(str, found))) < len(found):
        yield f"{name}: expected a list of distinct strengths, got {found!r}"
    else:
        expected = f"a whole number from {rule.low} to {rule.high}, other than {rule.none}, which changes nothing"
        multiple = f", and a multiple of {rule.step}" * (rule.step > 1)
        wrong = [one for one in found if not _is_strength(one, rule)]
        yield from (f"{name}: expected {expected}{multiple}; got {one!r}" for one in wrong)


def _is_strength(one: object, rule: Strength) -> bool:
    whole = isinstance(one, int) and not isinstance(one, bool)
    return whole and rule.low <= one <= rule.high and one != rule.none and one % rule.step == 0  # type: ignore[operator]


@dataclass(frozen=True)
class SwitchParams:
    """Parts that an ablation may switch off and nothing else: a params.yaml could not.

    Whoever answers without support or gate has no frozen threshold to answer for, and an index without descriptions or
    an encoder that was kept from some captions is no variant that anybody would evaluate; so these are no sections of
    params.yaml. `captions_alike`: the captions of images that have colour and shape of one without a caption.
    """

    support: bool = typed(bool)
    gate: bool = typed(bool)
    descriptions: bool = typed(bool)
    captions_alike: bool = typed(bool)


SWITCH = "switch"
SWITCHES = dict.fromkeys((item.name for item in fields(SwitchParams)), True)
"""All on: the base run."""
FACTORS: Mapping[str, Any] = {
    "index": IndexParams,
    "neighbours": NeighboursParams,
    "retrieval": RetrievalParams,
    "context": ContextParams,
    "support": SupportParams,
    SWITCH: SwitchParams,
}
"""Sections of which an ablation may change one key."""


class Ablation(NamedTuple):
    """One factor changed: `params` are those of the base run but for `factor`, a section and a key of it.

    base, value  what it is there, and here.
    """

    name: str
    factor: str
    base: Any
    value: Any
    params: dict[str, Any]


def load_ablations(raw: Mapping[str, Any]) -> list[Ablation]:
    """The ablations of params.yaml by name; each changes exactly one factor.

    One whose value the base run has already changes nothing, which is no error: `dvc exp run -S` may make it so.
    Raises BadInputError with every finding.
    """
    listed = raw.get("ablations")
    if not isinstance(listed, dict):
        raise BadInputError(f"params.yaml: ablations: expected a mapping, got {listed!r}")
    found, findings = [], []
    for name, changed in sorted(listed.items()):
        try:
            found.append(_ablation(name, changed, raw))
        except BadInputError as error:
            findings += [f"params.yaml: ablations.{name}: {line}" for line in str(error).splitlines()]
    if findings:
        raise BadInputError("\n".join(findings))
    return found


def _ablation(name: str, changed: object, raw: Mapping[str, Any]) -> Ablation:
    if not isinstance(changed, dict) or not changed:
        raise BadInputError(f"expected one factor, as retrieval.rerank: false, got {changed!r}")
    if len(changed) > 1:
        raise BadInputError(f"changes {len(changed)} factors, {', '.join(map(str, changed))}; one at a time")
    ((factor, value),) = changed.items()
    section, _, key = str(factor).partition(".")
    if section not in FACTORS:
        raise BadInputError(f"{factor}: no factor (known sections: {', '.join(FACTORS)})")
    base = SWITCHES if section == SWITCH else raw.get(section)
    if not isinstance(base, dict) or key not in base:
        raise BadInputError(f"{factor}: not in the base run; name a key that {section} has")
    new = {**base, key: value}
    load_section(FACTORS[section], section, new)
    return Ablation(name, str(factor), base[key], value, {**raw, SWITCH: SWITCHES, section: new})
