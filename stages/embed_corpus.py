"""Stage: entries -> vectors on a grid, and the HNSW index over them. Images by their pixels, all else by its words."""

from argparse import Namespace
from functools import partial
from typing import Any

from stages import arrays, files
from stages.assemble import read_checkpoint
from stages.originals import read_index, read_original
from stages.params import IndexParams, NeighboursParams, of_params
from stages.rebuild import embed_entries
from stages.records import Vectors
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "checkpoint", "vectors", "hnsw", "embedding")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write vectors.npz, hnsw.bin, and vectors.json, which names both by hash with what they were made from."""
    most = of_params(IndexParams, "index", params).max_pixels
    settings = of_params(NeighboursParams, "neighbours", params)
    checkpoint = read_checkpoint(paths.checkpoint)
    read = partial(read_original, paths.corpus)
    rows = embed_entries(read_index(paths.index).entries, read, most, checkpoint, progress)
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
