"""The caption encoder: exact arithmetic, features, gradients, training, and what it retrieves that it never saw."""

import json
import math
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from data.draw_images import combinations
from stages import exact
from stages.arrays import read_arrays, write_arrays
from stages.corpus.png import Pixels, decode
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint, embed_images, embed_texts, from_arrays, to_arrays
from stages.encoder.dual import Weights, loss_and_gradients
from stages.encoder.retrieval import BothWays, Found, both_ways, ranks
from stages.encoder.training import rarity, train
from stages.errors import BadInputError
from stages.params import EncoderParams, load_section

COURSE = Path(__file__).parent.parent / "data" / "course"
PHRASES = [
    " ".join(words)
    for words in product(("small", "large"), ("red", "green", "blue"), ("circle", "square", "triangle", "star"))
]
MAX_PIXELS = 1 << 20
HELD_OUT = ("small blue star", "large red triangle", "small green square", "large blue circle")
PARAMS = EncoderParams(
    dimension=64,
    epochs=120,
    patience=30,
    stop_share=0.2,
    batch=64,
    learning_rate=0.003,
    temperature=0.1,
    dropout=0.3,
    seed=0,
)
Ints = NDArray[np.int64]


class Course(NamedTuple):
    """The 24 images of data/course in the order of PHRASES, and the 20 captions with the rows of their images."""

    views: Ints
    rows: Ints
    captions: list[str]


@cache
def course() -> Course:
    captions = [json.loads(line) for line in (COURSE / "training" / "captions.jsonl").read_text("utf-8").splitlines()]
    images = {" ".join(words): path for path, words in combinations("course").items()}
    files = [(COURSE / "corpus" / images[one]).read_bytes() for one in PHRASES]
    views = np.stack([features.views(decode(data, MAX_PIXELS)) for data in files])
    place = {images[phrase]: row for row, phrase in enumerate(PHRASES)}
    rows = np.array([place[row["image"]] for row in captions])
    return Course(views, rows, [row["caption"] for row in captions])


def retrieve(checkpoint: Checkpoint, phrases: list[str], rows: Ints) -> BothWays:
    images, texts = embed_images(checkpoint, course().views[:, 0]), embed_texts(checkpoint, text.extract(phrases))
    return both_ways(images, texts, rows)


def held_out_rows() -> Ints:
    return np.array([PHRASES.index(phrase) for phrase in HELD_OUT])


def train_course(params: EncoderParams, order: Ints | None = None) -> Checkpoint:
    """Trained on the 20 pairs; `order` deals the captions out to other images."""
    views, rows, captions = course()
    texts = text.extract(captions)
    return train(views[rows], texts if order is None else texts[order], params)[0]


# --- exact arithmetic ---------------------------------------------------------------------------------------------


@given(st.floats(-700, 700))
def test_exp_is_that_of_the_math_library(value: float) -> None:
    assert exact.exp(np.array([value]))[0] == pytest.approx(math.exp(value), rel=5e-16)


@given(st.floats(1e-300, 1e300))
def test_log_is_that_of_the_math_library(value: float) -> None:
    assert exact.log(np.array([value]))[0] == pytest.approx(math.log(value), rel=1e-15, abs=1e-15)


def test_exp_and_log_at_their_limits() -> None:
    assert exact.exp(np.array([0.0, -1e9, 1e9])).tolist() == [1.0, *exact.exp(np.array([-708.0, 709.0])).tolist()]
    assert exact.log(np.array([1.0, 2.0, 0.5])) == pytest.approx([0.0, math.log(2), -math.log(2)], abs=1e-16)


def test_a_product_on_the_grid_is_the_same_in_any_order() -> None:
    random = np.random.default_rng(0)
    left, right = (exact.snap(random.standard_normal(shape)) for shape in ((7, 900), (900, 5)))
    order = random.permutation(900)
    product = left @ right
    assert np.array_equal(product, left[:, order] @ right[order])
    assert product.tolist() == [[math.fsum(row * column) for column in right.T] for row in left]
    assert np.array_equal(exact.matmul(left, right), exact.snap(product))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_rows_are_brought_to_length_one_whatever_their_size(size: float) -> None:
    rows = np.array([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0]]) * size
    unit, lengths = exact.normalise(rows)
    assert unit == pytest.approx(np.array([[0.6, -0.8, 0.0], [0.0, 0.0, 0.0]]), abs=1e-6)
    assert lengths.ravel() == pytest.approx([5 * size, 1.0], rel=1e-6)


# --- features -----------------------------------------------------------------------------------------------------


def disc(radius: int, centre: tuple[int, int], colour: tuple[int, int, int], side: int = 96) -> Pixels:
    row, column = np.ogrid[:side, :side]
    inside = (row - centre[0]) ** 2 + (column - centre[1]) ** 2 < radius**2
    rgb = np.where(inside[:, :, None], np.array(colour), 240).astype(np.uint8)
    return Pixels(rgb, np.ones((side, side), dtype=bool))


def block(row: Ints, name: str) -> Ints:
    names = list(features.BLOCKS)
    start = sum(features.BLOCKS[one] for one in names[: names.index(name)])
    return row[start : start + features.BLOCKS[name]]


def test_image_features_are_whole_numbers_of_a_fixed_length() -> None:
    row = features.extract(disc(20, (40, 50), (200, 30, 30)))
    assert row.dtype == np.int64 and row.shape == (features.LENGTH,)


@pytest.mark.parametrize("name", ["colours", "mean_colour", "crop_colours", "outline", "edges", "rings", "size"])
def test_most_blocks_do_not_know_where_the_shape_lies(name: str) -> None:
    one, other = (features.extract(disc(20, centre, (200, 30, 30))) for centre in ((30, 40), (60, 50)))
    assert block(one, name).tolist() == block(other, name).tolist()


def test_colour_and_size_are_told_apart() -> None:
    small, large, blue = (
        features.extract(disc(radius, (48, 48), colour))
        for radius, colour in ((12, (200, 30, 30)), (40, (200, 30, 30)), (12, (30, 30, 200)))
    )
    assert block(small, "colours").tolist() == block(large, "colours").tolist() != block(blue, "colours").tolist()
    assert block(small, "size").tolist() == block(blue, "size").tolist()
    assert block(large, "size")[0] > 3 * block(small, "size")[0]


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (5, 2), (300, 7)])
@pytest.mark.parametrize("opaque", [True, False])
def test_any_image_has_features(shape: tuple[int, int], opaque: bool) -> None:
    random = np.random.default_rng(0)
    pixels = Pixels(random.integers(0, 256, (*shape, 3), dtype=np.uint8), np.full(shape, opaque))
    assert features.views(pixels).shape == (4, features.LENGTH)


def test_orientations_are_twelfths_of_a_half_turn() -> None:
    angles = np.deg2rad(np.arange(0, 180, 15) + 7.5)
    down, right = (np.rint(1000 * side(angles)).astype(np.int64) for side in (np.sin, np.cos))
    assert features._orientation(down, right).tolist() == list(range(12))
    assert features._orientation(-down, -right).tolist() == list(range(12))


def cosine(one: str, other: str) -> float:
    a, b = text.extract([one, other]).astype(float)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.mark.parametrize(
    ("near", "far"),
    [("triangles", "circles"), ("triangular", "rectangular"), ("Triangle!", "try"), ("trіangle", "square")],
)
def test_a_word_never_seen_lands_near_its_kin(near: str, far: str) -> None:
    assert cosine("triangle", near) > cosine("triangle", far)


def test_chinese_is_cut_into_ngrams() -> None:
    assert set(text.words("红色三角形 v2.4")) == {"红色三角", "色三角形", "三角形", "角形", "形", "v", "2.4"}
    assert list(text.grams("红色三角")) == ["红", "红色", "红色三", "红色三角"]
    assert cosine("红色三角形", "三角形") > 0.4 > 0.1 > cosine("红色三角形", "圆")


def test_case_width_and_punctuation_do_not_matter_and_repeats_count_less_and_less() -> None:
    assert text.extract(["A Red ＳＴＡＲ."]).tolist() == text.extract(["a red star"]).tolist()
    one, seven = text.extract(["red", "red " * 7])
    assert (seven == 3 * one).all()
    assert text.extract(["", "  ?!"]).any() is np.False_


def test_buckets_are_those_of_crc32() -> None:
    assert text.bucket("123456789") == 0xCBF43926 % text.BUCKETS  # the check value of the CRC catalogue


# --- loss, gradients, training ------------------------------------------------------------------------------------


def test_gradients_are_those_of_finite_differences() -> None:
    random = np.random.default_rng(1)
    images, texts = random.standard_normal((6, 5)), random.standard_normal((6, 7))
    weights = Weights(random.standard_normal((5, 3)), random.standard_normal((7, 3)))

    def loss(changed: Weights) -> float:
        return loss_and_gradients(changed, images, texts, 0.5, exact.keep)[0]

    gradients = loss_and_gradients(weights, images, texts, 0.5, exact.keep)[1]
    for side in (0, 1):
        for place in np.ndindex(weights[side].shape):
            step = np.zeros_like(weights[side])
            step[place] = 1e-6
            up, down = (
                loss(Weights(*(one + sign * step if at == side else one for at, one in enumerate(weights))))
                for sign in (1, -1)
            )
            assert gradients[side][place] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-8)


def test_the_loss_is_the_cross_entropy_in_both_directions() -> None:
    images = texts = np.eye(3)
    loss = loss_and_gradients(Weights(np.eye(3), np.eye(3)), images, texts, 1.0)[0]
    assert loss == pytest.approx(math.log(math.e + 2) - 1, abs=1e-5)


def test_snapped_gradients_are_near_the_exact_ones() -> None:
    random = np.random.default_rng(2)
    rows = [exact.normalise(random.standard_normal((8, size)))[0] for size in (5, 7)]
    weights = Weights(*(exact.snap(random.standard_normal((size, 4))) for size in (5, 7)))
    images, texts = rows
    snapped, plain = (
        loss_and_gradients(weights, images, texts, 0.1, rounding) for rounding in (exact.snap, exact.keep)
    )
    assert snapped[0] == pytest.approx(plain[0], abs=1e-4)
    for one, other in zip(snapped[1], plain[1], strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_a_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    quick = replace(PARAMS, epochs=5)
    hashes = [
        write_arrays(tmp_path / f"{place}.npz", to_arrays(train_course(replace(quick, seed=seed))))
        for place, seed in enumerate((3, 3, 4))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_weights_are_on_the_grid_and_cannot_be_written_to(tmp_path: Path) -> None:
    trained = train_course(replace(PARAMS, epochs=3))
    name = write_arrays(tmp_path / "checkpoint.npz", to_arrays(trained))
    loaded = from_arrays(read_arrays(tmp_path / "checkpoint.npz", name))
    for checkpoint in (trained, loaded):
        for array in to_arrays(checkpoint).values():
            assert np.array_equal(array, exact.snap(array))
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = 0
    assert loaded.dimension == PARAMS.dimension


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": np.zeros((3, 64))}, r"image: expected float64 of shape \(\d+, 64\), got float64 of shape \(3, 64\)"),
        ({"text": np.zeros((text.BUCKETS, 64), dtype=np.float32)}, "text: expected float64"),
        ({"image_mean": np.full(features.LENGTH, 1 / 3)}, "image_mean: not on the grid"),
        ({"text_scale": np.full(text.BUCKETS, np.nan)}, "text_scale: not on the grid"),
        ({"image": np.float64(1)}, "image: expected float64"),
        ({"more": np.zeros(1)}, "more: unknown array"),
    ],
)
def test_a_checkpoint_of_another_shape_is_refused(change: dict[str, Any], message: str) -> None:
    sizes = {"image_mean": features.LENGTH, "image_scale": features.LENGTH, "text_scale": text.BUCKETS}
    arrays: dict[str, Any] = {name: np.zeros(size) for name, size in sizes.items()}
    arrays |= {"image": np.zeros((features.LENGTH, 64)), "text": np.zeros((text.BUCKETS, 64))}
    with pytest.raises(BadInputError, match=message):
        from_arrays(arrays | change)


def test_a_missing_array_is_named() -> None:
    with pytest.raises(BadInputError, match="checkpoint: text_scale: missing"):
        from_arrays({name: np.zeros(1) for name in ("image_mean", "image_scale", "image", "text")})


def test_too_few_or_unequal_pairs_are_refused() -> None:
    views, rows, captions = course()
    with pytest.raises(BadInputError, match="3 images and 3 captions; at least 4 pairs"):
        train(views[:3], text.extract(captions[:3]), PARAMS)
    with pytest.raises(BadInputError, match="20 images and 19 captions"):
        train(views[rows], text.extract(captions[:19]), PARAMS)


def test_the_curve_shows_both_runs_and_the_second_ends_where_the_first_was_best() -> None:
    views, rows, captions = course()
    _, curve = train(views[rows], text.extract(captions), replace(PARAMS, epochs=40, patience=5))
    stopping = [row for row in curve if row.run == "stopping"]
    final = [row for row in curve if row.run == "final"]
    assert stopping + final == curve
    assert [row.epoch for row in stopping] == list(range(1, len(stopping) + 1))
    best = min(stopping, key=lambda row: (row.stop_loss, row.epoch))
    assert len(final) == best.epoch and {row.stop_loss for row in final} == {None}
    assert final[-1].loss < final[0].loss


def test_rare_pieces_weigh_more_and_unseen_ones_most() -> None:
    weights = rarity(text.extract(["the red star", "the blue star", "the sea"]))
    the, star, sea, unseen = (weights[text.bucket(f"<{word}>")] for word in ("the", "star", "sea", "quartz"))
    assert 0 < the < star < sea < unseen


def test_params_are_declared_with_their_ranges() -> None:
    raw = {name: getattr(PARAMS, name) for name in PARAMS.__dataclass_fields__}
    assert load_section(EncoderParams, "encoder", raw) == PARAMS
    with pytest.raises(BadInputError, match=r"encoder\.temperature: expected at least 0.01"):
        load_section(EncoderParams, "encoder", raw | {"temperature": 0})


# --- what it retrieves --------------------------------------------------------------------------------------------


def test_ranks_count_all_that_is_better_and_equals_that_come_first() -> None:
    candidates = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert ranks(candidates, candidates).tolist() == [1, 2, 1]
    counts = both_ways(candidates, candidates, np.array([1, 2]))
    assert counts == BothWays(Found(1, 2), Found(1, 2))


@pytest.mark.parametrize("seed", [0, 1])
def test_combinations_never_seen_are_found_among_all_phrases(seed: int) -> None:
    checkpoint = train_course(replace(PARAMS, seed=seed))
    assert retrieve(checkpoint, PHRASES, held_out_rows()) == BothWays(Found(4, 4), Found(4, 4))


def test_captions_are_found_among_captions_and_phrases() -> None:
    _, rows, captions = course()
    phrases = list(PHRASES)
    for row, caption in zip(rows.tolist(), captions, strict=True):
        phrases[row] = caption
    assert retrieve(train_course(PARAMS), phrases, rows) == BothWays(Found(20, 20), Found(20, 20))


def test_with_shuffled_captions_the_held_out_are_found_by_chance() -> None:
    """16 trainings, 4 phrases, both ways: chance is 1 in 24, 5.3 hits of 128; more than 14 come once in a thousand."""
    hits = 0
    for seed in range(16):
        order = np.random.default_rng(seed).permutation(20)
        counts = retrieve(train_course(replace(PARAMS, seed=seed), order), PHRASES, held_out_rows())
        hits += counts.image_to_text.correct + counts.text_to_image.correct
    assert hits <= 14


def test_no_texts_have_no_features() -> None:
    assert text.extract([]).shape == (0, text.BUCKETS)
