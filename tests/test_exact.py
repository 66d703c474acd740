"""HNSW is the default, exact search the check: both give the same answers to every development question."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from stages import files, settings
from stages.assemble import exact_neighbours, read_answerer
from stages.records import Index
from tests.project import ROOT


@pytest.mark.pipeline
def test_hnsw_and_exact_search_answer_alike(committed: Path) -> None:
    declared = settings.read_yaml(ROOT / "dvc.yaml")["vars"][0]["path"]
    paths = Namespace(
        **{name: str(committed / path) for name, path in declared.items()}, corpus=committed / "data/course/corpus"
    )
    index = files.read_json(paths.index, Index)
    hnsw = read_answerer(settings.read_params(ROOT / "params.yaml"), paths, index, ("neural", "hybrid"))
    exact = replace(hnsw, neighbours=exact_neighbours(paths, index))
    for question in files.read_questions(ROOT / "data/course/queries/dev.jsonl"):
        for system in ("neural", "hybrid"):
            one, other = hnsw.answer(question, system), exact.answer(question, system)
            assert (one.signal, one.refusal, one.image, one.answer) == (
                *(other.signal, other.refusal),
                *(other.image, other.answer),
            ), question.id
