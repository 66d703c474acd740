"""The table of changes: each by its name, as a function of pixels, a strength and random numbers of its own."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from stages.corpus.png import Pixels, decode
from stages.hashing import hash_of, sha256
from stages.perturbation import blocks, levels, places
from stages.perturbation.png import encode

Change: TypeAlias = Callable[[Pixels, int, np.random.Generator], Pixels]
OfLevels: TypeAlias = Callable[[levels.Levels, int], levels.Levels]


def _of_levels(change: OfLevels) -> Change:
    return lambda pixels, strength, random: pixels._replace(rgb=change(pixels.rgb, strength))


CHANGES: Mapping[str, Change] = {
    "clean": lambda pixels, strength, random: pixels,
    "brightness": _of_levels(levels.brightness),
    "contrast": _of_levels(levels.contrast),
    "hue": _of_levels(levels.hue),
    "noise": lambda pixels, strength, random: pixels._replace(rgb=levels.noise(pixels.rgb, strength, random)),
    "blur": _of_levels(blocks.blur),
    "quantisation": _of_levels(blocks.quantise),
    "downscale": _of_levels(blocks.downscale),
    "rotation": lambda pixels, strength, random: places.rotate(pixels, strength),
    "translation": lambda pixels, strength, random: places.translate(pixels, strength),
    "crop": lambda pixels, strength, random: places.crop(pixels, strength),
    "occlusion": places.occlude,
    "background": lambda pixels, strength, random: places.background(pixels, strength),
    "inversion": _of_levels(levels.invert),
}
"""By the names of stages.params.STRENGTHS, which has ranges and units; and no change, on the same way."""


def altered(data: bytes, change: str, strength: int, seed: int, most: int) -> bytes:
    """The PNG file of an image of at most `most` pixels after one change; its own bytes where no pixel moves.

    The random numbers are those of the seed, the change and the image's bytes: files with the same bytes stay alike.
    What the file itself says in words is kept.
    """
    pixels = decode(data, most)
    drawn = int(hash_of([seed, change, sha256(data)])[:16], 16)
    made = CHANGES[change](pixels, strength, np.random.Generator(np.random.PCG64(drawn)))
    return data if same(pixels, made) else encode(made, data)


def same(one: Pixels, other: Pixels) -> bool:
    """True where not a pixel differs."""
    return np.array_equal(one.rgb, other.rgb) and np.array_equal(one.opaque, other.opaque)
