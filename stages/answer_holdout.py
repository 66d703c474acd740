"""Stage: the holdout questions, without labels, against the frozen threshold of every system.

A threshold that does not belong to the corpus, index, development set, records, params and sources that are on disk
now is refused here (exit status 3).
"""

from stages import files
from stages.assemble import INDEX_PATHS, current_system, read_answerer, scored, usable_threshold
from stages.calibration.binding import bar
from stages.calibration.gate import decide
from stages.params import load_systems
from stages.records import Answered, Index
from stages.stage import run, stage_paths

PATHS = (*INDEX_PATHS, "records", "sweep", "threshold", "questions", "holdout")


def main() -> None:
    """Write <system>/answers.json."""
    paths = stage_paths(__doc__, *PATHS)
    params = files.read_params(paths.params)
    thresholds = {system: usable_threshold(params, paths, system) for system in load_systems(params)}
    index = files.read_json(paths.index, Index)
    answerer = read_answerer(params, paths, index, thresholds)
    questions = files.read_questions(paths.questions)
    for system, frozen in thresholds.items():
        records = tuple(answerer.answer(question, system) for question in questions)
        answered = Answered(
            seal=frozen.seal,
            system=current_system(params, {system: frozen.seal}),
            scored=scored(params, paths, system, index, records),
            decisions=tuple(decide(record, bar(frozen, record.top)) for record in records),
        )
        files.write_rows(files.in_system(paths.holdout, system, "answers.json"), answered)


if __name__ == "__main__":
    run(main)
