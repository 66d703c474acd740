"""`frostline calibrate`: freeze a threshold over the scores of any system, then try it on a holdout.

Needs nothing of a project: neither params.yaml nor dvc.yaml nor a corpus. `frostline run` does both with a folder of
scores.
"""

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from stages import files
from stages.atomic import locked
from stages.calibration.binding import check_scores
from stages.calibration.bykind import ANY
from stages.calibration.cells import Columns
from stages.calibration.gate import accepts_each
from stages.calibration.hull import COLUMNS, frontier_cells, hull
from stages.calibration.objective import choose_row
from stages.calibration.sweep import Row, cells, sweep
from stages.calibration.thin import boundaries, snapped
from stages.calibration.threshold import Threshold, freeze_scores, scoring_words
from stages.errors import BadInputError
from stages.imports.scored import FILES, HEAD
from stages.measures.calibrated import (
    dev_counts,
    figures,
    figures_table,
    observed_text,
    selective_table,
    threshold_text,
)
from stages.measures.refusal import confusion
from stages.measures.selective import risk_coverage, selective_metrics
from stages.params import OBJECTIVES, CalibrateParams, load_section, of_params
from stages.report.calibrated import calibrated_page
from stages.report.coverage_plot import draw
from stages.report.frontier_plot import frontier_plot
from stages.scores import Scores, read_scores, read_threshold
from stages.settings import read_yaml
from stages.squad import read_squad
from stages.stage.progress import progress

FP_WEIGHT = 2.0
"""What params.yaml ships with, so that figures compare with those of a pipeline that nobody changed."""
NAMES = ("model", "score_column", "label_column", "squad", "out", "apply")
SETTINGS = ("fp_weight", "objective", "alpha", "delta", "min_answers")
OF_OBJECTIVE: dict[str, tuple[str, ...]] = {
    "weighted_error": (),
    "max_false_accept": ("alpha", "delta"),
    "max_selective_risk": ("alpha", "delta", "min_answers"),
}
"""The settings that an objective has to itself."""
THRESHOLD, SWEEP, FRONTIER, PAGE = "threshold.json", "sweep.csv", "frontier.csv", "calibration.html"


def read(arguments: Namespace) -> Scores:
    """The scores that the arguments name."""
    if arguments.squad is None:
        columns = Columns("id", arguments.score_column or "score", arguments.label_column or "answerable")
        return read_scores(arguments.scores, columns, arguments.lower_is_better, progress)
    if arguments.score_column or arguments.label_column or arguments.lower_is_better:
        raise BadInputError("--squad says itself which column and direction; leave the others out")
    return read_squad(arguments.scores, arguments.squad)


def freeze(scores: Scores, model: str, calibrate: CalibrateParams) -> Threshold:
    """The threshold that the objective chooses over the scores, bound to them and sealed.

    Raises BadInputError where only one class is there: any threshold would do, or none.
    """
    answerable = int(scores.answerable.sum())
    if answerable in (0, len(scores.answerable)):
        side = "answerable" if answerable else "unanswerable"
        raise BadInputError(f"all {len(scores.answerable)} items are {side}; a threshold needs both kinds")
    choice = choose_row(scores.signals, scores.answerable, calibrate)
    scoring = scoring_words(scores.column, scores.lower_is_better)
    return freeze_scores(model, scoring, choice, scores.items, scores.sha256, calibrate)


def dev(frozen: Threshold) -> dict[str, Any]:
    """`figures` of the threshold on the items that it was chosen on."""
    return figures(dev_counts(frozen), _weight(frozen))


def evaluate(frozen: Threshold, scores: Scores) -> dict[str, Any]:
    """`figures` of the threshold on a holdout. Raises BadInputError for the very items that it was chosen on."""
    if frozen.binding.dev_records == scores.sha256 or frozen.binding.dev_set == scores.items:
        raise BadInputError(
            "these are the items that the threshold was chosen on, no holdout; their figures stand in its `dev`"
        )
    accepted = accepts_each(scores.signals, frozen.threshold)
    return figures(confusion(scores.answerable.tolist(), accepted.tolist()), _weight(frozen))


def _weight(frozen: Threshold) -> Fraction:
    return Fraction(repr(frozen.fp_weight))


def calibrate(arguments: Namespace) -> None:
    """Run the command: freeze and write, or with --apply evaluate."""
    given = _given(arguments, NAMES)
    empty = [name for name, value in given.items() if not value.strip()]
    if empty:
        raise BadInputError(f"{_dashed(empty)}: empty; give a name or leave it out")
    _refuse_no_text("--model", arguments.model)
    if arguments.apply is not None:
        _apply(arguments)
    else:
        _calibrate(arguments)


def _calibrate(arguments: Namespace) -> None:
    settings = _settings(arguments)
    folder = Path(arguments.out or f"frostline-{re.sub(r'[^A-Za-z0-9._-]+', '-', arguments.model)}")
    _refuse_overwriting(folder)
    scores = read(arguments)
    with _naming(arguments.scores):
        frozen = freeze(scores, arguments.model, settings)
    told = _report(folder, frozen, {"dev": scores}, {"dev": dev(frozen)})
    print(_json(frozen) if arguments.json else told)


def run_scores(source: Path, folder: Path) -> None:
    """Freeze over dev.tsv of a folder of scores, apply to its holdout.tsv, write and print both; the folder is new.

    The model is called as the folder. Raises BadInputError for scores that cannot be used.
    """
    model = source.resolve().name
    _refuse_no_text("the folder's name", model)
    over = {split: read_scores(source / name, Columns(*HEAD), False, progress) for split, name in FILES.items()}
    with _naming(source / FILES["dev"]):
        frozen = freeze(over["dev"], model, _settings_here())
    with _naming(source / FILES["holdout"]):
        sets = {"dev": dev(frozen), "holdout": evaluate(frozen, over["holdout"])}
    print(_report(folder, frozen, over, sets))


def _settings_here() -> CalibrateParams:
    """`calibrate` of a params.yaml in the current folder, for one threshold; without it the usual weight."""
    path = Path("params.yaml")
    params = read_yaml(path) if path.exists() else {}
    if "calibrate" not in params:
        return CalibrateParams(fp_weight=FP_WEIGHT, by_kind=[])
    return of_params(CalibrateParams, "calibrate", params)


@contextmanager
def _naming(path: object) -> Iterator[None]:
    """Put the file's name before what is found wrong with what was read from it."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from error


def _refuse_no_text(what: str, name: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise BadInputError(f"{what}: not UTF-8")


def _settings(arguments: Namespace) -> CalibrateParams:
    """The params that the arguments name. Raises BadInputError for one that decides nothing under its objective."""
    given, objective = _given(arguments, SETTINGS), arguments.objective or OBJECTIVES[0]
    idle = given.keys() - {"fp_weight", "objective", *OF_OBJECTIVE[objective]}
    if idle:
        raise BadInputError(f"{_dashed(idle)}: decides nothing under --objective {objective}; leave it out")
    weight = float(arguments.fp_weight or FP_WEIGHT)
    return load_section(CalibrateParams, "calibrate", {**given, "fp_weight": weight, "by_kind": []})


def _given(arguments: Namespace, names: Collection[str]) -> dict[str, Any]:
    """Those of some arguments that stand on the command line."""
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _dashed(names: Collection[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in sorted(names))


def _apply(arguments: Namespace) -> None:
    given = _given(arguments, ("out", *SETTINGS))
    if given:
        raise BadInputError(f"--apply writes nothing and takes what is frozen; leave out {_dashed(given)}")
    frozen, scores = read_threshold(arguments.apply), read(arguments)
    check_scores(frozen, arguments.model, scoring_words(scores.column, scores.lower_is_better))
    with _naming(arguments.scores):
        sets = {"dev": dev(frozen), "holdout": evaluate(frozen, scores)}
    if arguments.json:
        found = {"selective": selective_metrics(scores.signals, scores.answerable)}
        print(_json({"threshold": frozen, "scores": scores.sha256, **sets, "holdout": sets["holdout"] | found}))
    else:
        print(_told(frozen, {"holdout": scores}, sets))


def _told(frozen: Threshold, over: Mapping[str, Scores], sets: Mapping[str, Mapping[str, Any]]) -> str:
    """All that is said of the threshold on the `sets`, and of its signal on those whose scores are at hand."""
    scores = next(iter(over.values()))
    head = threshold_text(frozen, scores.column, scores.lower_is_better)
    met = [observed_text(frozen.certificate, name, sets[name]) for name in sets if frozen.certificate and name != "dev"]
    over_all = {name: selective_metrics(one.signals, one.answerable) for name, one in over.items()}
    return "\n".join([head, *met, figures_table(sets), selective_table(over_all)])


def _json(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2, sort_keys=True)


def _refuse_overwriting(folder: Path) -> None:
    try:
        there = [str(folder / name) for name in (THRESHOLD, SWEEP, FRONTIER, PAGE) if (folder / name).exists()]
    except OSError as error:
        raise BadInputError(f"{folder}: cannot be looked at ({error.strerror}); name another with --out") from error
    if str(folder / THRESHOLD) in there:
        raise BadInputError(
            f"{', '.join(there)}: already there; a frozen threshold stays, name another folder with --out"
        )
    if there:
        raise BadInputError(
            f"{', '.join(there)}: already there without {THRESHOLD}, which is written last: a run that was broken off "
            "left it, or it is something of yours; remove it or name another folder with --out"
        )


def _report(folder: Path, frozen: Threshold, over: Mapping[str, Scores], sets: Mapping[str, Mapping[str, Any]]) -> str:
    """Write all files or none, of two runs at once the first one's; returns what there is to say of them."""
    told = _told(frozen, over, sets)
    extent = _write(folder, frozen, over, sets, told)
    return f"{told}\nwritten to {folder}: {THRESHOLD}, {SWEEP} ({extent}), {FRONTIER}, {PAGE}"


def _write(
    folder: Path,
    frozen: Threshold,
    over: Mapping[str, Scores],
    sets: Mapping[str, Mapping[str, Any]],
    told: str,
) -> str:
    """Write the files; returns how much of the sweep is there."""
    signals, answerable = over["dev"].signals, over["dev"].answerable
    kept = boundaries(signals, answerable, frozen.threshold)
    rows = sweep(snapped(signals, kept.thresholds), answerable, _weight(frozen))
    optima = hull(signals, answerable, _weight(frozen))
    drawn = [
        frontier_plot(frozen.system, ANY, optima, _weight(frozen)),
        draw(frozen.system, {name: risk_coverage(one.signals, one.answerable) for name, one in over.items()}, sets),
    ]
    page = calibrated_page(frozen.system, told, rows, frozen.threshold, signals, answerable, drawn)
    with locked(folder):
        _refuse_overwriting(folder)
        try:
            files.write_csv(folder / SWEEP, Row._fields, map(cells, rows))
            files.write_csv(folder / FRONTIER, COLUMNS, map(frontier_cells, optima))
            files.write_bytes(folder / PAGE, page.encode())
            files.write_json(folder / THRESHOLD, frozen)
        except BaseException:
            for name in (SWEEP, FRONTIER, PAGE, THRESHOLD):
                with suppress(OSError):
                    (folder / name).unlink()
            raise
    if len(kept.thresholds) == kept.distinct:
        return f"all {kept.distinct} distinct scores"
    kinds = "some evenly, each that is best at some weight, and the frozen one"
    return f"{len(kept.thresholds)} of {kept.distinct} distinct scores: {kinds}"


def add_arguments(parser: ArgumentParser, weight: Callable[[str], Fraction]) -> None:
    """Declare the command's arguments; `weight` reads a weight."""
    parser.add_argument(
        "scores", metavar="SCORES", help=".tsv, .csv, .jsonl or .parquet, or the na_prob file of --squad"
    )
    parser.add_argument(
        "--model", required=True, metavar="NAME", help="what made the scores; the threshold is bound to it"
    )
    parser.add_argument("--score-column", metavar="NAME", help="default: score")
    parser.add_argument("--label-column", metavar="NAME", help="0/1 or true/false; default: answerable")
    parser.add_argument("--lower-is-better", action="store_true", help="a low score means answerable")
    parser.add_argument("--squad", metavar="DATA", help="SQuAD 2.0 questions; SCORES is then {id: na_prob}")
    parser.add_argument(
        "--fp-weight", type=weight, metavar="WEIGHT", help="false refusals per false accept; default: 2"
    )
    parser.add_argument(
        "--objective", choices=OBJECTIVES, help="least weighted error (default), or a certified rate at most alpha"
    )
    parser.add_argument("--alpha", type=float, help="the rate that is certified; default: 0.05")
    parser.add_argument("--delta", type=float, help="certified with confidence 1 - delta; default: 0.1")
    parser.add_argument(
        "--min-answers", type=int, metavar="N", help="max_selective_risk tests from N answers on; default: 100"
    )
    parser.add_argument("--out", metavar="FOLDER", help="default: frostline-NAME")
    parser.add_argument("--apply", metavar="THRESHOLD", help="evaluate this frozen threshold on SCORES, a holdout")
    parser.add_argument("--json", action="store_true", help="the threshold record; with --apply all figures as well")
    parser.set_defaults(command=calibrate)
