"""Stage: the holdout questions, without labels, against the frozen threshold of every system.

A threshold that does not belong to the corpus, index, development set, records, params and sources that are on disk
now is refused here (exit status 3).
"""

from argparse import Namespace
from typing import Any

from stages import files
from stages.assemble import INDEX_PATHS, current_system, every, read_answerer, scored, usable_threshold
from stages.originals import read_index
from stages.params import load_systems
from stages.records import Answered
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = (*INDEX_PATHS, "records", "sweep", "threshold", "questions", "holdout")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write <system>/answers.json."""
    gates = every(load_systems(params), lambda system: usable_threshold(params, paths, system))
    index = read_index(paths.index)
    answerer = read_answerer(params, paths, index, gates)
    questions = files.read_questions(paths.questions)
    for system, gate in gates.items():
        asked = progress(questions, len(questions), f"{system} questions")
        records = tuple(answerer.answer(question, system) for question in asked)
        answered = Answered(
            seal=gate.frozen.seal,
            system=current_system(params, {system: gate.frozen.seal}),
            scored=scored(params, paths, system, index, records),
            decisions=tuple(gate.settle(record) for record in records),
        )
        files.write_rows(files.in_system(paths.holdout, system, "answers.json"), answered)


if __name__ == "__main__":
    run_stage("answer_holdout", __doc__, PATHS, main)
