"""`frostline compare`: two evaluated runs, as git has them, by revision or by the name of a DVC experiment.

Nothing of the checkout changes, and no label is opened: what a run says of its holdout stands in its artifacts.
"""

import csv
import io
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from stages import files, git, settings
from stages.calibration.hull import COLUMNS
from stages.calibration.ledger import Seen
from stages.errors import BadInputError, StaleThresholdError
from stages.hashing import plain_numbers, sha256
from stages.measures.flips import Bar, Decided, Evaluation, Run, compare_runs, compared_markdown, compared_text
from stages.params import LARGEST, DatasetCard, load_section, load_source, load_systems
from stages.project import OF_DATASET, read_project
from stages.records import TOP_KINDS, File, Part, TopKind
from stages.stage.declared import artifact_paths, covers
from stages.stage.run import guard
from stages.wellformed import repeated

SOURCES = ("stages",)
LOCK = "dvc.lock"
NEEDED = ("dvc.yaml", "params.yaml")
READ = ("holdout", "threshold", "sweep", "seen", "chain")
"""Names of the artifacts that are compared, or tell whether they belong together."""
EVALUATED_BY = "evaluate_holdout"
WRITTEN_BY = ("sweep_thresholds", "freeze_threshold", EVALUATED_BY)
"""Stages whose parts of the chain say how these were when they were written."""


@dataclass(frozen=True, slots=True)
class DecidedQueries:
    """queries.json of one system."""

    queries: tuple[Decided, ...]


SHOWN = 5
"""Findings about one revision that are told: what was written in another shape may have one for each question."""
REMEDY = (
    "no run that can be compared: make it again with today's dvc.yaml, params.yaml and stages/ (`dvc repro`) and "
    "commit, or name another revision"
)
REPRO = re.compile(r"(; )?run `dvc repro[^`]*`$")
STALE = "these figures do not belong to what was committed beside them; run `dvc repro` there and commit:"


class Committed(NamedTuple):
    """A run with what its folder says of it. stale: what there does not belong together."""

    run: Run
    card: DatasetCard | None
    stale: list[str]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("a", metavar="REV_A", help="a git revision, or the name of a DVC experiment")
    parser.add_argument("b", metavar="REV_B")
    parser.add_argument("--md", action="store_true", help="Markdown, for a pull request")
    parser.set_defaults(command=compare)


def compare(arguments: Namespace) -> None:
    """Print what changed. Raises BadInputError for runs on two holdouts, StaleThresholdError for stale ones."""
    project = read_project(".")
    guard(load_source(project.params).dataset)
    a, b = _read_runs(project.root, (arguments.a, arguments.b))
    _refuse_others(a.run, b.run)
    draws = [one.card for one in (a, b) if one.card and one.card.independent_draws]
    sections = compare_runs(a.run, b.run, draws[0].group_by if draws else None, independent_draws=len(draws) == 2)
    print((compared_markdown if arguments.md else compared_text)(sections))
    if stale := [*a.stale, *b.stale]:
        more = [f"  ... and {len(stale) - files.SHOWN} more"] if len(stale) > files.SHOWN else []
        raise StaleThresholdError("\n".join([STALE, *stale[: files.SHOWN], *more]))


def _refuse_others(a: Run, b: Run) -> None:
    if a.holdout != b.holdout:
        raise BadInputError(
            f"{a.name} and {b.name}: two holdouts, {a.holdout[:12]} and {b.holdout[:12]}; only runs on the same one "
            "are compared"
        )
    asked = [{one.id for one in system.queries} for run in (a, b) for system in run.systems.values()]
    if any(ids != asked[0] for ids in asked):
        raise BadInputError(f"{a.name} and {b.name}: queries.json has other questions in one than in the other")


def _read_runs(root: Path, names: Iterable[str]) -> list[Committed]:
    """Read every run. Raises BadInputError with what is wrong with any."""
    found, findings = [], []
    for name in names:
        try:
            found.append(_read_run(root, name))
        except BadInputError as error:
            findings.append(str(error))
    files.refuse(dict.fromkeys(findings))
    return found


def _read_run(root: Path, name: str) -> Committed:
    """Read a run as git has it. Raises BadInputError that names the revision, what it lacks, and what to do."""
    commit = git.find_commit(root, name)
    with TemporaryDirectory() as folder:
        try:
            return _read_commit(root, Path(folder), name, commit)
        except BadInputError as error:
            found = list(_findings(str(error).replace(f"{folder}/", "")))
    more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    raise BadInputError("\n".join(f"{name} ({commit[:12]}): {line}" for line in (*found[:SHOWN], *more, REMEDY)))


def _findings(text: str) -> Iterator[str]:
    """What a reader found, without what it says to do: that is for a checkout, not for a commit."""
    for line in text.splitlines():
        if finding := REPRO.sub("", line):
            yield finding


def _read_commit(root: Path, folder: Path, name: str, commit: str) -> Committed:
    written = _write(folder, git.files_at(root, commit, *NEEDED, *SOURCES, LOCK))
    _refuse_missing(NEEDED, written, folder)
    params, paths = settings.read_params(folder / "params.yaml"), _paths(settings.read_yaml(folder / "dvc.yaml"))
    names, card = load_systems(params), f"{load_source(params).dataset}/dataset.yaml"
    inside = [one for one in (*paths.values(), card) if not _is_outside(one)]
    written |= _write(folder, git.files_at(root, commit, *inside))
    _refuse_missing(map(normpath, _wanted(paths, names)), written, folder)
    places = {one: folder / path for one, path in paths.items()}
    systems = {system: read_evaluation(places, system) for system in names}
    run = Run(name, commit, _holdout(places["seen"]), systems)
    known = load_section(DatasetCard, card, settings.read_yaml(folder / card)) if card in written else None
    return Committed(run, known, [f"  {name}: {text}" for text in _stale(places["chain"], params, written)])


def _paths(pipeline: dict[str, Any]) -> dict[str, str]:
    """Where a run has what is compared. Raises BadInputError for what is not declared, or lies elsewhere."""
    declared = artifact_paths(pipeline)
    if missing := [one for one in READ if one not in declared]:
        raise BadInputError(f"dvc.yaml: vars: path: no {', '.join(missing)}")
    paths = {one: declared[one] for one in READ}
    files.refuse(f"dvc.yaml: vars: path: {one}: lies outside the project" for one in paths.values() if _is_outside(one))
    return paths


def _wanted(paths: Mapping[str, str], systems: Iterable[str]) -> Iterator[str]:
    """The files that every run has; which frontiers it has besides, its thresholds say."""
    yield paths["seen"]
    yield from (str(files.of_system(paths["chain"], stage)) for stage in WRITTEN_BY)
    for system in systems:
        yield str(files.of_system(paths["threshold"], system))
        yield str(files.in_system(paths["holdout"], system, "queries.json"))


def _refuse_missing(wanted: Iterable[str], written: Mapping[str, str], folder: Path) -> None:
    """Raise BadInputError with every file that a commit, laid down in `folder`, lacks."""
    if missing := [path for path in wanted if path not in written]:
        lock = files.read_text(folder / LOCK) if LOCK in written else ""
        files.refuse(f"{path}: not in this commit{_in_dvc(path, lock)}" for path in missing)


def _in_dvc(path: str, lock: str) -> str:
    """Said where dvc.lock has the hash of a file, or of a folder that it lies in."""
    names = "|".join(re.escape(str(one)) for one in (path, *PurePosixPath(path).parents))
    known = re.search(rf"^ *- path: (?:{names})$", lock, re.MULTILINE)
    return "; dvc.lock has its hash alone, commit the file itself (`cache: false` in dvc.yaml)" if known else ""


def _is_outside(path: str) -> bool:
    """True for a path that no commit of the project can hold."""
    return Path(path).is_absolute() or ".." in Path(path).parts


def _write(folder: Path, found: dict[str, bytes]) -> dict[str, str]:
    """Lay files down below a folder; their sha256 by path."""
    for path, data in found.items():
        files.write_bytes(folder / path, data)
    return {path: sha256(data) for path, data in found.items()}


def read_evaluation(places: dict[str, Path], system: str) -> Evaluation:
    """Read one system of a run; `places` has the folders of its artifacts by name."""
    source = files.in_system(places["holdout"], system, "queries.json")
    queries = files.read_json(source, DecidedQueries).queries
    files.refuse_made(source, _query_findings(queries))
    frozen = files.of_system(places["threshold"], system)
    bar = files.read_json(frozen, Bar)
    files.refuse_made(frozen, _bar_findings(bar))
    return Evaluation(bar, queries, list(_frontier(places["sweep"], system, TOP_KINDS if bar.by_kind else ())))


def _query_findings(queries: Sequence[Decided]) -> Iterator[str]:
    """What does not fit together; a run of before causes were written has none at all."""
    yield from (f"{name}: stands there twice" for name in repeated(one.id for one in queries))
    yield from (f"{one.id}: the label of {one.label.id}" for one in queries if one.id != one.label.id)
    if any(one.cause for one in queries):
        wrong = (one.id for one in queries if one.correct != (one.cause is None))
        yield from (f"{name}: cause: a wrong decision, and nothing else, has one" for name in wrong)


def _bar_findings(bar: Bar) -> Iterator[str]:
    if bar.by_kind is not None and bar.by_kind.keys() != set(TOP_KINDS):
        yield f"by_kind: expected null, or a threshold for each of {' and '.join(TOP_KINDS)}"
    if not 0 < bar.fp_weight <= LARGEST:
        yield f"fp_weight: expected above 0 and at most {LARGEST}, got {bar.fp_weight!r}"


def _holdout(path: Path) -> str:
    """The one holdout that the lines of seen.jsonl are about."""
    found = {line.holdout for line in files.read_jsonl(path, Seen)}
    if len(found) != 1:
        raise BadInputError(f"{path}: lines on {len(found)} holdouts, expected one")
    return found.pop()


def _frontier(folder: Path, system: str, kinds: Sequence[TopKind]) -> Iterator[str]:
    """Every choice in words; where each kind of best candidate has a threshold, those of each kind."""
    parts = {f"{kind} ": f"{system}.{kind}" for kind in kinds} or {"": system}
    for kind, name in parts.items():
        yield from (f"{kind}{line}" for line in _choices(files.of_system(folder, name, ".frontier.csv")))


def _choices(path: Path) -> Iterator[str]:
    reader = csv.DictReader(io.StringIO(files.read_text(path)))
    try:
        if lacking := [column for column in COLUMNS if column not in (reader.fieldnames or ())]:
            raise BadInputError(f"{path}: missing columns {', '.join(lacking)}")
        yield from map(_choice, reader)
    except (TypeError, ValueError, csv.Error) as error:
        raise BadInputError(f"{path}:{reader.line_num}: {error}") from error


def _choice(row: dict[str, str]) -> str:
    weights = (
        f"weight {float(row['weight_from']):g} to {float(row['weight_to']):g}"
        if row["weight_to"]
        else (f"weight from {float(row['weight_from']):g}")
    )
    bar = f"{float(row['threshold']):.4f}" if row["threshold"] else "refuse all"
    return f"{weights}: {bar}, FP {int(row['fp'])}, FN {int(row['fn'])}"


def _stale(chain: Path, params: dict[str, Any], written: dict[str, str]) -> Iterator[str]:
    """What is committed otherwise than a stage read or wrote it, each named once; only what was read here counts."""
    seen: set[str] = set()
    for stage in WRITTEN_BY:
        part = files.read_json(files.of_system(chain, stage), Part)
        changed = [one.path for one in (*part.read, *part.wrote) if _is_other(one, written)]
        if plain_numbers({name: params.get(name) for name in part.params}) != part.params or _is_of_others(
            part, params
        ):
            changed.append("params.yaml")
        yield from (f"{path}: not as {stage} knew it" for path in changed if path not in seen)
        seen.update(changed)


def _is_other(was: File, written: dict[str, str]) -> bool:
    """True for a file that is not as it was, and for a source that is gone; what else is gone was not asked for."""
    now = written.get(was.path)
    return now != was.sha256 and (now is not None or covers(SOURCES, was.path))


def _is_of_others(part: Part, params: dict[str, Any]) -> bool:
    """True where params.yaml names another dataset or holdout than was evaluated; one elsewhere is not looked at."""
    questions = normpath(OF_DATASET["questions"].format(**load_source(params)._asdict()))
    return (
        part.stage == EVALUATED_BY and not _is_outside(questions) and questions not in {one.path for one in part.read}
    )
