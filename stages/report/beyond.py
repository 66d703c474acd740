"""What the page says beyond its own questions, where they are independent draws."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stages.records import UNANSWERABLE_KINDS
from stages.report.inputs import Sheet

LEVEL = 0.05
RATES = tuple(f"{side}_{name}" for side in ("answer", "refusal") for name in ("precision", "recall", "f1"))


class Estimate(NamedTuple):
    """A rate of the holdout, k of n, with the ends of its 95 % interval; None without an n."""

    k: int
    n: int
    interval: tuple[float, float] | None

    @property
    def rate(self) -> float | None:
        """The share, None without an n."""
        return self.k / self.n if self.n else None


def estimates(sheets: Sequence[Sheet]) -> dict[str, list[Estimate]]:
    """One row a rate, by its title, with a cell for each of `sheets`."""
    found = [_estimates(sheet.holdout) for sheet in sheets]
    return {title: [one[title] for one in found] for title in found[0]}


def _estimates(holdout: Mapping[str, Any]) -> dict[str, Estimate]:
    parts = {"gate alone": holdout["gate"], "gate and support": holdout["decision"]}
    shares = {f"{title(name)}, {part}": _share(of, name) for part, of in parts.items() for name in RATES}
    kinds = {
        f"refused of {kind}": _count(holdout["answers"]["reasons"]["by_kind"][kind], "refused")
        for kind in UNANSWERABLE_KINDS
    }
    return shares | {"right, refusals included": _count(holdout["answers"], "correct")} | kinds


def title(name: str) -> str:
    """A rate's name in words."""
    return name.replace("_f1", "_F1").replace("_", " ")


def _share(part: Mapping[str, Any], name: str) -> Estimate:
    k, n = part[f"{name}_of"]
    return Estimate(k, n, part[f"{name}_ci95"])


def _count(part: Mapping[str, Any], name: str) -> Estimate:
    return Estimate(part[name], part["total"], part[f"{name}_ci95"])


class Shift(NamedTuple):
    """Whether a class of questions has other signals on the holdout than on dev, in words; `moved` is a warning."""

    moved: bool
    text: str


def shift_words(sheet: Sheet) -> list[Shift]:
    """One sentence a class of questions."""
    return [_shift(name, test) for name, test in sheet.holdout["shift"].items()]


def _shift(name: str, test: Mapping[str, Any] | None) -> Shift:
    if test is None:
        return Shift(False, f"dev or holdout has no {name} question to compare.")
    moved = test["p_holm"] < LEVEL
    said = f"moved {test['direction']} from dev to holdout" if moved else "are not shown to have moved"
    dev, holdout = test["n"]
    figures = (
        f"Kolmogorov-Smirnov D {test['statistic']:.3f}, p {p_text(test['p'])}, after Holm {p_text(test['p_holm'])}"
    )
    return Shift(moved, f"the {name} questions' signals {said} ({figures}; {dev} on dev, {holdout} on the holdout).")


def p_text(value: float) -> str:
    """A p value with three decimals, never as 0."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
