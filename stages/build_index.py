"""Stage: originals -> entries, chunks, fields, terms and the snapshot hash. Opens the corpus and no other data."""

from argparse import Namespace
from typing import Any

from stages import arrays, files
from stages.corpus.index import index_originals
from stages.corpus.terms import split_vocabulary
from stages.originals import list_originals, snapshot_hash
from stages.params import IndexParams, of_params
from stages.records import Index
from stages.retrieval.lexical import build_lexical, count_terms, to_arrays
from stages.settings import read_vocabulary
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "lexical")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Read every original; write lexical.npz and index.json, which names it by hash."""
    settings = of_params(IndexParams, "index", params)
    sections = read_vocabulary()
    read = [files.hashed(paths.corpus, path) for path in list_originals(paths.corpus)]
    originals = tuple(original for original, _ in read)
    entries = index_originals(read, sections, settings)
    lexical = build_lexical(count_terms(entries, split_vocabulary(sections)[0]))
    index = Index(
        snapshot=snapshot_hash(originals),
        lexical=arrays.write_arrays(paths.lexical, to_arrays(lexical)),
        originals=originals,
        entries=tuple(entries),
    )
    files.write_rows(paths.index, index)


if __name__ == "__main__":
    run_stage("build_index", __doc__, PATHS, main)
