"""Stage: originals -> entries, chunks, fields, terms and the snapshot hash. Opens the corpus and no other data."""

from argparse import Namespace
from typing import Any

from stages import arrays, files
from stages.corpus.index import index_originals, refusals
from stages.corpus.terms import split_vocabulary
from stages.originals import read_originals, snapshot_hash
from stages.params import IndexParams, of_params
from stages.records import Index
from stages.retrieval.lexical import build_lexical, count_terms, to_arrays
from stages.settings import read_vocabulary
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "lexical", "rejected")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Read every original; write lexical.npz, index.json, which names it by hash, and rejected.json."""
    settings = of_params(IndexParams, "index", params)
    sections = read_vocabulary()
    read, findings = read_originals(paths.corpus)
    entries, rejected = index_originals(read, sections, settings, progress)
    files.refuse([*findings, *refusals(read, rejected, settings)])
    lexical = build_lexical(count_terms(entries, split_vocabulary(sections)[0], progress))
    left_out = {one.path for one in rejected}
    index = Index(
        snapshot=snapshot_hash(original for original, _ in read),
        lexical=arrays.write_arrays(paths.lexical, to_arrays(lexical)),
        originals=tuple(original for original, _ in read if original.path not in left_out),
        rejected=tuple(one.file for one in rejected),
        entries=tuple(entries),
    )
    files.write_rows(paths.index, index)
    files.write_json(paths.rejected, rejected)


if __name__ == "__main__":
    run_stage("build_index", __doc__, PATHS, main)
