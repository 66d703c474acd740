"""Stage: entries -> vectors on a grid, and the HNSW index over them. Images by their pixels, all else by its words."""

from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages import arrays, files
from stages.assemble import read_checkpoint
from stages.corpus.png import decode
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint, embed_images, embed_texts
from stages.originals import read_index, read_original
from stages.params import IndexParams, NeighboursParams, of_params
from stages.records import Entry, Vectors
from stages.retrieval.lexical import entry_words, front_matters
from stages.retrieval.neighbours import quantise
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "checkpoint", "vectors", "hnsw", "embedding")


def embed(entries: tuple[Entry, ...], corpus: str, most: int, checkpoint: Checkpoint) -> NDArray[np.float64]:
    """The vectors of all entries, (entries, dimension); images with the same bytes are decoded once."""
    fronts = front_matters(entries)
    images: dict[str, NDArray[np.float64]] = {}
    for entry in progress(entries, len(entries), "images"):
        if entry.kind == "image" and entry.sha256 not in images:
            pixels = decode(read_original(corpus, entry.path), most)
            images[entry.sha256] = embed_images(checkpoint, features.extract(pixels)[None]).ravel()
    return np.stack(
        [
            images[entry.sha256]
            if entry.kind == "image"
            else embed_texts(checkpoint, text.extract([entry_words(entry, fronts)])).ravel()
            for entry in progress(entries, len(entries), "entries")
        ]
    )


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write vectors.npz, hnsw.bin, and vectors.json, which names both by hash with what they were made from."""
    most = of_params(IndexParams, "index", params).max_pixels
    settings = of_params(NeighboursParams, "neighbours", params)
    checkpoint = read_checkpoint(paths.checkpoint)
    rows = quantise(embed(read_index(paths.index).entries, paths.corpus, most, checkpoint))
    embedding = Vectors(
        model="caption-encoder",
        checkpoint=files.hash_file(paths.checkpoint),
        dimension=checkpoint.dimension,
        index=files.hash_file(paths.index),
        vectors=arrays.write_arrays(paths.vectors, {"vectors": rows}),
        hnsw=arrays.write_hnsw(paths.hnsw, rows, settings),
    )
    files.write_json(paths.embedding, embedding)


if __name__ == "__main__":
    run_stage("embed_corpus", __doc__, PATHS, main)
