"""Typed parameters: what `params.yaml` may say, with types and ranges; anything else is an error that shows it."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from stages.errors import BadInputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SYSTEMS = ("lexical", "neural", "hybrid")
SECTIONS = (
    "dataset",
    "holdout",
    "systems",
    "index",
    "encoder",
    "neighbours",
    "retrieval",
    "context",
    "support",
    "calibrate",
    "perturbation",
    "ablations",
)
LARGEST = 10**9
UNQUOTABLE = frozenset('"$`\\\n')
"""What a shell reads between double quotes, where dvc.yaml has the dataset's folder."""
Objective: TypeAlias = Literal["weighted_error", "max_false_accept", "max_selective_risk"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
Section = TypeVar("Section", bound="DataclassInstance")


def ranged(kind: type, low: float, high: float = LARGEST, *, above: bool = False, default: Any = MISSING) -> Any:
    """Declare a numeric parameter in [low, high], or in (low, high] with `above`."""
    return field(default=default, metadata={"kind": kind, "low": low, "high": high, "above": above})


def typed(kind: Any) -> Any:
    """Declare a parameter of another type."""
    return field(metadata={"kind": kind})


def _choice(*values: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"kind": str, "choices": values})


@dataclass(frozen=True)
class IndexParams:
    """`max_pixels` per PNG; `chunk_tokens` and `chunk_overlap` in approximate tokens (stages.corpus.tokens).

    `on_bad_file`: an original that cannot be used is an error, or is left out and listed in rejected.json.
    """

    max_pixels: int = ranged(int, 1)
    chunk_tokens: int = ranged(int, 1)
    chunk_overlap: int = ranged(int, 0)
    on_bad_file: Literal["error", "skip"] = _choice("error", "skip", default="error")

    def __post_init__(self) -> None:
        """Refuse an overlap that is no smaller than a chunk."""
        if self.chunk_overlap >= self.chunk_tokens:
            raise BadInputError(
                f"index.chunk_overlap: {self.chunk_overlap} is not below chunk_tokens {self.chunk_tokens}"
            )


@dataclass(frozen=True)
class EncoderParams:
    """How the dual encoder is trained.

    `epochs` at most and `patience` epochs without a lower loss on `stop_share` of the captions; `batch` pairs a step;
    `dropout`: the share of features left out at random in each step.
    """

    dimension: int = ranged(int, 1, 1024)
    epochs: int = ranged(int, 1)
    patience: int = ranged(int, 1)
    stop_share: float = ranged(float, 0, 0.5, above=True)
    batch: int = ranged(int, 2, 4096)
    learning_rate: float = ranged(float, 0, 1, above=True)
    temperature: float = ranged(float, 0.01, 10)
    dropout: float = ranged(float, 0, 0.9)
    seed: int = ranged(int, 0)


@dataclass(frozen=True)
class NeighboursParams:
    """The HNSW index (Malkov & Yashunin 2016): `m` links, `ef_construction` and `ef_search` candidates, a `seed`.

    `exact` searches all vectors instead: the check.
    """

    m: int = ranged(int, 2, 100)
    ef_construction: int = ranged(int, 1)
    ef_search: int = ranged(int, 1)
    seed: int = ranged(int, 0)
    exact: bool = typed(bool)


@dataclass(frozen=True)
class RetrievalParams:
    """`pool` candidates are handed to the reranker (at most a tenth of the entries), `top_k` go on to the context.

    `rrf_k` is the constant of reciprocal rank fusion.
    """

    bm25_k1: float = ranged(float, 0)
    bm25_b: float = ranged(float, 0, 1)
    pool: int = ranged(int, 1)
    top_k: int = ranged(int, 1)
    rrf_k: int = ranged(int, 0)
    rerank: bool = typed(bool)


@dataclass(frozen=True)
class ContextParams:
    """`budget` in `unit`."""

    unit: Literal["tokens", "characters"] = _choice("tokens", "characters")
    budget: int = ranged(int, 1)


@dataclass(frozen=True)
class SupportParams:
    """Idf-weighted shares that make support.

    Of a question, its names apart, that a field, a passage or (for one part of several) any source has to cover; and of
    a field's name that the question has to ask for.
    """

    field_coverage: float = ranged(float, 0, 1)
    passage_coverage: float = ranged(float, 0, 1)
    field_name: float = ranged(float, 0, 1)
    part_coverage: float = ranged(float, 0, 1)


@dataclass(frozen=True)
class CalibrateParams:
    """`fp_weight`: how many false refusals one false accept is worth; 2 and 2.0 are the same weight.

    `by_kind`: the systems that get one threshold for images and one for text.
    `objective`: the least weighted error, or the most answers with a false-accept rate (`max_false_accept`) or a share
    of unanswerable questions among the answered (`max_selective_risk`) certified at most `alpha` with confidence
    1 - `delta`, the latter tested from `min_answers` answers on. See `stages.calibration.certificate`.

    A certified objective takes no `by_kind`: two thresholds would have to share delta (delta / 2 each, a union bound),
    which asks 59 questions of each kind where 45 do for all (alpha 0.05, delta 0.1), and either may fail alone.
    """

    fp_weight: float = ranged(float, 0, above=True)
    by_kind: list[str] = typed(list)
    objective: Objective = _choice(*OBJECTIVES, default="weighted_error")
    alpha: float = ranged(float, 0, 0.99, above=True, default=0.05)
    delta: float = ranged(float, 0, 0.5, above=True, default=0.1)
    min_answers: int = ranged(int, 1, default=100)

    def __post_init__(self) -> None:
        """Refuse what is no system, and thresholds by kind that nothing certifies."""
        unknown = [name for name in self.by_kind if name not in SYSTEMS]
        if unknown:
            raise BadInputError(f"calibrate.by_kind: unknown {unknown} (known: {', '.join(SYSTEMS)})")
        if self.certified and self.by_kind:
            raise BadInputError(
                f"calibrate.by_kind: {self.objective} certifies one threshold, got {self.by_kind}; set it to []"
            )

    @property
    def certified(self) -> bool:
        """True where the objective is a guarantee for new questions."""
        return self.objective != "weighted_error"

    @property
    def weight(self) -> Fraction:
        """The weight as the decimal that was written: 0.1 is 1/10, so that equal costs are equal."""
        return Fraction(repr(self.fp_weight))


@dataclass(frozen=True)
class DatasetCard:
    """dataset.yaml. `independent_draws` says whether the questions are independent draws, so that intervals mean
    something; `group_by` what the dependent ones share."""

    name: str = typed(str)
    languages: list[str] = typed(list)
    independent_draws: bool = typed(bool)
    group_by: str | None = typed(str | None)


def _finding(name: str, value: object, rule: Mapping[str, Any]) -> str | None:
    """Say what is wrong with one value, or None. A bool is no number here although Python says so."""
    kind = rule["kind"]
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    fits = numeric and (kind is float or isinstance(value, int)) if kind in (int, float) else isinstance(value, kind)
    if not fits:
        return f"{name}: expected {getattr(kind, '__name__', kind)}, got {value!r}"
    if "choices" in rule and value not in rule["choices"]:
        return f"{name}: expected one of {', '.join(rule['choices'])}, got {value!r}"
    return _out_of_range(name, value, rule) if numeric and "low" in rule else None


def _out_of_range(name: str, value: Any, rule: Mapping[str, Any]) -> str | None:
    low, high = rule["low"], rule["high"]
    inside = (value > low if rule["above"] else value >= low) and value <= high
    bound = f"above {low}" if rule["above"] else f"at least {low}"
    return None if inside else f"{name}: expected {bound} and at most {high}, got {value!r}"


def load_section(kind: type[Section], name: str, raw: object) -> Section:
    """Build one section of params.yaml (or the card of a dataset) from what YAML gave.

    Raises BadInputError listing every unknown, missing and mistyped key at once.
    """
    if not isinstance(raw, dict):
        raise BadInputError(f"{name}: expected a mapping, got {raw!r}")
    known = {item.name: item for item in fields(kind)}
    findings = [f"{name}.{key}: unknown key (known: {', '.join(known)})" for key in raw if key not in known]
    findings += [f"{name}.{key}: missing" for key in known if key not in raw and known[key].default is MISSING]
    checked = [_finding(f"{name}.{key}", raw[key], known[key].metadata) for key in known if key in raw]
    findings += [text for text in checked if text]
    if findings:
        raise BadInputError("\n".join(findings))
    return kind(**raw)


def of_params(kind: type[Section], name: str, raw: Mapping[str, Any]) -> Section:
    """One section of params.yaml. Raises BadInputError as `load_section`, each finding with the file's name."""
    try:
        return load_section(kind, name, raw.get(name))
    except BadInputError as error:
        raise BadInputError("\n".join(f"params.yaml: {line}" for line in str(error).splitlines())) from error


class Source(NamedTuple):
    """The dataset's folder, and which of its holdouts is evaluated: `queries/<holdout>.jsonl` and its labels."""

    dataset: str
    holdout: str


def load_source(raw: Mapping[str, Any]) -> Source:
    """Where the data lie. Raises BadInputError listing what is missing or no name."""
    findings = []
    dataset = raw.get("dataset")
    if not isinstance(dataset, str) or not dataset:
        findings.append(f"params.yaml: dataset: expected a folder, got {dataset!r}")
    elif UNQUOTABLE & set(dataset) or dataset.startswith("-"):
        findings.append(
            f"params.yaml: dataset: a shell would read {dataset!r} otherwise; rename the folder, without a dash in "
            'front, ", $, ` and \\'
        )
    if not isinstance(raw.get("holdout"), str) or not re.fullmatch(r"[\w-]+", raw["holdout"]):
        findings.append(f"params.yaml: holdout: expected a name like holdout, got {raw.get('holdout')!r}")
    if findings:
        raise BadInputError("\n".join(findings))
    return Source(raw["dataset"], raw["holdout"])


def load_systems(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The systems to run, in the order given. Raises BadInputError for an unknown, repeated or missing one."""
    systems = raw.get("systems")
    if not isinstance(systems, list) or not systems or len(set(map(str, systems))) < len(systems):
        raise BadInputError(f"params.yaml: systems: expected a list of distinct names, got {systems!r}")
    unknown = [name for name in systems if name not in SYSTEMS]
    if unknown:
        raise BadInputError(f"params.yaml: systems: unknown {unknown} (known: {', '.join(SYSTEMS)})")
    return tuple(systems)


def known_system(raw: Mapping[str, Any], system: str | None) -> str:
    """A system of params.yaml, the first when none is named. Raises BadInputError for one that is not there."""
    systems = load_systems(raw)
    if system not in (None, *systems):
        raise BadInputError(f"{system}: no system in params.yaml (systems: {', '.join(systems)})")
    return system or systems[0]
