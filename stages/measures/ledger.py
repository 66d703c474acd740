"""Who has seen the holdout, in weighted errors per question: dev and holdout have different sizes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stages.calibration.ledger import Result, Seen
from stages.measures.table import aligned
from stages.params import SYSTEMS


class PerQuestion(NamedTuple):
    """Weighted errors, and errors / questions; None where nothing was asked."""

    errors: float
    questions: int
    rate: float | None


class Gap(NamedTuple):
    """One frozen threshold, gate alone, on both sets; `difference` is holdout minus dev, in errors per question."""

    dev: PerQuestion
    holdout: PerQuestion
    difference: float | None


@dataclass(frozen=True, slots=True)
class Look:
    """One distinct system that met the holdout.

    system   the ledger's hash of it.
    current  the figures that are shown elsewhere are its own.
    gaps     by the source of candidates, those that it ran.
    """

    system: str
    current: bool
    gaps: dict[str, Gap]


def looks(seen: Iterable[Seen], current: str | None, dev: int, holdout: int) -> tuple[Look, ...]:
    """One look for each line of an evaluation, in their order; `asked_again` has the others.

    seen          lines on one holdout.
    current       the system hash of the last evaluation, None where it is not known.
    dev, holdout  how many questions each set has now. Lines on one holdout share its number; the development set that
                  a line was measured on is not in it.
    """
    return tuple(
        Look(
            line.system,
            line.system == current,
            {name: _gap(result, dev, holdout) for name, result in line.results.items()},
        )
        for line in seen
        if not line.changed
    )


def asked_again(seen: Iterable[Seen]) -> dict[str, list[str]]:
    """What was changed when a system that met the holdout was asked again, by its hash."""
    found: dict[str, list[str]] = {}
    for line in seen:
        if line.changed:
            found.setdefault(line.system, []).append(line.changed)
    return found


def _gap(result: Result, dev: int, holdout: int) -> Gap:
    before, after = _share(result.dev_weighted_error, dev), _share(result.holdout_weighted_error, holdout)
    known = before.rate is not None and after.rate is not None
    return Gap(before, after, (after.rate or 0.0) - (before.rate or 0.0) if known else None)


def _share(errors: float, questions: int) -> PerQuestion:
    return PerQuestion(errors, questions, errors / questions if questions else None)


def sources(seen_by: Sequence[Look]) -> list[str]:
    """Names of all that any look ran: those that there are now in their order, then those that there were."""
    ran = {name for look in seen_by for name in look.gaps}
    return [name for name in dict.fromkeys((*SYSTEMS, *sorted(ran))) if name in ran]


def asked(metrics: Mapping[str, Any]) -> int:
    """How many questions are behind the figures of dev_metrics.json or metrics.json; 0 when no system is in it."""
    gates = (metrics[system]["gate"] for system in SYSTEMS if system in metrics)
    return next((sum(gate[name] for name in ("tp", "fp", "fn", "tn")) for gate in gates), 0)


def meaning(seen_by: Sequence[Look], changed: Mapping[str, Sequence[str]]) -> str:
    """Say in one sentence how often the holdout was seen and what follows; `changed` as `asked_again` has it."""
    if not seen_by:
        return "The ledger has no line on the holdout of the last evaluation."
    if len(seen_by) == 1 and changed:
        return (
            "One version has seen this holdout, and was asked about it again with something changed: what was chosen "
            "after that may have been fitted to it."
        )
    if len(seen_by) == 1:
        return "One version has seen this holdout: by the ledger, no choice was guided by its results before."
    return (
        f"{len(seen_by)} distinct versions have seen this holdout, in an order that the ledger does not know: only to "
        "the first of them were its questions new; what was changed after a look may have been fitted to them."
    )


def again_lines(changed: Mapping[str, Sequence[str]]) -> list[str]:
    """Say with what each system was asked again; each of these is a look at the holdout too."""
    return [f"{system[:12]} was asked again with {', '.join(what)}." for system, what in changed.items()]


def basis(dev: int, holdout: int) -> str:
    """Say what the figures of a look are over, and what they cannot be compared with."""
    return (
        f"Weighted errors of the gate alone per question: dev over the {dev} questions that it has today, the holdout "
        f"over its {holdout}; the difference is holdout minus dev. A line of the ledger names neither its development "
        "set nor its fp_weight: compare within a row."
    )


def ledger_table(seen_by: Sequence[Look]) -> str:
    """One row a look, as text."""
    names = sources(seen_by)
    over = ("", *(cell for name in names for cell in (name, "", "")))
    head = ("version", *("dev", "holdout", "difference") * len(names))
    return aligned([over, head, *(_row(look, names) for look in seen_by)])


def _row(look: Look, names: Sequence[str]) -> tuple[str, ...]:
    cells = (cell for name in names for cell in _cells(look.gaps.get(name)))
    return (f"{look.system[:12]} (current)" if look.current else look.system[:12], *cells)


def _cells(gap: Gap | None) -> tuple[str, str, str]:
    if gap is None:
        return "-", "-", "-"
    return _number(gap.dev.rate, ".4f"), _number(gap.holdout.rate, ".4f"), _number(gap.difference, "+.4f")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
