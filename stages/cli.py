"""`frostline`: ask the frozen system, verify all that is here, print and explain results, compare weights and runs,
check the ledger.

Run it in the project's folder; `calibrate`, for the scores of any other system, `check` and `import`, for any dataset,
run anywhere.
"""

import argparse
import json
import textwrap
from argparse import ArgumentTypeError, Namespace
from collections.abc import Collection, Sequence
from fractions import Fraction

import msgspec

from stages import (
    again,
    calibrate,
    check,
    compare,
    explain,
    exporting,
    files,
    history,
    importing,
    importing_scores,
    results,
    trial,
)
from stages.assemble import every, read_answerer
from stages.calibration.ledger import Seen
from stages.chain import broken_links
from stages.errors import BadInputError, StaleThresholdError
from stages.measures.ledger import again_lines, asked, asked_again, basis, ledger_table, looks, meaning
from stages.measures.table import result_table
from stages.measures.weights import weights_text
from stages.originals import read_index
from stages.params import LARGEST, CalibrateParams, known_system, load_section, load_source, load_systems
from stages.project import read_project
from stages.records import Decision, Question, Record
from stages.stage.run import guard, run
from stages.verify import load_gate, verify

EXIT = (
    "exit status: 0 done (a refused question too), 1 unusable input, 2 unusable arguments, "
    "3 something stale, or a line of the ledger gone"
)
REASONS = {
    "no_candidate": "nothing in the corpus shares a word with the question",
    "source_changed": "the original has changed since it was indexed",
    "below_threshold": "the best candidate's signal is below the frozen threshold",
    "instruction_in_source": "the question or its source tries to give instructions",
    "conflict": "sources give different values",
    "unknown_attribute": "no source tells what is asked",
    "no_such_subject": "the corpus has no such subject",
    "field_not_given": "the subject is there, what is asked of it is not",
    "partial": "only a part of the question can be answered",
}


def ask(text: str, system: str | None) -> tuple[Record, Decision]:
    """Answer one question under the frozen threshold; StaleThresholdError when it does not belong to what is here."""
    _, params, _, paths = read_project(".")
    guard(load_source(params).dataset)
    system = known_system(params, system)
    gate = load_gate(".", system)
    answerer = read_answerer(params, paths, read_index(paths.index), (system,))
    record = answerer.answer(Question("ask", text), system)
    return record, gate.settle(record)


def told(record: Record, decision: Decision) -> str:
    """The answer with its sources, or the reason of the refusal, for a person to read."""
    signal = "none" if record.signal is None else f"{record.signal:.4f}"
    limit = "refuse all" if decision.threshold is None else f"{decision.threshold:.4f}"
    if decision.status == "refused":
        lines = [f"refused: {decision.reason} ({REASONS[str(decision.reason)]})"]
    else:
        lines = [f"answered: {record.image or record.answer}"]
        for one in record.citations:
            place = "" if one.start is None else f"[{one.start}:{one.end}]"
            lines.append(f"  source: {one.path}{place} sha256 {one.sha256[:12]}")
    return "\n".join([*lines, f"  signal {signal}, threshold {limit}"])


def weights(system: str | None, compared: Collection[Fraction]) -> str:
    """Compare weights on the development set, of one system or of all in params.yaml; opens nothing of the holdout.

    Raises StaleThresholdError when a frozen threshold does not belong to what is here.
    """
    _, params, _, paths = read_project(".")
    guard(load_source(params).dataset)

    def compare(name: str) -> str:
        gate = load_gate(".", name)
        return weights_text(results.read_judged(paths.judged, name), gate.frozen, compared)

    return "\n\n".join(every([known_system(params, system)] if system else load_systems(params), compare).values())


def _weight(text: str) -> Fraction:
    """A weight as params.yaml may hold it: 2 and 2.0 are the same."""
    try:
        return load_section(CalibrateParams, "weight", {"fp_weight": float(text), "by_kind": []}).weight
    except (ValueError, BadInputError) as error:
        raise ArgumentTypeError(f"expected a number above 0 and at most {LARGEST}, got {text!r}") from error


def _ask(arguments: Namespace) -> None:
    record, decision = ask(arguments.question, arguments.system)
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(record) | msgspec.to_builtins(decision), ensure_ascii=False, indent=2))
    else:
        print(told(record, decision))


def _table(_: Namespace) -> None:
    project = read_project(".")
    print(result_table(results.read_figures(project.paths.metrics)))
    if broken_links(project, project.stages, open_labels=True):
        raise StaleThresholdError("these figures do not belong to what is here; `frostline verify` says why")


def _weights(arguments: Namespace) -> None:
    print(weights(arguments.system, arguments.weights))


def _ledger(_: Namespace) -> None:
    project = read_project(".")
    paths = project.paths
    dev, holdout = results.read_figures(paths.dev_metrics), results.read_figures(paths.metrics)
    evaluated = {line.holdout for line in files.read_jsonl(paths.seen, Seen)}
    seen = [line for line in files.read_jsonl(paths.ledger, Seen, missing_ok=True) if line.holdout in evaluated]
    seen_by = looks(seen, holdout.get("system"), asked(dev), asked(holdout))
    changed = asked_again(seen)
    told = [f"{meaning(seen_by, changed)} {basis(asked(dev), asked(holdout))}", *again_lines(changed)]
    print("\n".join([ledger_table(seen_by), *(textwrap.fill(line, 120) for line in told)]))
    print("\n".join(history.check(project.root, paths.ledger)))


def _verify(_: Namespace) -> None:
    print(verify("."))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="frostline", description=__doc__, epilog=EXIT)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("ask", help="answer a question from the frozen artifacts, or refuse with the reason")
    one.add_argument("question")
    one.add_argument("--system", help="default: the first in params.yaml")
    one.add_argument("--json", action="store_true", help="the whole record: rank lists, context, citations, decision")
    one.set_defaults(command=_ask)
    one = commands.add_parser("verify", help="hash the chain from originals to report again, and check every threshold")
    one.set_defaults(command=_verify)
    one = commands.add_parser("table", help="print the result table of the last evaluation")
    one.set_defaults(command=_table)
    one = commands.add_parser("weights", help="what other weights would choose, from the development set alone")
    one.add_argument("weights", nargs="+", type=_weight, metavar="WEIGHT", help="false refusals per false accept")
    one.add_argument("--system", help="default: all in params.yaml")
    one.set_defaults(command=_weights)
    one = commands.add_parser("explain", help="how one question went through a system, and what went wrong first")
    explain.add_arguments(one)
    one = commands.add_parser("compare", help="what changed from one evaluated run to another: revisions, experiments")
    compare.add_arguments(one)
    one = commands.add_parser(
        "calibrate", help="freeze a threshold over your own system's scores; --apply it to a holdout"
    )
    calibrate.add_arguments(one, _weight)
    check.add_arguments(commands.add_parser("check", help="find what is wrong with a dataset and its labels"))
    one = commands.add_parser("import", help="make a dataset, or a folder of scores, of what others published")
    formats = one.add_subparsers(required=True, metavar="FORMAT")
    importing.add_arguments(formats.add_parser)
    importing_scores.add_arguments(formats.add_parser)
    one = commands.add_parser(
        "run", help="run the pipeline on another dataset, or calibrate on scores, in a folder of its own"
    )
    trial.add_arguments(one)
    one = commands.add_parser("export", help="write the holdout's rank lists and what is relevant as TREC files")
    exporting.add_arguments(one)
    one = commands.add_parser(
        "again", help="ask the holdout again, damaged or with one factor changed; the ledger records it"
    )
    again.add_arguments(one)
    one = commands.add_parser("ledger", help="print who has seen the holdout, and check that no committed line is gone")
    one.set_defaults(command=_ledger)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of `frostline` and `python -m stages.cli`."""
    arguments = _parser().parse_args(argv)
    run(lambda: arguments.command(arguments))


if __name__ == "__main__":
    main()
