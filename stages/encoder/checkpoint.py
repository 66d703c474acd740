"""What training leaves, scales of the features and two projections: all that turns an image or a text to a vector."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.encoder import dual, features, text
from stages.errors import BadInputError
from stages.exact import Floats, normalise, snap

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All arrays are float64 on the grid of stages.exact.

    image_mean, image_scale  (features,) an image's features are (x - mean) * scale, then brought to length 1
    text_scale               (buckets,) a text's features are x * scale, then brought to length 1
    image, text              (features, dimension), (buckets, dimension) the projections
    """

    image_mean: Floats
    image_scale: Floats
    text_scale: Floats
    image: Floats
    text: Floats

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.image.shape[1])


def image_input(images: Ints, mean: Floats, scale: Floats) -> Floats:
    """Integer features (n, features) as rows of length 1 on the grid."""
    return normalise(snap((images - mean) * scale))[0]


def text_input(texts: Ints, scale: Floats) -> Floats:
    """Integer features (n, buckets) as rows of length 1 on the grid."""
    return normalise(snap(texts / text.UNIT * scale))[0]


def embed_images(checkpoint: Checkpoint, images: Ints) -> Floats:
    """Vectors (n, dimension) of length 1, on the grid, of integer features (n, features)."""
    return dual.project(image_input(images, checkpoint.image_mean, checkpoint.image_scale), checkpoint.image)


def embed_texts(checkpoint: Checkpoint, texts: Ints) -> Floats:
    """Vectors (n, dimension) of length 1, on the grid, of integer features (n, buckets); no known piece gives 0.

    Buckets that no text has add nothing to exact sums and are left out of the products.
    """
    inputs = text_input(texts, checkpoint.text_scale)
    used = np.flatnonzero(inputs.any(axis=0))
    return dual.project(inputs[:, used], checkpoint.text[used])


def to_arrays(checkpoint: Checkpoint) -> dict[str, Floats]:
    """The arrays by name, for an .npz file."""
    return {item.name: getattr(checkpoint, item.name) for item in fields(checkpoint)}


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Checkpoint:
    """The checkpoint of which `to_arrays` gave the arrays; none of them can be written to.

    Raises BadInputError listing every array that is missing, unknown, of another type or shape, or off the grid.
    """
    names = [item.name for item in fields(Checkpoint)]
    findings = [f"{name}: missing" for name in names if name not in arrays]
    findings += [f"{name}: unknown array" for name in sorted(set(arrays) - set(names))]
    if not findings:
        findings = [finding for name in names for finding in _findings(name, arrays)]
    if findings:
        raise BadInputError("\n".join(f"checkpoint: {finding}" for finding in findings))
    return Checkpoint(**{name: read_only(arrays[name]) for name in names})


def _findings(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    array, dimension = arrays[name], arrays["image"].shape[-1:]
    length = features.LENGTH if name.startswith("image") else text.BUCKETS
    shape = (length, *dimension) if name in ("image", "text") else (length,)
    if array.dtype != np.float64 or array.shape != shape or not dimension or not dimension[0]:
        return [f"{name}: expected float64 of shape {shape}, got {array.dtype} of shape {array.shape}"]
    return [] if np.array_equal(array, snap(array)) else [f"{name}: not on the grid of 2^-20, or not finite"]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy
