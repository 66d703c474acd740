"""Stage: images and their training captions -> the checkpoint of the caption encoder, and its learning curve.

The texts of the index, which have no images, only say how rare a piece of a word is.
"""

from argparse import Namespace
from functools import partial
from typing import Any

from stages import arrays, files
from stages.encoder.checkpoint import to_arrays
from stages.encoder.training import Epoch
from stages.errors import BadInputError
from stages.learning import learn
from stages.originals import read_index, read_original
from stages.params import EncoderParams, IndexParams, of_params
from stages.stage.progress import progress
from stages.stage.run import run_stage

PATHS = ("corpus", "index", "captions", "checkpoint", "curve")


def main(params: dict[str, Any], paths: Namespace) -> None:
    """Write checkpoint.npz and curve.csv."""
    most = of_params(IndexParams, "index", params).max_pixels
    captions = files.read_captions(paths.captions)
    if not captions:
        raise BadInputError(f"{paths.captions}: no captions; the encoder learns from at least 4")
    entries = read_index(paths.index).entries
    lacking = sorted({one.image for one in captions} - {entry.id for entry in entries})
    if lacking:
        raise BadInputError("\n".join(f"{paths.captions}: image: no {path} in the corpus" for path in lacking))
    settings = of_params(EncoderParams, "encoder", params)
    checkpoint, curve = learn(captions, entries, partial(read_original, paths.corpus), most, settings, progress)
    arrays.write_arrays(paths.checkpoint, to_arrays(checkpoint))
    files.write_csv(paths.curve, Epoch._fields, curve)


if __name__ == "__main__":
    run_stage("train_encoder", __doc__, PATHS, main)
