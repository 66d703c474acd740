"""How sharply the development set picks its thresholds, as figures; see `stages.calibration.spread`."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from stages.calibration.bykind import split_by_kind
from stages.calibration.spread import Quantiles, Value, draws, flat_optimum, spread
from stages.errors import BadInputError
from stages.measures.evaluate import Judged
from stages.measures.rate import number
from stages.params import DatasetCard

RESAMPLES, SEED = 1000, 0
GROUPS = (None, "document")


def stability(judged: Sequence[Judged], fp_weight: Fraction, by_kind: bool, card: DatasetCard) -> dict[str, Any]:
    """Give the flat optimum, and the spread only where the questions are independent draws.

    flat    {"low", "high", "width"}, in units of the signal, for each key of `best_rows`.
    spread  quantiles of the thresholds and of the weighted error over bootstrap resamples of all questions about one
            original together where the card groups by document, else of each alone; None where a part never chooses a
            threshold. `units` says how many there are to draw from.

    Raises BadInputError for independent draws that are grouped by anything else.
    """
    flat = {"flat": _flat(judged, fp_weight, by_kind)}
    return flat | {"spread": _spread(judged, fp_weight, by_kind, card.group_by)} if card.independent_draws else flat


def _flat(judged: Sequence[Judged], fp_weight: Fraction, by_kind: bool) -> dict[str, Any]:
    parts = split_by_kind(judged, [one.answerable for one in judged], by_kind)
    found = {kind: flat_optimum(*part, fp_weight) for kind, part in parts.items()}
    return {kind: {**flat._asdict(), "width": flat.width} for kind, flat in found.items()}


def _spread(judged: Sequence[Judged], fp_weight: Fraction, by_kind: bool, group_by: str | None) -> dict[str, Any]:
    if group_by not in GROUPS:
        raise BadInputError(f"group_by: no resamples by {group_by!r} (known: document, null)")
    units = [one.unit if group_by else one.id for one in judged]
    known = [one.answerable for one in judged]
    found = spread(judged, known, fp_weight, by_kind, draws(units, RESAMPLES, SEED))
    thresholds = {
        kind: {"quantiles": one.quantiles and _quantiles(one.quantiles), "refuse_all": one.refuse_all}
        for kind, one in found.thresholds.items()
    }
    errors = _quantiles(found.weighted_error)
    return {"thresholds": thresholds, "weighted_error": errors, "resamples": found.resamples, "units": len(set(units))}


def _quantiles(values: Quantiles[Value]) -> dict[str, float]:
    numbers = (number(value) if isinstance(value, Fraction) else value for value in values)
    return dict(zip(("p5", "p50", "p95"), numbers, strict=True))
