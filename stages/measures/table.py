"""The result table: one row a system, as text."""

from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import east_asian_width

from stages.params import SYSTEMS
from stages.records import TOP_KINDS, TopKind

HEAD = (
    *("system", "dev threshold", "gate answer F1", "gate refusal F1"),
    *("gate error", "support error", "error", "false accepts", "answers right", "all right", "contract right"),
)


def cell(value: object) -> str:
    """A figure as the tables show it: "-" where there is nothing to count, floats with four decimals."""
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def threshold_cell(value: float | None, by_kind: Mapping[TopKind, float | None] | None) -> str:
    """A threshold, or one for each kind of best candidate; None accepts nothing."""
    if by_kind is None:
        return "refuse all" if value is None else cell(value)
    return " ".join(f"{kind} {'none' if by_kind[kind] is None else cell(by_kind[kind])}" for kind in TOP_KINDS)


def columns(text: str) -> int:
    """How wide a terminal shows it: an ideograph takes two columns."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of as many cells each, as lines of columns."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    padded = ((text + " " * (width - columns(text)) for text, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in padded)


def _row(system: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    bar, gate, decision = figures["threshold"], figures["gate"], figures["decision"]
    answers, contract = figures["answers"], figures["contract"]
    right = sum(answers[category]["correct"] for category in ("image", "field", "passage"))
    return (
        system,
        threshold_cell(bar["value"], bar["by_kind"]),
        cell(gate["answer_f1"]),
        cell(gate["refusal_f1"]),
        f"{gate['weighted_error']:g}",
        f"{figures['support']['weighted_error']:g}",
        f"{decision['weighted_error']:g}",
        f"{decision['fp']}/{decision['fp'] + decision['tn']}",
        f"{right}/{decision['tp'] + decision['fp']}",
        f"{answers['correct']}/{answers['total']}",
        f"{contract['correct']}/{contract['total']}",
    )


def result_table(metrics: Mapping[str, Any]) -> str:
    """Holdout figures by system: the gate alone, then what gate and support together answered.

    Errors are weighted: of the gate alone, of support alone, of both together. `false accepts` are of all unanswerable
    questions, right answers of all answers; `all right` counts right refusals too.
    """
    return aligned([HEAD, *(_row(system, metrics[system]) for system in SYSTEMS if system in metrics)])
