"""Stage: images and their training captions -> the checkpoint of the caption encoder, and its learning curve.

The texts of the index, which have no images, only say how rare a piece of a word is.
"""

from argparse import Namespace
from typing import Any

import numpy as np

from stages import arrays, files
from stages.corpus.png import decode
from stages.encoder import features, text
from stages.encoder.checkpoint import to_arrays
from stages.encoder.training import Epoch, train
from stages.errors import BadInputError
from stages.originals import read_index, read_original
from stages.params import EncoderParams, IndexParams, of_params
from stages.retrieval.lexical import entry_words, front_matters
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "captions", "checkpoint", "curve")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write checkpoint.npz and curve.csv."""
    most = of_params(IndexParams, "index", params).max_pixels
    captions = files.read_captions(paths.captions)
    if not captions:
        raise BadInputError(f"{paths.captions}: no captions; the encoder learns from at least 4")
    by_id = {entry.id: entry for entry in read_index(paths.index).entries}
    lacking = sorted({one.image for one in captions} - by_id.keys())
    if lacking:
        raise BadInputError("\n".join(f"{paths.captions}: image: no {path} in the corpus" for path in lacking))
    read = (read_original(paths.corpus, one.image) for one in progress(captions, len(captions), "images"))
    images = np.stack([features.views(decode(data, most)) for data in read])
    fronts = front_matters(by_id.values())
    texts = text.extract(entry_words(entry, fronts) for entry in by_id.values() if entry.kind != "image")
    settings = of_params(EncoderParams, "encoder", params)
    checkpoint, curve = train(images, text.extract(one.caption for one in captions), settings, texts, progress)
    arrays.write_arrays(paths.checkpoint, to_arrays(checkpoint))
    files.write_csv(paths.curve, Epoch._fields, curve)


if __name__ == "__main__":
    run_stage("train_encoder", __doc__, PATHS, main)
