"""`frostline`: ask the frozen system a question, print the result table. Run in the project's folder."""

import argparse
import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from stages import files
from stages.assemble import read_answerer, usable_threshold
from stages.calibration.binding import Threshold, bar
from stages.calibration.gate import decide
from stages.errors import BadInputError
from stages.measures.table import result_table
from stages.params import load_dataset, load_systems
from stages.records import Answered, Decision, Index, Question, Record
from stages.stage import run

EXIT = "exit status: 0 answered or refused, 1 unusable input, 2 unusable arguments, 3 a stale threshold"
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


def project() -> tuple[dict[str, Any], Namespace]:
    """The params, and the paths that dvc.yaml declares, for the dataset in params.yaml."""
    if not Path("dvc.yaml").exists():
        raise BadInputError("no dvc.yaml here; run frostline in the project's folder")
    params = files.read_params("params.yaml")
    declared = files.read_yaml("dvc.yaml").get("vars")
    if not isinstance(declared, list) or not isinstance(declared[0], dict) or "path" not in declared[0]:
        raise BadInputError("dvc.yaml: vars: expected a first item `path` with the artifacts' file names")
    return params, Namespace(**declared[0]["path"], corpus=f"{load_dataset(params)}/corpus")


def ask(text: str, system: str | None) -> tuple[Record, Decision]:
    """Answer one question under the frozen threshold; StaleThresholdError when it does not belong to what is here."""
    params, paths = project()
    systems = load_systems(params)
    system = system or systems[0]
    if system not in systems:
        raise BadInputError(f"--system {system}: not in params.yaml (systems: {', '.join(systems)})")
    frozen = usable_threshold(params, paths, system)
    answerer = read_answerer(params, paths, files.read_json(paths.index, Index), (system,))
    record = answerer.answer(Question("ask", text), system)
    return record, decide(record, bar(frozen, record.top))


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


def _ask(arguments: Namespace) -> None:
    record, decision = ask(arguments.question, arguments.system)
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(record) | msgspec.to_builtins(decision), ensure_ascii=False, indent=2))
    else:
        print(told(record, decision))


def _table(arguments: Namespace) -> None:
    params, paths = project()
    metrics = files.read_json(paths.metrics, dict[str, Any])
    print(result_table(metrics))
    for system in load_systems(params):
        frozen = files.read_sealed(files.of_system(paths.threshold, system), Threshold)
        answered = files.read_json(files.in_system(paths.holdout, system, "answers.json"), Answered)
        if answered.seal != frozen.seal or metrics[system]["threshold"]["by_kind"] != frozen.by_kind:
            print(f"{system}: these figures are another threshold's; run `dvc repro`")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="frostline", description=__doc__, epilog=EXIT)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("ask", help="answer a question from the frozen artifacts, or refuse with the reason")
    one.add_argument("question")
    one.add_argument("--system", help="default: the first in params.yaml")
    one.add_argument("--json", action="store_true", help="the whole record: rank lists, context, citations, decision")
    one.set_defaults(command=_ask)
    one = commands.add_parser("table", help="print the result table of the last evaluation")
    one.set_defaults(command=_table)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of `frostline` and `python -m stages.cli`."""
    arguments = _parser().parse_args(argv)
    run(lambda: arguments.command(arguments))


if __name__ == "__main__":
    main()
