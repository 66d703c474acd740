"""Two linear projections into one space, and the contrastive loss that draws each image to its caption.

Loss: symmetric InfoNCE (van den Oord et al. 2018; in both directions as in CLIP, Radford et al. 2021). With rows of
unit length I and T, similarities S = I T' / temperature, and P the softmax of S along the rows, Q along the columns:
the loss is the mean of -ln P_ii and -ln Q_ii, its gradient by S is (P + Q - 2E) / 2n with E the unit matrix.
"""

from typing import NamedTuple

import numpy as np

from stages.exact import Floats, Rounding, exp, log, matmul, normalise, snap


class Weights(NamedTuple):
    """The projections of images (features, dimension) and of texts (buckets, dimension)."""

    image: Floats
    text: Floats


def project(features: Floats, projection: Floats) -> Floats:
    """Vectors of length 1 on the grid, (n, dimension), of features (n, k)."""
    return normalise(matmul(features, projection))[0]


def loss_and_gradients(
    weights: Weights, images: Floats, texts: Floats, temperature: float, rounding: Rounding = snap
) -> tuple[float, Weights]:
    """The loss of n pairs, images (n, k) and texts (n, m), and its gradients in the shapes of the weights."""
    (image, image_length), (text, text_length) = (
        normalise(matmul(rows, projection, rounding), rounding)
        for rows, projection in ((images, weights.image), (texts, weights.text))
    )
    similarities = matmul(image, text.T, rounding) / temperature
    loss, by_similarity = contrast(similarities, rounding)
    scale = temperature * len(images)
    by_image = _through_length(matmul(by_similarity, text, rounding), image, image_length, rounding)
    by_text = _through_length(matmul(by_similarity.T, image, rounding), text, text_length, rounding)
    return loss, Weights(
        matmul(images.T, by_image, rounding) / scale,
        matmul(texts.T, by_text, rounding) / scale,
    )


def contrast(similarities: Floats, rounding: Rounding = snap) -> tuple[float, Floats]:
    """The loss of similarities (n, n) over temperature, and n times its gradient by them, on the grid."""
    by_row, lost_by_row = cross_entropy(similarities, rounding)
    by_column, lost_by_column = cross_entropy(similarities.T, rounding)
    gradient = rounding((by_row + by_column.T) / 2 - np.eye(len(similarities)))
    return float((lost_by_row + lost_by_column).mean() / 2), gradient


def cross_entropy(logits: Floats, rounding: Rounding = snap) -> tuple[Floats, Floats]:
    """Softmax (n, n) of each row, and -ln (n,) of its place on the diagonal, both on the grid."""
    below = logits - logits.max(axis=1, keepdims=True)
    powers = rounding(exp(below))
    totals = powers.sum(axis=1)
    return rounding(powers / totals[:, None]), rounding(log(totals) - np.diagonal(below))


def _through_length(gradient: Floats, unit: Floats, length: Floats, rounding: Rounding) -> Floats:
    """The gradient by rows, of the gradient by the same rows at length 1."""
    gradient = rounding(gradient)
    along = rounding((gradient * unit).sum(axis=1, keepdims=True))
    return rounding((gradient - along * unit) / length)
