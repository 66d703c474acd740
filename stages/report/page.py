"""The page: one self-contained HTML text, every word in it escaped."""

from collections.abc import Collection
from typing import Any

from jinja2 import Environment, StrictUndefined, UndefinedError
from markupsafe import Markup

from stages.errors import BadInputError
from stages.measures.evidence import CAUSES, cause_text
from stages.measures.ledger import again_lines, basis, meaning, sources
from stages.records import CATEGORIES, TOP_KINDS, UNANSWERABLE_KINDS
from stages.report.ablated import any_flips, factors, figures, flipped, setting
from stages.report.beyond import estimates, p_text, shift_words
from stages.report.coverage_plot import coverage_plot
from stages.report.damaged import damage_grid, damage_rows, damage_systems, mistakes
from stages.report.frame import signal_scale
from stages.report.frontier_plot import frontiers
from stages.report.inputs import Report, Sheet
from stages.report.reasons import COLUMNS, reason_table
from stages.report.score_plot import Point, score_plot
from stages.report.sweep_plot import sweep_plot
from stages.report.text import difference, figure, ratio
from stages.report.wrong import expected, held_answer, relevant_rank, several_images, wrong_decisions

FILTERS = {
    "figure": figure,
    "ratio": ratio,
    "p_text": p_text,
    "estimates": estimates,
    "shift_words": shift_words,
    "difference": difference,
    "again_lines": again_lines,
    "meaning": meaning,
    "sources": sources,
    "cause_text": cause_text,
    "expected": expected,
    "several_images": several_images,
    "held_answer": held_answer,
    "relevant_rank": relevant_rank,
    "reason_table": reason_table,
    "wrong_decisions": wrong_decisions,
    "frontiers": frontiers,
    "coverage_plot": coverage_plot,
    "damage_rows": damage_rows,
    "damage_systems": damage_systems,
    "damage_grid": damage_grid,
    "mistakes": mistakes,
    "factors": factors,
    "ablation_figures": figures,
    "flipped": flipped,
    "any_flips": any_flips,
    "setting": setting,
}


def render(template: str, report: Report) -> str:
    """Fill the template. Equal arguments give equal text.

    Raises BadInputError when the metrics lack a figure that the page shows.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(FILTERS, flags=flags, plots=plots, reach=reach, over=over)
    names = {"categories": CATEGORIES, "kinds": UNANSWERABLE_KINDS, "columns": COLUMNS, "causes": CAUSES}
    try:
        return environment.from_string(template).render(report=report, **names) + "\n"
    except UndefinedError as error:
        raise BadInputError(f"metrics: {error}; run `dvc repro -f evaluate_holdout`") from error


def reach(report: Report) -> str:
    """Say how far the figures reach: over questions that hang together they are counts and no estimate."""
    if report.independent_draws:
        return (
            "The dataset calls its questions independent draws; every figure here is a count over this set, and "
            "“Beyond these questions” says how far it reaches."
        )
    shared = f" (many share a {report.group_by})" if report.group_by else ""
    return (
        f"These questions are not independent draws{shared}: every figure here is a count over this set, no estimate."
    )


def over(sheet: Sheet) -> str:
    """Say what the errors per question of the ledger are over."""
    return basis(len(sheet.judged), len(sheet.queries))


def flags(sheet: Sheet) -> list[str]:
    """Name every set on which the gate does not discriminate."""
    sets: dict[str, dict[str, Any]] = {"dev": sheet.dev, "holdout": sheet.holdout}
    sides = {"accepts_all": "accepts", "refuses_all": "refuses"}
    return [
        f"gate {word} everything on {name}"
        for name, found in sets.items()
        for key, word in sides.items()
        if found["gate"][key]
    ]


def plots(sheet: Sheet) -> list[Markup]:
    """Draw the sweep and the scores over the same axis; both drawings are escaped where they are made.

    Where each kind of best candidate has a threshold of its own, the scores of each are drawn apart.
    """
    dev = [(one.top, Point(one.id, one.signal, one.answerable)) for one in sheet.judged]
    holdout = [(one.top, Point(one.id, one.signal, one.label.answerable)) for one in sheet.queries]
    scale = signal_scale(point.signal for _, point in (*dev, *holdout) if point.signal is not None)

    def scores(name: str, threshold: float | None, kinds: Collection[str | None]) -> Markup:
        sets = {"dev": dev, "holdout": holdout}
        shown = {title: [point for top, point in one if top in kinds] for title, one in sets.items()}
        return Markup(score_plot(name, shown, threshold, scale))

    if sheet.threshold.by_kind:
        bars = sorted(sheet.threshold.by_kind.items())
        return [scores(f"{sheet.system}, best candidate: {kind}", value, {kind}) for kind, value in bars]
    threshold = sheet.threshold.threshold
    swept = Markup(sweep_plot(sheet.system, sheet.boundaries, threshold, scale))
    return [swept, scores(sheet.system, threshold, {*TOP_KINDS, None})]
