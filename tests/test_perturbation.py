"""Damaged images: each change does what it says, in whole numbers; the PNG of our own holds what was packed."""

import math
import zlib
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stages.corpus.inscriptions import inscriptions
from stages.corpus.png import Pixels, decode
from stages.corpus.pngchunks import SIGNATURE, read_chunks
from stages.measures.damage import (
    OUTCOMES,
    Became,
    Case,
    Condition,
    Perturbed,
    conditions,
    curves,
    damage_findings,
    summary,
)
from stages.params import load_section
from stages.perturbation.blocks import blur, downscale, quantise
from stages.perturbation.changes import CHANGES, altered, same
from stages.perturbation.deflate import LONGEST, canonical, code_sizes, pack
from stages.perturbation.levels import brightness, contrast, hue, invert, noise
from stages.perturbation.places import SINES, STEP, background, crop, ground, occlude, rotate, sines, translate
from stages.perturbation.png import chunk, encode
from stages.records import Label, Question
from stages.settings import read_params
from stages.variations import STRENGTHS, PerturbationParams
from tests.project import ROOT

MOST = 10**6
PNG = (ROOT / "tests/data/small/corpus/images/0001.png").read_bytes()


@st.composite
def images(draw: st.DrawFn, side: int = 12, lowest: int = 0, highest: int = 255) -> Pixels:
    """Images of a few pixels, some transparent; transparent ones are white, as a decoded file has them."""
    height, width = draw(st.integers(1, side)), draw(st.integers(1, side))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rgb = random.integers(lowest, highest + 1, (height, width, 3)).astype(np.uint8)
    opaque = random.random((height, width)) < draw(st.sampled_from([0.2, 0.9, 1.0]))
    return Pixels(np.where(opaque[:, :, None], rgb, np.uint8(255)), opaque)


def rounded(value: Fraction) -> int:
    return min(max(math.floor(value + Fraction(1, 2)), 0), 255)


@given(images())
def test_the_strength_that_changes_nothing_leaves_the_very_file(pixels: Pixels) -> None:
    data = encode(pixels)
    for name, rule in STRENGTHS.items():
        assert altered(data, name, rule.none, 0, MOST) is data, name
    assert altered(data, "clean", 0, 0, MOST) is data


def test_every_change_is_in_the_table_and_params_yaml_has_four_strengths_of_each() -> None:
    assert CHANGES.keys() == {"clean", *STRENGTHS}
    found = load_section(PerturbationParams, "perturbation", read_params(ROOT / "params.yaml")["perturbation"])
    assert found.changes.keys() == STRENGTHS.keys() and min(map(len, found.changes.values())) >= 4
    for condition in conditions(found.changes)[1:]:
        assert condition.strength is not None
        data = altered(PNG, condition.change, condition.strength, found.seed, MOST)
        assert data != PNG and data == altered(PNG, condition.change, condition.strength, found.seed, MOST)
        decode(data, MOST)


@given(images())
def test_a_file_of_our_own_holds_the_pixels(pixels: Pixels) -> None:
    assert same(decode(encode(pixels), MOST), pixels)


def test_what_a_file_says_in_words_stays() -> None:
    says = chunk(b"tEXt", b"Title\0small red circle")
    data = PNG[:33] + says + PNG[33:]
    assert data.startswith(SIGNATURE)
    made = altered(data, "inversion", 100, 0, MOST)
    assert inscriptions(read_chunks(made)) == inscriptions(read_chunks(data)) != ()


RUNS = st.lists(st.tuples(st.integers(0, 255), st.integers(1, 800)), min_size=1, max_size=30)


@given(RUNS)
def test_zlib_unpacks_what_we_pack(runs: list[tuple[int, int]]) -> None:
    data = b"".join(bytes([value]) * length for value, length in runs)
    assert zlib.decompress(pack(data)) == data


@given(st.binary(min_size=1))
def test_zlib_unpacks_any_bytes(data: bytes) -> None:
    assert zlib.decompress(pack(data)) == data


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=286).filter(lambda counts: sum(map(bool, counts)) > 1))
def test_codes_are_complete_and_no_longer_than_they_may_be(counts: list[int]) -> None:
    fibonacci = [1, 1]
    while len(fibonacci) < 40:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    for found in (counts, fibonacci):
        sizes = code_sizes(found)
        assert [bool(size) for size in sizes] == [bool(count) for count in found]
        assert max(sizes) <= LONGEST and sum(Fraction(1, 2**size) for size in sizes if size) == 1
        used = [(code, size) for code, size in zip(canonical(sizes), sizes, strict=True) if size]
        assert len({f"{code:0{size}b}"[::-1] for code, size in used}) == len(used)


@given(images(), st.integers(0, 300))
def test_levels_move_as_exact_fractions_do(pixels: Pixels, percent: int) -> None:
    for change, middle in ((brightness, 0), (contrast, 128)):
        exact = [middle + Fraction((level - middle) * percent, 100) for level in pixels.rgb.ravel().tolist()]
        assert change(pixels.rgb, percent).ravel().tolist() == list(map(rounded, exact))


@given(images())
def test_twice_inverted_is_not_inverted_and_half_is_grey(pixels: Pixels) -> None:
    assert np.array_equal(invert(invert(pixels.rgb, 100), 100), pixels.rgb)
    assert np.array_equal(invert(pixels.rgb, 100), 255 - pixels.rgb)
    assert set(invert(pixels.rgb, 50).ravel().tolist()) <= {127, 128}


@given(images(), st.integers(0, 359))
def test_hues_turn_as_channels_do_and_come_round(pixels: Pixels, degrees: int) -> None:
    assert np.array_equal(hue(pixels.rgb, 120), pixels.rgb[:, :, [2, 0, 1]])
    assert np.array_equal(hue(hue(pixels.rgb, 120), 240), pixels.rgb)
    turned = hue(pixels.rgb, degrees)
    assert np.array_equal(turned.max(axis=2), pixels.rgb.max(axis=2))
    assert np.array_equal(turned.min(axis=2), pixels.rgb.min(axis=2))


def test_noise_has_the_deviation_that_it_says_and_comes_of_its_seed() -> None:
    grey = np.full((200, 200, 3), 128, dtype=np.uint8)

    def drawn(seed: int) -> NDArray[np.float64]:
        return noise(grey, 16, np.random.Generator(np.random.PCG64(seed))).astype(np.float64) - 128

    assert abs(drawn(1).std() - 16) < 0.2 and abs(drawn(1).mean()) < 0.2
    assert np.array_equal(drawn(1), drawn(1)) and not np.array_equal(drawn(1), drawn(2))
    assert altered(PNG, "noise", 8, 0, MOST) != altered(PNG, "noise", 8, 1, MOST)


@given(images(), st.integers(1, 4))
@settings(max_examples=20)
def test_a_blur_is_three_box_means_along_each_axis(pixels: Pixels, radius: int) -> None:
    slow = pixels.rgb.astype(int)
    width = 2 * radius + 1
    for _ in range(3):
        for axis in (0, 1):
            rows = np.moveaxis(slow, axis, 0)
            around = [
                [min(max(at + step, 0), len(rows) - 1) for step in range(-radius, radius + 1)]
                for at in range(len(rows))
            ]
            means = [
                [rounded(Fraction(int(total), width)) for total in sum(rows[one] for one in near).ravel()]
                for near in around
            ]
            slow = np.moveaxis(np.array(means).reshape(rows.shape), 0, axis)
    assert np.array_equal(blur(pixels.rgb, radius), slow)


@given(images(16, 100, 160), st.integers(9, 40))
def test_what_is_quantised_and_scaled_down_stays_so(pixels: Pixels, step: int) -> None:
    rgb = np.tile(pixels.rgb, (8, 8, 1))[:16, :16]
    if rgb.shape[0] % 8 == rgb.shape[1] % 8 == 0:
        once = quantise(rgb, step)
        if once.min() > 0 and once.max() < 255:
            assert np.array_equal(quantise(once, step), once)
    for factor in (2, 3):
        once = downscale(pixels.rgb, factor)
        assert np.array_equal(downscale(once, factor), once)
        means = once[::factor, ::factor].reshape(-1, 3)
        assert len(np.unique(once.reshape(-1, 3), axis=0)) <= len(means)


def test_a_coarse_step_leaves_a_block_its_mean() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    assert len(np.unique(quantise(rgb, 10**6 // 8).reshape(-1, 3), axis=0)) == 1
    flat = np.full((8, 8, 3), 96, dtype=np.uint8)
    assert np.array_equal(quantise(flat, 12), flat), "8 x 8 levels of 96 are a coefficient of 768, 64 steps of 12"


def test_the_table_of_sines() -> None:
    assert [round(65536 * math.sin(math.radians(STEP * place))) for place in range(len(SINES))] == list(SINES)
    for degrees in range(-720, 720, STEP):
        assert abs(sines(degrees) - 65536 * math.sin(math.radians(degrees))) <= 0.5 + 1e-9


@given(images())
def test_quarter_turns_move_every_pixel_to_its_place(pixels: Pixels) -> None:
    side = min(pixels.opaque.shape)
    square = Pixels(pixels.rgb[:side, :side], pixels.opaque[:side, :side])
    turned = rotate(square, 90)
    assert np.array_equal(turned.rgb, np.rot90(square.rgb, -1)) and np.array_equal(
        turned.opaque, np.rot90(square.opaque, -1)
    )
    assert same(rotate(rotate(pixels, 180), 180), pixels)


@given(images(), st.integers(1, 99))
def test_translation_moves_pixels_and_fills_with_the_ground(pixels: Pixels, percent: int) -> None:
    height, width = pixels.opaque.shape
    down, right = height * percent // 100, width * percent // 100
    moved, around = translate(pixels, percent), ground(pixels)
    assert np.array_equal(moved.rgb[down:, right:], pixels.rgb[: height - down, : width - right])
    assert np.array_equal(moved.opaque[down:, right:], pixels.opaque[: height - down, : width - right])
    for part in (np.s_[:down, :], np.s_[:, :right]):
        assert (moved.rgb[part] == around.colour).all() and (moved.opaque[part] == around.opaque).all()


@given(images(), st.integers(1, 49))
def test_crop_and_occlusion_leave_the_rest(pixels: Pixels, percent: int) -> None:
    height, width = pixels.opaque.shape
    cut = crop(pixels, percent)
    down, right = height * percent // 100, width * percent // 100
    assert cut.opaque.shape == (height - 2 * down, width - 2 * right)
    assert np.array_equal(cut.rgb, pixels.rgb[down : height - down, right : width - right])
    covered = occlude(pixels, percent, np.random.default_rng(percent))
    side = min(height, width) * percent // 100
    differs = (covered.rgb != pixels.rgb).any(axis=2) | (covered.opaque != pixels.opaque)
    rows, columns = np.nonzero(differs)
    assert not len(rows) or (np.ptp(rows) < side and np.ptp(columns) < side)
    assert (covered.rgb[differs] == 128).all() and covered.opaque[differs].all()


def test_the_background_goes_to_its_opposite_and_the_shape_stays() -> None:
    rgb = np.full((20, 20, 3), 240, dtype=np.uint8)
    rgb[5:15, 5:15] = (200, 20, 20)
    shown = np.zeros((20, 20), dtype=np.bool_)
    shown[5:15, 5:15] = True
    for percent, level in ((25, 184), (50, 128), (100, 15)):
        made = background(Pixels(rgb, np.ones_like(shown)), percent)
        assert (made.rgb[~shown] == level).all() and np.array_equal(made.rgb[shown], rgb[shown])
    behind = background(Pixels(rgb, shown), 100)
    assert behind.opaque.all() and (behind.rgb[~shown] == 0).all(), "a transparent background is white"


def cases(**outcomes: tuple[Became, Became]) -> list[Case]:
    """Cases of one system and a blur, a question for each outcome, `clean` first."""
    rows: list[Any] = []
    for condition in (Condition("clean", None), Condition("blur", 2)):
        for name, became in outcomes.items():
            found = became[condition.change != "clean"]
            reason = "below_threshold" if found == "refused" else None
            signal, rank = (None, None) if found == "refused" else (0.75, 1)
            rows.append(Case(*condition, "lexical", name, found, reason, f"{name}.png", signal, 0.5, rank))
    return rows


ASKED = [
    (Question(name, f"{name}?"), Label(name, "image", None, False, f"{name}.png", None, (), None, None))
    for name in ("a", "b", "c")
]
RIGHT, WRONG, REFUSED = OUTCOMES


def test_cases_are_counted_and_every_mistake_is_kept() -> None:
    found = summary(cases(a=(REFUSED, WRONG), b=(RIGHT, WRONG), c=(RIGHT, REFUSED)), ASKED, "hash")
    clean, blurred = found.effects
    assert (clean.answered_right, clean.answered_wrong, clean.refused, clean.n) == (2, 0, 1, 3)
    assert (blurred.answered_right, blurred.answered_wrong, blurred.refused) == (0, 2, 1)
    assert blurred.reasons == {"below_threshold": 1} and blurred.above_of == (2, 3)
    assert (blurred.margin, blurred.margin_of) == (0.25, (0.5, 2)) and blurred.hit_at_1_of == (2, 3)
    assert [one.id for one in found.mistaken] == ["a", "b"]
    assert {one.id for one in found.shown} == {"b"}, "the first that was right about the clean image"
    assert found.texts.keys() == found.expected.keys() == {"a", "b"} and list(damage_findings(found)) == []
    assert [(one.strength, one.answered_right) for one in curves(found.effects)] == [(0, 2), (2, 0)]


def test_results_that_name_nothing_are_refused() -> None:
    found = summary(cases(a=(RIGHT, WRONG)), ASKED, None)
    bare = Perturbed(None, found.effects, {}, {}, found.mistaken, found.shown)
    assert list(damage_findings(bare)) == ["a: no text or no right image"]
    assert list(damage_findings(replace(found, effects=found.effects[1:]))) == [
        "shown: clean None, lexical: no such effect"
    ]
    odd = replace(found.effects[1], change="wobble")
    assert "effects: wobble 2: no change at a strength" in list(damage_findings(replace(found, effects=(odd,))))


@pytest.mark.parametrize("change", ["noise", "occlusion"])
def test_files_with_the_same_bytes_stay_alike(change: str) -> None:
    other = (ROOT / "tests/data/small/corpus/images/0002.png").read_bytes()
    assert altered(PNG, change, 20, 0, MOST) == altered(bytes(PNG), change, 20, 0, MOST)
    assert altered(PNG, change, 20, 0, MOST) != altered(other, change, 20, 0, MOST)
