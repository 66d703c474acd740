"""What `frostline calibrate` prints: a frozen threshold in the words of the score it is about, and its figures."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from stages.calibration.objective import DRAWS, GOALS, Certificate
from stages.calibration.threshold import Threshold
from stages.measures.rate import number, rate
from stages.measures.refusal import Confusion, refusal_metrics
from stages.measures.selective import RISKS
from stages.measures.table import aligned, cell

RATES = ("answer_precision", "answer_recall", "answer_f1", "refusal_precision", "refusal_recall", "refusal_f1")
COUNTS = (
    ("answerable, answered", "tp"),
    ("answerable, refused", "fn"),
    ("unanswerable, answered", "fp"),
    ("unanswerable, refused", "tn"),
)


def figures(counts: Confusion, fp_weight: Fraction) -> dict[str, Any]:
    """`refusal_metrics`, the share of right decisions, and the weighted error per item, to compare sets."""
    n = sum(counts)
    return {
        **refusal_metrics(counts, fp_weight),
        **rate("accuracy", counts.tp + counts.tn, n),
        **rate("weighted_error_per_item", counts.fn + fp_weight * counts.fp, n),
    }


def dev_counts(frozen: Threshold) -> Confusion:
    """The development counts that were frozen with the threshold."""
    return Confusion(frozen.dev.tp, frozen.dev.fp, frozen.dev.fn, frozen.dev.tn)


def threshold_text(frozen: Threshold, column: str, lower_is_better: bool) -> str:
    """When to answer, in the file's own score, and why this threshold; then what is certified, and for whom."""
    weight = number(Fraction(repr(frozen.fp_weight)))
    if frozen.threshold is None:
        answer = "refuse everything" + ": nothing costs less" * (frozen.certificate is None)
    elif lower_is_better:
        answer = f"answer when {column} <= {0.0 - frozen.threshold!r} (the signal in all files is its negative)"
    else:
        answer = f"answer when {column} >= {frozen.threshold!r}"
    told = f"{frozen.system}: {answer}\nrule: {frozen.rule}; fp_weight {weight:g}"
    if frozen.certificate is None:
        return told
    draws = "" if frozen.refuse_all else f"\n{DRAWS}"
    return f"{told} decides nothing\n{frozen.certificate.sentence}{draws}"


def observed_text(certificate: Certificate, name: str, found: Mapping[str, Any]) -> str:
    """What `figures` of other questions, named `name`, show of the rate that is certified; no test of it."""
    trials = found["fp"] + found["tn" if certificate.objective == "max_false_accept" else "tp"]
    observed = rate("observed", found["fp"], trials)["observed"]
    return f"{name}: {GOALS[certificate.objective]} {cell(observed)}: {certificate.counted(found['fp'], trials)}"


def figures_table(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """One column for each named set of `figures`, rates with what they are of; then a flag for a gate that is none."""
    found = list(sets.values())
    rows = [("", *sets), *((name, *(str(one[key]) for one in found)) for name, key in COUNTS)]
    rows += [(_title(name), *(_rate(one, name) for one in found)) for name in (*RATES, "accuracy")]
    rows += [("weighted error", *(cell(one["weighted_error"]) for one in found))]
    rows += [("weighted error per item", *(cell(one["weighted_error_per_item"]) for one in found))]
    flags = [
        f"{name}: the threshold {word} everything"
        for name, one in sets.items()
        for key, word in (("accepts_all", "accepts"), ("refuses_all", "refuses"))
        if one[key]
    ]
    return "\n".join([aligned(rows), *flags])


SELECTIVE = {
    "auroc": "AUROC",
    "average_precision": "average precision",
    "aurc": "AURC",
    "eaurc": "E-AURC",
    "augrc": "AUGRC",
    **{f"coverage_at_{percent}": f"coverage at {percent} % risk" for percent in RISKS},
    "calibration_error": "calibration error",
}


def selective_table(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """One column for each named set of `selective_metrics`, over all thresholds; "-" for what is undefined."""
    rows = (
        (title, *("-" if one[key] is None else cell(one[key]) for one in sets.values()))
        for key, title in SELECTIVE.items()
    )
    return aligned([("over all thresholds", *sets), *rows])


def _title(name: str) -> str:
    return name.replace("_", " ").replace(" f1", " F1")


def _rate(one: Mapping[str, Any], name: str) -> str:
    top, bottom = one[f"{name}_of"]
    return f"{cell(one[name])} ({top}/{bottom})"
