"""`frostline again`: the holdout's questions asked again, about damaged images or with one factor changed.

A look at the holdout is a look, whatever was damaged or switched off: the ledger records each change before its first
question is asked. The labels come from what `evaluate_holdout` wrote, so only a system that the ledger knows is asked.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import NamedTuple

from stages import files, results
from stages.ablating import Base, ask_ablated
from stages.answering.answer import Answerer
from stages.assemble import checked_answers, every, read_answerer, uses_encoder
from stages.atomic import told
from stages.calibration.gate import Gate
from stages.calibration.ledger import Seen, add, holdout_hash
from stages.chain import broken_links
from stages.damaging import Before, ask_damaged, refuse_another
from stages.errors import BadInputError, StaleThresholdError
from stages.evaluated import read_queries
from stages.hashing import canonical_json
from stages.importing import refuse_inside, refuse_taken
from stages.measures.ablation import Ablated, ablation_table
from stages.measures.damage import CLEAN, Case, Point, curves, damage_table, summary
from stages.measures.evaluate import judge_all
from stages.measures.relevance import what_is_indexed
from stages.originals import read_index
from stages.params import CalibrateParams, load_source, load_systems, of_params
from stages.project import Project, read_project
from stages.rebuild import remembering
from stages.records import Answered, Label, Question
from stages.stage.progress import progress
from stages.variations import PerturbationParams, load_ablations

TAKE_IN = "`dvc repro -f -s evaluate_holdout && dvc repro` takes them into the report"


class Holdout(NamedTuple):
    """An evaluated holdout: its questions with labels, and by system the gate and the answers."""

    project: Project
    questions: list[Question]
    labels: list[Label]
    gates: dict[str, Gate]
    answered: dict[str, Answered]
    answerer: Answerer
    line: Seen


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("section", choices=("perturbation", "ablations"), help="of params.yaml: what is changed")
    parser.add_argument("dest", metavar="DEST", type=Path, help="a new or empty folder for what comes out")
    parser.set_defaults(command=again)


def again(arguments: Namespace) -> None:
    """Ask, write what came out into a folder, print a table.

    Raises StaleThresholdError where what is here does not belong together, or the ledger does not know this system.
    """
    project, dest = read_project("."), arguments.dest
    refuse_taken(dest)
    for kept in (load_source(project.params).dataset, "artifacts", "stages"):
        refuse_inside(dest, project.root / kept)
    holdout = read_holdout(project)
    with told(dest):  # before the holdout is spent
        dest.mkdir(parents=True, exist_ok=True)
    run = damaged if arguments.section == "perturbation" else ablated
    print(run(holdout, dest))


def read_holdout(project: Project) -> Holdout:
    """The holdout as it was evaluated last, once everything up to there is verified."""
    params, paths, systems = project.params, project.paths, load_systems(project.params)
    if broken_links(project, project.stages, open_labels=False):
        raise StaleThresholdError("this evaluation does not belong to what is here; `frostline verify` says why")
    checked = every(systems, lambda system: checked_answers(params, paths, system))
    queries = read_queries(paths.holdout, systems[0])
    questions, labels = [Question(one.id, one.text) for one in queries], [one.label for one in queries]
    holdout, system = holdout_hash(questions, labels), results.read_figures(paths.metrics, systems)["system"]
    known = files.read_jsonl(paths.ledger, Seen, missing_ok=True)
    line = next((one for one in known if (one.holdout, one.system) == (holdout, system) and not one.changed), None)
    if line is None:
        raise StaleThresholdError(f"{paths.ledger}: no line on this evaluation; run `frostline ledger`")
    return Holdout(
        project,
        questions,
        labels,
        {system: Gate(frozen) for system, (frozen, _) in checked.items()},
        {system: answered for system, (_, answered) in checked.items()},
        remembering(read_answerer(params, paths, read_index(paths.index), systems)),
        line,
    )


def shown(value: object) -> str:
    """A value of params.yaml as the ledger has it."""
    return canonical_json(value).decode()


def record(holdout: Holdout, changes: Sequence[str]) -> str:
    """Add a line to the ledger for each change; says how many of them are new."""
    made = [replace(holdout.line, results={}, changed=one) for one in changes]
    ledger = holdout.project.paths.ledger
    before = len(files.read_jsonl(ledger, Seen))
    new = len(files.update_jsonl(ledger, Seen, lambda seen: add(seen, *made))) - before
    return f"{new} new lines in {ledger}; {TAKE_IN}" if new else f"no new line in {ledger}"


def damaged(holdout: Holdout, dest: Path) -> str:
    """Write cases.csv, curves.csv and results.json as `perturb_images` does for dev; returns the table."""
    params, paths = holdout.project.params, holdout.project.paths
    asked = [pair for pair in zip(holdout.questions, holdout.labels, strict=True) if pair[1].category == "image"]
    table = of_params(PerturbationParams, "perturbation", params)
    images = any(one.kind == "image" for one in holdout.answerer.library.entries.values())
    if not (asked and images and table.changes):
        raise BadInputError("nothing to damage: no image, no question about one, or no changes in params.yaml")
    changes = [f"perturbation.{name}={shown(how)} (seed {table.seed})" for name, how in table.changes.items()]
    recorded = record(holdout, changes)
    checkpoint = files.hash_file(paths.checkpoint) if uses_encoder(holdout.gates) else None
    figures = results.read_figures(paths.metrics, list(holdout.gates))
    cases: list[Case] = []
    for met in ask_damaged(params, paths, holdout.answerer, holdout.gates, asked):
        for system, found in met.cases.items():
            if met.condition.change == CLEAN:
                answers = {one.id: one for one in holdout.answered[system].scored.records}
                path = files.in_system(paths.holdout, system, "answers.json")
                before = Before(path, answers, paths.metrics, figures[system]["answers"]["image"])
                refuse_another(system, met.records[system], found, before)
            cases += found
    if checkpoint != (files.hash_file(paths.checkpoint) if uses_encoder(holdout.gates) else None):
        raise BadInputError(f"{paths.checkpoint}: changed while images were damaged; run it again")
    made = summary(cases, asked, checkpoint)
    files.write_csv(dest / "cases.csv", [item.name for item in fields(Case)], map(astuple, cases))
    files.write_csv(dest / "curves.csv", Point._fields, curves(made.effects))
    files.write_rows(dest / "results.json", made)
    return f"{damage_table(made.effects)}\n{recorded}"


def ablated(holdout: Holdout, dest: Path) -> str:
    """Write results.json as `ablate` does for dev; returns the table."""
    params, paths, listed = holdout.project.params, holdout.project.paths, load_ablations(holdout.project.params)
    if not listed:
        raise BadInputError("nothing to change: no ablations in params.yaml")
    recorded = record(holdout, [f"{one.factor}={shown(one.value)}" for one in listed])
    indexed, unread = what_is_indexed(read_index(paths.index)), {one.id: False for one in holdout.labels}
    base = Base(
        files.read_captions(paths.captions) if uses_encoder(holdout.gates) else [],
        holdout.questions,
        holdout.labels,
        {
            system: judge_all(one.scored.records, holdout.labels, indexed, unread)
            for system, one in holdout.answered.items()
        },
    )
    weight = of_params(CalibrateParams, "calibrate", params).weight
    found = [
        one
        for item in progress(listed, len(listed), "ablations")
        for one in ask_ablated(item, paths, holdout.answerer, holdout.gates, base, weight)
    ]
    files.write_rows(dest / "results.json", Ablated(tuple(found)))
    return f"{ablation_table(found)}\n{recorded}"
