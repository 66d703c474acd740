"""Stage: the development questions, without labels, through every system: records with signals, no threshold."""

from stages import files
from stages.assemble import current_scoring, read_answerer
from stages.params import load_systems
from stages.records import Index, Scored
from stages.stage import run, stage_paths


def main() -> None:
    """Write one records file for each system."""
    paths = stage_paths(__doc__, "params", "corpus", "index", "lexical", "questions", "records")
    params = files.read_params(paths.params)
    index = files.read_json(paths.index, Index)
    answerer = read_answerer(params, paths.corpus, index, paths.lexical)
    questions = files.read_questions(paths.questions)
    for system in load_systems(params):
        scored = Scored(
            system=system,
            snapshot=index.snapshot,
            index=files.hash_file(paths.index),
            scoring=current_scoring(params),
            questions=files.hash_file(paths.questions),
            records=tuple(answerer.answer(question) for question in questions),
        )
        files.write_rows(files.of_system(paths.records, system), scored)


if __name__ == "__main__":
    run(main)
