"""How well an encoder pairs images with their phrases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.encoder.retrieval import both_ways
from stages.exact import normalise

WAYS = ("image_to_text", "text_to_image")


def encoder_metrics(
    images: Sequence[NDArray[np.int8]], texts: Sequence[NDArray[np.int8]], heldout: Sequence[bool]
) -> dict[str, Any]:
    """Top-1 counts, image to text and text to image, each among all n pairs, for `train` and `heldout` apart.

    images and texts: n vectors (dimension,) each, pair by pair.
    """
    if not len(texts):
        return {way: {part: {"correct": 0, "total": 0} for part in ("train", "heldout")} for way in WAYS}
    image_rows, text_rows = (normalise(np.asarray(rows, dtype=np.float64))[0] for rows in (images, texts))
    held = np.array(heldout)
    parts = {"train": np.flatnonzero(~held), "heldout": np.flatnonzero(held)}
    counts = {part: both_ways(image_rows, text_rows, rows) for part, rows in parts.items()}
    return {way: {part: getattr(found, way)._asdict() for part, found in counts.items()} for way in WAYS}
