"""How much of the neural system the encoder itself earned: `python -m tests.bench.encoder_alone`.

The development questions about images, with the committed encoder and vectors: the right image first among the nearest
vectors, first after the reranker, and accepted by the support check; then all of it again with the description words
taken from the index, so that nothing but the encoder knows what an image shows. Run `dvc repro` first.
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stages import files, settings
from stages.answering.answer import Answerer
from stages.assemble import read_answerer
from stages.corpus.terms import split_vocabulary
from stages.measures.ranking import first_relevant_rank
from stages.records import Index, Label, Question
from stages.retrieval.lexical import build_lexical, count_terms

ROOT = Path(__file__).parents[2]
DATASET = ROOT / "data/course"


def without_descriptions(answerer: Answerer) -> Answerer:
    """The same answerer over an index whose images have no words but those of the documents that show them."""
    entries = [replace(one, text="") if one.kind == "image" else one for one in answerer.library.entries.values()]
    words, _ = split_vocabulary(settings.read_vocabulary())
    lexical = build_lexical(count_terms(entries, words))
    library = replace(answerer.library, entries={one.id: one for one in entries}, lexical=lexical)
    return replace(answerer, library=library)


def line(title: str, answerer: Answerer, texts: dict[str, str], labels: Sequence[Label]) -> str:
    """Counts over the questions about images: first before and after reranking, supported and right."""
    before = after = right = 0
    for label in labels:
        record = answerer.answer(Question(label.id, texts[label.id]), "neural")
        wanted = {str(label.expected_image)}
        before += first_relevant_rank([one.id for one in record.candidates], wanted) == 1
        after += first_relevant_rank([one.id for one in record.reranked], wanted) == 1
        right += record.support and record.image in wanted
    return f"{title}: {before} before reranking, {after} after it, {right} supported and right, of {len(labels)}"


def main() -> None:
    """Print one line with and one without the description words, for the plain phrases and for all questions."""
    declared = settings.read_yaml(ROOT / "dvc.yaml")["vars"][0]["path"]
    paths = Namespace(**{name: ROOT / path for name, path in declared.items()}, corpus=DATASET / "corpus")
    params = settings.read_params(ROOT / "params.yaml")
    whole = read_answerer(params, paths, files.read_json(paths.index, Index), ("neural",))
    texts = {one.id: one.text for one in files.read_questions(DATASET / "queries/dev.jsonl")}
    labels = [one for one in files.read_labels(DATASET / "evaluation-only/dev.jsonl") if one.category == "image"]
    plain = [one for one in labels if len(texts[one.id].split()) == 3]
    for title, answerer in (("with description words", whole), ("without", without_descriptions(whole))):
        print(line(f"{title}, questions of three words", answerer, texts, plain))
        print(line(f"{title}, all questions about images", answerer, texts, labels))


if __name__ == "__main__":
    main()
