"""Stage: the development questions, without labels, through every system: records with signals, no threshold."""

from argparse import Namespace
from typing import Any

from stages import files
from stages.assemble import INDEX_PATHS, read_answerer, scored
from stages.originals import read_index
from stages.params import load_systems
from stages.stage.progress import progress
from stages.stage.run import run_stage


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write one records file for each system."""
    systems, index = load_systems(params), read_index(paths.index)
    answerer = read_answerer(params, paths, index, systems)
    questions = files.read_questions(paths.questions)
    for system in systems:
        asked = progress(questions, len(questions), f"{system} questions")
        records = tuple(answerer.answer(question, system) for question in asked)
        files.write_rows(files.of_system(paths.records, system), scored(params, paths, system, index, records))


if __name__ == "__main__":
    run_stage("score_dev", __doc__, (*INDEX_PATHS, "questions", "records"), main)
