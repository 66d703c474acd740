"""Pairs -> checkpoint: Adam on the contrastive loss, stopped early on a part of the training captions.

Adam: Kingma & Ba 2015, algorithm 1, with their betas and epsilon; the powers of the betas are products, not `pow`.
Two runs: the first leaves `stop_share` of the pairs out and looks for the epoch in which their loss is lowest, the
second begins anew and trains on all pairs for as many epochs. Every random number comes from `seed`.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stages.encoder.checkpoint import Checkpoint, image_input, read_only, text_input
from stages.encoder.dual import Weights, loss_and_gradients
from stages.encoder.features import BLOCKS
from stages.errors import BadInputError
from stages.exact import Floats, log, normalise, snap
from stages.params import EncoderParams
from stages.records import Shown, unseen

Ints = NDArray[np.int64]
Trained: TypeAlias = tuple[Weights, float]

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
BLOCK = 32
"""Rows of weights at a time, few enough for a processor's cache: what is done to each is the same."""
IMAGE_START = 0.2
"""Length of the first image weights beside that of the text weights."""


class Epoch(NamedTuple):
    """One row of the learning curve: `run` is "stopping" or "final", `stop_loss` that of the pairs left out, if any."""

    run: str
    epoch: int
    loss: float
    stop_loss: float | None


class Pairs(NamedTuple):
    """What is trained on: images (n, views, features) and texts (n, buckets), rows of length 1 on the grid."""

    images: Floats
    texts: Floats

    def take(self, rows: Ints) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.images[rows], self.texts[rows])


def train(
    images: Ints,
    texts: Ints,
    params: EncoderParams,
    corpus: Ints | None = None,
    shown: Shown = unseen,
) -> tuple[Checkpoint, list[Epoch]]:
    """Train on n pairs; returns the checkpoint and the learning curve of both runs.

    images   (n, views, features) integer features, of each image in several views: the first is the image itself
    texts    (n, buckets) integer features of the captions
    corpus   (m, buckets) integer features of texts without images: how rare a piece is among them and the captions
             gives its weight; without them all pieces weigh the same
    shown    is told how far it is

    Raises BadInputError for fewer than 4 pairs, or numbers of images and texts that differ.
    """
    if len(images) != len(texts) or len(images) < 4:
        raise BadInputError(f"encoder: {len(images)} images and {len(texts)} captions; at least 4 pairs are needed")
    mean, scale = image_scales(images[:, 0])
    text_scale = rarity(np.concatenate([corpus, texts])) if corpus is not None else np.ones(texts.shape[1])
    views = np.stack([image_input(view, mean, scale) for view in images.swapaxes(0, 1)], axis=1)
    seen = np.flatnonzero(texts.any(axis=0))
    pairs = Pairs(views, text_input(texts, text_scale)[:, seen])
    start = first_weights(params, images.shape[2], texts.shape[1])
    weights, curve = _train_twice(pairs, Weights(start.image, start.text[seen]), params, shown)
    start.text[seen] = weights.text
    return Checkpoint(*map(read_only, (mean, scale, text_scale, weights.image, start.text))), curve


def image_scales(images: Ints) -> tuple[Floats, Floats]:
    """Mean of each feature (features,), and the factor that gives each block of features the same variance in all."""
    mean = snap(images.sum(axis=0) / len(images))
    squares = snap((images - mean) ** 2).sum(axis=0) / len(images)
    blocks = np.split(snap(squares), np.cumsum(list(BLOCKS.values()))[:-1])
    totals = np.array([max(float(block.sum()), 1.0) for block in blocks])
    return mean, snap(np.repeat(1 / np.sqrt(totals), list(BLOCKS.values())))


def rarity(texts: Ints) -> Floats:
    """Inverse document frequency of each bucket: ln((n + 1) / (df + 1/2)) of n texts, (buckets,), on the grid."""
    found = (texts > 0).sum(axis=0)
    return snap(log((len(texts) + 1) / (found + 0.5)))


def first_weights(params: EncoderParams, features: int, buckets: int) -> Weights:
    """Random projections, which about keep lengths and angles: so texts of words never trained are near their kin.

    That of images is smaller: what no training image shows stays random, and is noise in the vector of a new one.
    """
    random = np.random.default_rng(params.seed)
    shapes = ((features, params.dimension), (buckets, params.dimension))
    image, words = (random.standard_normal(shape) / np.sqrt(params.dimension) for shape in shapes)
    return Weights(snap(image * IMAGE_START), snap(words))


def _train_twice(pairs: Pairs, start: Weights, params: EncoderParams, shown: Shown) -> tuple[Weights, list[Epoch]]:
    order = np.random.default_rng(params.seed).permutation(len(pairs.texts))
    left_out = max(2, round(params.stop_share * len(order)))
    stopping = shown(_epochs(pairs.take(order[left_out:]), start, params), params.epochs, "epochs until the loss rises")
    curve, best = _look_for_end(stopping, pairs.take(order[:left_out]), params)
    final = shown(islice(_epochs(pairs, start, params), best), best, "epochs on all captions")
    weights = start
    for epoch, (after, loss) in enumerate(final, 1):
        weights = after
        curve.append(Epoch("final", epoch, loss, None))
    return weights, curve


def _look_for_end(epochs: Iterable[Trained], left_out: Pairs, params: EncoderParams) -> tuple[list[Epoch], int]:
    """The curve of the first run, and the epoch, the first of equals, with the lowest loss of what is left out."""
    curve, lowest, best = [], float("inf"), 0
    for epoch, (weights, loss) in enumerate(epochs, 1):
        stop_loss, _ = loss_and_gradients(weights, left_out.images[:, 0], left_out.texts, params.temperature)
        curve.append(Epoch("stopping", epoch, loss, stop_loss))
        if stop_loss < lowest:
            lowest, best = stop_loss, epoch
        if epoch - best >= params.patience:
            break
    return curve, best


def _epochs(pairs: Pairs, weights: Weights, params: EncoderParams) -> Iterator[Trained]:
    """Yield the weights after each epoch and the mean loss of its steps."""
    random, adam = np.random.default_rng(params.seed), Adam(weights, params.learning_rate)
    for _ in range(params.epochs):
        losses = []
        for rows in _batches(random.permutation(len(pairs.texts)), params.batch):
            images, texts = _augment(pairs.take(rows), params.dropout, random)
            loss, gradients = loss_and_gradients(weights, images, texts, params.temperature)
            weights = adam.step(gradients)
            losses.append(loss)
        yield weights, sum(losses) / len(losses)


def _batches(order: Ints, size: int) -> list[Ints]:
    """Cut an order into parts of as equal a size as can be, none above `size`."""
    return np.array_split(order, -(-len(order) // size))


def _augment(pairs: Pairs, dropout: float, random: np.random.Generator) -> tuple[Floats, Floats]:
    """One view of each image, and a share of all features left out; rows of length 1 again."""
    views = random.integers(pairs.images.shape[1], size=len(pairs.images))
    images, texts = (
        normalise(rows * (random.random(rows.shape) >= dropout))[0]
        for rows in (pairs.images[np.arange(len(views)), views], pairs.texts)
    )
    return images, texts


class Adam:
    """Adam on a copy of some weights: its moments are on no grid, the weights are."""

    def __init__(self, weights: Weights, rate: float) -> None:
        self.rate = rate
        self.weights = Weights(*map(np.copy, weights))
        self.means, self.squares = (Weights(*map(np.zeros_like, weights)) for _ in range(2))
        self.power_1 = self.power_2 = 1.0

    def step(self, gradients: Weights) -> Weights:
        """The weights after one step, in the arrays of those before."""
        self.power_1, self.power_2 = self.power_1 * BETA_1, self.power_2 * BETA_2
        for arrays in zip(self.weights, self.means, self.squares, gradients, strict=True):
            for start in range(0, len(arrays[0]), BLOCK):
                self._step(*(array[start : start + BLOCK] for array in arrays))
        return self.weights

    def _step(self, weight: Floats, mean: Floats, square: Floats, gradient: Floats) -> None:
        mean[:] = BETA_1 * mean + (1 - BETA_1) * gradient
        square[:] = BETA_2 * square + (1 - BETA_2) * (gradient * gradient)
        size = np.sqrt(square / (1 - self.power_2)) + EPSILON
        weight[:] = snap(weight - self.rate / (1 - self.power_1) * mean / size)
