"""Stage: the holdout questions, without labels, against the frozen threshold of every system.

A threshold that does not belong to the corpus, index, development set, records, params and sources that are on disk
now is refused here (exit status 3).
"""

from stages import files
from stages.assemble import current_binding, current_system, read_answerer
from stages.calibration.binding import Swept, Threshold, check_threshold
from stages.calibration.gate import decide
from stages.params import CalibrateParams, load_section, load_systems
from stages.records import Answered, Index, Scored
from stages.stage import run, stage_paths

PATHS = ("params", "corpus", "index", "lexical", "records", "sweep", "threshold", "questions", "holdout")


def main() -> None:
    """Write <system>/answers.json."""
    paths = stage_paths(__doc__, *PATHS)
    params = files.read_params(paths.params)
    fp_weight = load_section(CalibrateParams, "calibrate", params.get("calibrate")).fp_weight
    index = files.read_json(paths.index, Index)
    answerer = read_answerer(params, paths.corpus, index, paths.lexical)
    questions, asked = files.read_questions(paths.questions), files.hash_file(paths.questions)
    for system in load_systems(params):
        frozen = files.read_sealed(files.of_system(paths.threshold, system), Threshold)
        dev_set = files.read_json(files.of_system(paths.sweep, system), Swept).dev_set
        found = current_binding(params, paths, system, dev_set)
        check_threshold(frozen, system, fp_weight, found)
        records = tuple(answerer.answer(question) for question in questions)
        answered = Answered(
            seal=frozen.seal,
            system=current_system(params, {system: frozen.seal}),
            scored=Scored(system, index.snapshot, found["index"], found["scoring"], asked, records),
            decisions=tuple(decide(record, frozen.threshold) for record in records),
        )
        files.write_rows(files.in_system(paths.holdout, system, "answers.json"), answered)


if __name__ == "__main__":
    run(main)
