"""The result table: one row a system, as text."""

from collections.abc import Mapping
from typing import Any

from stages.params import SYSTEMS
from stages.records import TOP_KINDS

HEAD = (
    *("system", "dev threshold", "gate answer F1", "gate refusal F1"),
    *("gate error", "support error", "error", "false accepts", "answers right", "all right", "contract right"),
)


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _threshold(bar: Mapping[str, Any]) -> str:
    kinds = bar["by_kind"]
    if kinds is None:
        return "refuse all" if bar["value"] is None else _cell(bar["value"])
    return " ".join(f"{kind} {'none' if kinds[kind] is None else _cell(kinds[kind])}" for kind in TOP_KINDS)


def _row(system: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    bar, gate, decision = figures["threshold"], figures["gate"], figures["decision"]
    answers, contract = figures["answers"], figures["contract"]
    right = sum(answers[category]["correct"] for category in ("image", "field", "passage"))
    return (
        system,
        _threshold(bar),
        _cell(gate["answer_f1"]),
        _cell(gate["refusal_f1"]),
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
    rows = [HEAD, *(_row(system, metrics[system]) for system in SYSTEMS if system in metrics)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
