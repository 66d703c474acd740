"""`frostline explain`: how one question went through a system, step by step, and the first step that went wrong.

Reads what the stages wrote; the labels stay closed. A development question is judged already, and decided again here.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from stages import artifacts, files, results
from stages.calibration.gate import Gate
from stages.chain import broken_links
from stages.errors import BadInputError, StaleThresholdError
from stages.evaluated import read_queries
from stages.measures.attribution import cause
from stages.measures.story import Story, plain, story_text
from stages.params import known_system, load_source
from stages.project import Project, read_project
from stages.stage.declared import before
from stages.stage.run import guard

DEV = "dev"
WRITTEN_BY = {DEV: "freeze_threshold"}
"""The stage that wrote the last of what is told; of any other part `evaluate_holdout`."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("id", metavar="ID", help="of a development or holdout question")
    parser.add_argument("--system", help="default: the first in params.yaml")
    parser.add_argument("--vs", metavar="SYSTEM", help="another system beside it")
    parser.set_defaults(command=explain)


def explain(arguments: Namespace) -> None:
    """Print the story. Raises BadInputError for an unknown question, StaleThresholdError for a story that is stale."""
    project = read_project(".")
    guard(load_source(project.params).dataset)
    systems = [known_system(project.params, arguments.system)]
    if arguments.vs is not None:
        systems.append(known_system(project.params, arguments.vs))
    stories = [find(project, arguments.id, system) for system in dict.fromkeys(systems)]
    print(story_text(stories))
    last = WRITTEN_BY.get(stories[0].part, "evaluate_holdout")
    if broken_links(project, before(project.stages, last), open_labels=False):
        raise StaleThresholdError("this story does not belong to what is here; `frostline verify` says why")


def find(project: Project, name: str, system: str) -> Story:
    """The story of a question, of dev or of the holdout. Raises BadInputError for an id of both sets, or of none."""
    stories = [*_of_dev(project, system), *_of_holdout(project, system)]
    found = [one for one in stories if one.record.id == name]
    if not found:
        raise BadInputError(_unknown(name, stories))
    if len(found) > 1:
        parts = " and of ".join(one.part for one in found)
        raise BadInputError(f"{name}: a question of {parts}; give one of them another id (`frostline check` finds all)")
    return found[0]


def _unknown(name: str, stories: Iterable[Story]) -> str:
    parts: dict[str, list[str]] = {}
    for one in stories:
        parts.setdefault(one.part, []).append(one.record.id)
    sets = ", ".join(f"{part} ({ids[0]} to {ids[-1]}, {len(ids)})" for part, ids in parts.items())
    near = get_close_matches(name, [one for ids in parts.values() for one in ids], 5, 0.5)
    return plain(f"{name}: no question of {sets or 'any set'}{'; near: ' if near else ''}{', '.join(near)}")


def _of_dev(project: Project, system: str) -> Iterator[Story]:
    paths = project.paths
    records, judged = artifacts.read_scored(paths.records, system).records, results.read_judged(paths.judged, system)
    results.refuse_others(paths.judged, system, judged, records)
    gate = Gate(artifacts.read_frozen(paths.threshold, system))
    for record, row in zip(records, judged, strict=True):
        decision = gate.settle(row)
        yield Story(DEV, system, record, decision, row.category, row.kind, row.holders, cause(row, decision))


def _of_holdout(project: Project, system: str) -> Iterator[Story]:
    """Nothing where no holdout was evaluated yet."""
    if not files.in_system(project.paths.holdout, system, "queries.json").exists():
        return
    answered = artifacts.read_answered(project.paths.holdout, system)
    records, decisions = answered.scored.records, answered.decisions
    path = files.in_system(project.paths.holdout, system, "answers.json")
    files.refuse_made(path, [] if len(records) == len(decisions) else ["decisions: expected one for each record"])
    rows = read_queries(project.paths.holdout, system)
    same = [record.id for record in records] == [row.id for row in rows]
    files.refuse_made(path, [] if same else ["not the questions of queries.json"])
    part = load_source(project.params).holdout
    for record, decision, row in zip(records, decisions, rows, strict=True):
        label = row.label
        yield Story(part, system, record, decision, label.category, label.unanswerable_kind, row.holders, row.cause)
