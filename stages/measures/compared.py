"""What a sample of independent draws says beyond its own questions: systems against each other, dev against holdout.

For data whose questions are no independent draws none of this is computed.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from stages.calibration.spread import draws
from stages.measures.evaluate import outcome
from stages.measures.holdout import Evaluated
from stages.measures.paired import RESAMPLES, SEED, bootstrap_interval, randomisation_test, with_holm
from stages.measures.refusal import cost
from stages.measures.two_sample import shift_test

Measured: TypeAlias = Mapping[str, Fraction]
"""By question id, what each question adds."""
CLASSES = {"answerable": True, "unanswerable": False}
Signal: TypeAlias = tuple[float | None, bool]
"""Of a question, and whether it is answerable."""


def comparisons(
    evaluated: Mapping[str, Evaluated], units: Mapping[str, str], fp_weight: Fraction
) -> dict[str, dict[str, Any]]:
    """Compare each pair of systems on the decisions of gate and support; a difference is the first minus the second.

    units  by question id (`units_of`). By pair, "a_vs_b", then by measure, `right` (the share of right decisions) and
    `weighted_error` (per question): difference, its ci95, p, and p_holm, corrected over all pairs and measures.
    """
    measured = {system: _measured(one, fp_weight) for system, one in evaluated.items()}
    tests = paired_tests(
        {
            (f"{first}_vs_{second}", measure): (measured[first][measure], measured[second][measure])
            for first, second in combinations(evaluated, 2)
            for measure in ("right", "weighted_error")
        },
        units,
    )
    pairs = dict.fromkeys(pair for pair, _ in tests)
    return {pair: {measure: one for (name, measure), one in tests.items() if name == pair} for pair in pairs}


def paired_tests(
    measured: Mapping[tuple[str, str], tuple[Measured, Measured]], units: Mapping[str, str]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Test each pair of measures over the same questions: the first minus the second, Holm over all pairs.

    units  by question id, what is exchanged or drawn whole.
    """
    ids = sorted(units)
    names = [units[name] for name in ids]
    resamples = list(draws(names, RESAMPLES, SEED)) if ids else []
    return with_holm(
        {
            key: _compare([first[name] - second[name] for name in ids], names, resamples)
            for key, (first, second) in measured.items()
        }
    )


def _measured(one: Evaluated, fp_weight: Fraction) -> dict[str, dict[str, Fraction]]:
    """By measure and question id, what each question adds."""
    rows = [(row, outcome(row, decision)) for row, decision in zip(one.judged, one.decisions, strict=True)]
    return {
        "right": {row.id: Fraction(found.correct) for row, found in rows},
        "weighted_error": {row.id: cost(row.answerable, not found.refused, fp_weight) for row, found in rows},
    }


def _compare(
    differences: Sequence[Fraction], units: Sequence[str], resamples: Sequence[Sequence[int]]
) -> dict[str, Any]:
    return {
        "difference": float(sum(differences) / len(differences)) if differences else None,
        "ci95": bootstrap_interval(differences, resamples),
        "p": randomisation_test(differences, units),
    }


def shifts(dev: Mapping[str, Iterable[Signal]], evaluated: Mapping[str, Evaluated]) -> dict[str, dict[str, Any]]:
    """By system and class, `shift_test` from dev's signals to the holdout's; None where one of them has none.

    p_holm is corrected over all systems and classes.
    """
    found: dict[tuple[str, str], dict[str, Any] | None] = {}
    for system, one in evaluated.items():
        first, second = _by_class(dev[system]), _by_class((row.signal, row.answerable) for row in one.judged)
        found |= {(system, name): shift_test(first[name], second[name]) for name in CLASSES}
    tests = with_holm({place: one for place, one in found.items() if one is not None})
    return {system: {name: tests.get((system, name)) for name in CLASSES} for system in evaluated}


def _by_class(signals: Iterable[Signal]) -> dict[str, list[float | None]]:
    rows = list(signals)
    return {name: [signal for signal, known in rows if known is wanted] for name, wanted in CLASSES.items()}
