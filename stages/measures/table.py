"""The result table: one row a system, as text."""

from collections.abc import Mapping
from typing import Any

HEAD = ("system", "dev threshold", "answer F1", "refusal F1", "contract", "error dev", "error holdout")


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _row(system: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    bar, gate, contract = figures["threshold"], figures["decision"], figures["contract"]
    return (
        system,
        "refuse all" if bar["value"] is None else _cell(bar["value"]),
        _cell(gate["answer_f1"]),
        _cell(gate["refusal_f1"]),
        f"{contract['correct']}/{contract['total']}",
        f"{bar['dev_weighted_error']:g}",
        f"{bar['holdout_weighted_error']:g}",
    )


def result_table(metrics: Mapping[str, Any]) -> str:
    """F1 of the decision (gate and support) on the holdout; weighted errors of the gate alone. `metrics` by system."""
    rows = [HEAD, *(_row(system, figures) for system, figures in sorted(metrics.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
