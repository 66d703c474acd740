"""Stage: originals -> entries, chunks, fields, terms and the snapshot hash. Opens the corpus and no other data."""

from stages import files
from stages.corpus.index import index_originals
from stages.corpus.terms import split_vocabulary
from stages.params import IndexParams, load_section
from stages.records import Index
from stages.retrieval.lexical import build_lexical, count_terms, to_arrays
from stages.stage import run, stage_paths


def main() -> None:
    """Read every original; write lexical.npz and index.json, which names it by hash."""
    paths = stage_paths(__doc__, "params", "corpus", "index", "lexical")
    params = load_section(IndexParams, "index", files.read_params(paths.params).get("index"))
    sections = files.read_vocabulary()
    read = [files.read_original(paths.corpus, path) for path in files.list_originals(paths.corpus)]
    originals = tuple(original for original, _ in read)
    entries = index_originals(read, sections, params)
    lexical = build_lexical(count_terms(entries, split_vocabulary(sections)[0]))
    index = Index(
        snapshot=files.snapshot_hash(originals),
        lexical=files.write_arrays(paths.lexical, to_arrays(lexical)),
        originals=originals,
        entries=tuple(entries),
    )
    files.write_rows(paths.index, index)


if __name__ == "__main__":
    run(main)
