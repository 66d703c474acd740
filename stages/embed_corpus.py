"""Stage: entries -> vectors on a grid, and the HNSW index over them. Images by their pixels, all else by its words."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages import files
from stages.assemble import read_checkpoint
from stages.corpus.png import decode
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint, embed_images, embed_texts
from stages.params import IndexParams, NeighboursParams, load_section
from stages.records import Entry, Index, Vectors
from stages.retrieval.lexical import entry_words
from stages.retrieval.neighbours import quantise
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "checkpoint", "vectors", "hnsw", "embedding")


def embed(entry: Entry, by_id: dict[str, Entry], corpus: str, most: int, checkpoint: Checkpoint) -> NDArray[np.float64]:
    """The vector of one entry, (dimension,)."""
    if entry.kind == "image":
        pixels = decode(files.read_bytes(Path(corpus) / entry.path), most)
        return embed_images(checkpoint, features.extract(pixels)[None]).ravel()
    return embed_texts(checkpoint, text.extract([entry_words(entry, by_id)])).ravel()


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write vectors.npz, hnsw.bin, and vectors.json, which names both by hash with what they were made from."""
    most = load_section(IndexParams, "index", params.get("index")).max_pixels
    settings = load_section(NeighboursParams, "neighbours", params.get("neighbours"))
    checkpoint = read_checkpoint(paths.checkpoint)
    by_id = {entry.id: entry for entry in files.read_json(paths.index, Index).entries}
    rows = quantise(np.stack([embed(entry, by_id, paths.corpus, most, checkpoint) for entry in by_id.values()]))
    embedding = Vectors(
        model="caption-encoder",
        checkpoint=files.hash_file(paths.checkpoint),
        dimension=checkpoint.dimension,
        index=files.hash_file(paths.index),
        vectors=files.write_arrays(paths.vectors, {"vectors": rows}),
        hnsw=files.write_hnsw(paths.hnsw, rows, settings),
    )
    files.write_json(paths.embedding, embedding)


if __name__ == "__main__":
    run_stage("embed_corpus", __doc__, PATHS, main)
