"""Drawn shapes are named as they were drawn; PNG files decode to the pixels that were written, or are refused."""

import io
import json
import math
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
import yaml
from PIL import Image, ImageDraw

from data.draw_images import DATASETS, captions, combinations, cross, draw, regular, star
from stages.corpus.colour import NAMES, name_codes
from stages.corpus.components import components, filled, label
from stages.corpus.describe import COUNTS, MANY, POSITIONS, Shape, describe, words
from stages.corpus.outline import hull
from stages.corpus.png import Pixels, decode
from stages.corpus.pngchunks import SIGNATURE
from stages.errors import BadInputError

ROOT = Path(__file__).parents[1]
CASES = ROOT.parent / "shared" / "cases"
MOST = 1 << 24
FOLDERS = {"course": ROOT / "data" / "course", "small": ROOT / "tests" / "data" / "small"}
VOCABULARY = yaml.safe_load((ROOT / "stages" / "corpus" / "vocabulary.yaml").read_text(encoding="utf-8"))

SEEDS = 24

Point = tuple[float, float]


def scaled(points: list[Point], wide: float) -> list[Point]:
    return [(wide * x, y) for x, y in points]


def four(random: Random) -> list[Point]:
    return [(-1, -1), (1, -1), (1, 1), (-1, 1)]


# Outline and largest rotation in degrees: a square that is turned further stands on its corner.
OUTLINES: dict[str, tuple[Callable[[Random], list[Point]], float]] = {
    "circle": (lambda _: regular(90), 180),
    "ellipse": (lambda random: scaled(regular(90), random.uniform(0.5, 0.75)), 180),
    "square": (four, 16),
    "rectangle": (lambda random: scaled(four(random), random.uniform(0.45, 0.75)), 180),
    "triangle": (lambda _: regular(3), 180),
    "diamond": (lambda random: scaled(regular(4), random.uniform(0.55, 0.75)), 180),
    "pentagon": (lambda _: regular(5), 180),
    "hexagon": (lambda _: regular(6), 180),
    "star": (star, 180),
    "cross": (cross, 180),
    "ring": (lambda _: regular(90), 180),
}

SHADES = {
    "black": ["#000000", "#1c1c1e", "#292f33"],
    "white": ["#ffffff", "#f4f4f0", "#f0f4fa"],
    "red": ["#e01010", "#b01020", "#dc143c", "#8b0000"],
    "green": ["#109010", "#30c040", "#006400", "#80d060"],
    "yellow": ["#f0e020", "#ffd700", "#fff060", "#dcc020"],
    "blue": ["#1030d0", "#3b88c3", "#000080", "#60b0f0"],
    "brown": ["#8b4513", "#654321", "#a0522d", "#7a4a20"],
    "orange": ["#ff8c00", "#f07818", "#ffa530"],
    "pink": ["#ffc0cb", "#ff69b4", "#f0a0b8", "#ff1493"],
    "purple": ["#800080", "#7030a0", "#9050d0", "#553788"],
    "grey": ["#808080", "#606468", "#a8a8a8", "#66757f"],
}
LEAST = {"ellipse": 26, "rectangle": 26, "diamond": 26, "ring": 24}
"""Pixels along the longer axis of a shape that would be too thin at 16, which the others are named from."""
EXTENTS = {"small": (0.10, 0.28), "medium": (0.325, 0.405), "large": (0.45, 0.8)}


def coverage(shape: str, extent: float, turned: float, centre: Point, width: int, random: Random) -> Image.Image:
    """Draw an outline of the given largest extent, in pixels, with soft edges."""
    points = OUTLINES[shape][0](random)
    scale = 8 * extent / max(math.dist(one, other) for one in points for other in points)
    cos, sin = scale * math.cos(turned), scale * math.sin(turned)
    large = Image.new("L", (8 * width, 8 * width))
    canvas = ImageDraw.Draw(large)
    for part, fill in ((1.0, 255), (random.uniform(0.4, 0.75), 0))[: 2 if shape == "ring" else 1]:
        at = [(part * (cos * x - sin * y), part * (sin * x + cos * y)) for x, y in points]
        canvas.polygon([(x + 8 * centre[0], y + 8 * centre[1]) for x, y in at], fill=fill)
    return large.reduce(8)


def noisy(image: Image.Image, random: Random, levels: int = 5) -> Pixels:
    noise = np.random.default_rng(random.getrandbits(32)).integers(-levels, levels, size=(*image.size[::-1], 1))
    rgb = np.clip(np.asarray(image).astype(int) + noise, 0, 255).astype(np.uint8)
    return Pixels(rgb, np.ones(rgb.shape[:2], dtype=bool))


def picture(shape: str, colour: str, size: str, random: Random, width: int = 160) -> Pixels:
    background = random.choice(["#e8e8e4", "#e0e8f0"] if colour not in ("white", "grey", "pink") else ["#203040"])
    image = Image.new("RGB", (width, width), background)
    least, most = EXTENTS[size]
    extent, limit = width * random.uniform(max(least, LEAST.get(shape, 16) / width), most), OUTLINES[shape][1]
    centre = (
        random.uniform(extent / 2 + 4, width - extent / 2 - 4),
        random.uniform(extent / 2 + 4, width - extent / 2 - 4),
    )
    turned = math.radians(random.uniform(-limit, limit))
    image.paste(random.choice(SHADES[colour]), mask=coverage(shape, extent, turned, centre, width, random))
    return noisy(image, random)


@pytest.mark.parametrize("size", EXTENTS)
@pytest.mark.parametrize("shape", OUTLINES)
def test_a_drawn_shape_is_named_as_drawn(shape: str, size: str) -> None:
    for colour in SHADES:
        random = Random(f"{shape} {size} {colour}")
        found = describe(picture(shape, colour, size, random))
        assert [one[:3] for one in found] == [(size, colour, shape)]


@pytest.mark.parametrize("shape", OUTLINES)
def test_small_shapes_keep_their_name_at_any_rotation(shape: str) -> None:
    random, limit = Random(shape), OUTLINES[shape][1]
    for step in range(SEEDS):
        turned = math.radians(limit * (2 * step / SEEDS - 1))
        extent = random.uniform(LEAST.get(shape, 16), 34)
        image = Image.new("RGB", (64, 64), "#f0f0e8")
        centre = random.uniform(30, 34), random.uniform(30, 34)
        image.paste("#2040c0", mask=coverage(shape, extent, turned, centre, 64, random))
        assert [one.shape for one in describe(noisy(image, random))] == [shape], (step, extent)


def test_a_square_on_its_corner_is_a_diamond() -> None:
    for turned, name in (
        (0, "square"),
        (18, "square"),
        (27, "diamond"),
        (45, "diamond"),
        (63, "diamond"),
        (80, "square"),
    ):
        image = Image.new("RGB", (96, 96), "white")
        image.paste("red", mask=coverage("square", 60, math.radians(turned), (48, 48), 96, Random(0)))
        assert describe(noisy(image, Random(turned)))[0].shape == name


def test_outlines_without_a_name_get_none() -> None:
    for points in (
        [(10, 60), (90, 60), (70, 20), (30, 20)],
        [(10, 10), (40, 10), (40, 60), (90, 60), (90, 90), (10, 90)],
    ):
        image = Image.new("RGB", (100, 100), "white")
        ImageDraw.Draw(image).polygon(points, fill="green")
        (found,) = describe(noisy(image, Random(1)))
        assert (found.shape, found.colour) == (None, "green")


@pytest.mark.parametrize("name", DATASETS)
def test_every_image_of_a_dataset_is_named_and_drawn_again_alike(name: str) -> None:
    for path, drawn in combinations(name).items():
        pixels = decode((FOLDERS[name] / "corpus" / path).read_bytes(), MOST)
        assert [one[:3] for one in describe(pixels)] == [tuple(drawn)], path
        assert np.array_equal(pixels.rgb, np.asarray(draw(drawn, Random(f"{name} {path}")))), path


@pytest.mark.parametrize("name", DATASETS)
def test_captions_name_all_attributes_and_leave_the_held_out_images_out(name: str) -> None:
    lines = (FOLDERS[name] / "training" / "captions.jsonl").read_text(encoding="utf-8").splitlines()
    rows, drawn = [json.loads(line) for line in lines], combinations(name)
    assert rows == captions(name)
    assert {drawn[row["image"]] for row in rows} == set(drawn.values()) - DATASETS[name].held_out
    assert all(set(drawn[row["image"]]) <= set(row["caption"].replace(",", "").split()) for row in rows)


@pytest.mark.parametrize("name", SHADES)
def test_every_shade_has_its_colour_name(name: str) -> None:
    rgb = np.array([[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for shade in SHADES[name]], dtype=np.uint8)
    assert [NAMES[code] for code in name_codes(rgb)] == [name] * len(rgb)


def test_position_is_the_cell_of_the_centroid() -> None:
    for row in range(3):
        for column in range(3):
            rgb = np.full((90, 120, 3), 255, dtype=np.uint8)
            rgb[30 * row + 10 : 30 * row + 20, 40 * column + 10 : 40 * column + 20] = 0
            (found,) = describe(Pixels(rgb, np.ones((90, 120), dtype=bool)))
            assert found == Shape("small", "black", "square", POSITIONS[row][column])


def test_transparent_background_is_no_shape_and_specks_are_ignored() -> None:
    rgb, opaque = np.full((64, 64, 3), 255, dtype=np.uint8), np.zeros((64, 64), dtype=bool)
    opaque[20:44, 20:44] = True
    opaque[2:5, 2:5] = True
    assert describe(Pixels(rgb, opaque)) == (Shape("large", "white", "square", "centre"),)
    assert describe(Pixels(rgb, np.zeros_like(opaque))) == describe(Pixels(rgb, ~np.zeros_like(opaque))) == ()


def test_words_name_groups_in_each_language_from_the_vocabulary() -> None:
    red = [Shape("small", "red", "circle", place) for place in ("bottom", "top left", "bottom")]
    shapes = [Shape("large", "blue", None, "centre"), *red]
    assert words(shapes, VOCABULARY, ["en", "zh"]) == (
        "large blue, centre, single; small red circle, top left, bottom, three | "
        "大 蓝色, 中央, 单个; 小 红色 圆形, 左上, 下方, 三个"
    )
    assert words(red * 4, VOCABULARY, ["en"]).endswith("bottom, many")
    assert words([], VOCABULARY, ["en", "zh"]) == ""


def test_vocabulary_knows_every_word_of_a_description_and_is_unambiguous() -> None:
    needed = {
        "colour": set(NAMES),
        "shape": set(OUTLINES),
        "size": set(EXTENTS),
        "position": {place for row in POSITIONS for place in row},
        "count": {*COUNTS, MANY},
    }
    for section, names in needed.items():
        assert set(VOCABULARY[section]) == names
    for language in ("en", "zh"):
        spoken = [
            word.casefold() for section in needed for entry in VOCABULARY[section].values() for word in entry[language]
        ]
        assert len(spoken) == len(set(spoken))
        assert all(entry[language] for section in needed for entry in VOCABULARY[section].values())


def slow_labels(mask: np.ndarray, diagonal: bool) -> np.ndarray:
    """Flood fill from each pixel in reading order."""
    labels, number = np.zeros(mask.shape, dtype=int), 0
    steps = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y or x) and (diagonal or not (y and x))]
    for start in zip(*np.nonzero(mask), strict=True):
        if labels[start] == 0:
            number, stack = number + 1, [start]
            while stack:
                y, x = stack.pop()
                if 0 <= y < mask.shape[0] and 0 <= x < mask.shape[1] and mask[y, x] and not labels[y, x]:
                    labels[y, x] = number
                    stack += [(y + down, x + right) for down, right in steps]
    return labels


@pytest.mark.parametrize("diagonal", [True, False])
def test_labels_equal_a_flood_fill(diagonal: bool) -> None:
    random = np.random.default_rng(3)
    for height, width in ((1, 1), (1, 9), (9, 1), (12, 17), (30, 30)):
        for share in (0.0, 0.4, 0.6, 1.0):
            mask = random.random((height, width)) < share
            assert np.array_equal(label(mask, diagonal), slow_labels(mask, diagonal))


def test_components_are_cropped_and_holes_filled() -> None:
    mask = np.zeros((8, 9), dtype=bool)
    mask[2:7, 3:8] = True
    mask[3:6, 4:7] = False
    (one,) = components(mask, least=16)
    assert (one.top, one.left, one.mask.shape, int(one.mask.sum())) == (2, 3, (5, 5), 16)
    assert filled(one.mask).all()
    assert not list(components(mask, least=17))


def test_hull_of_one_pixel_is_the_middles_of_its_sides() -> None:
    assert sorted(map(tuple, hull(np.ones((1, 1), dtype=bool)))) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(row: bytes, width: int, depth: int, colour_type: int, *others: tuple[bytes, bytes]) -> bytes:
    """Write one row of packed samples as a PNG file."""
    header = struct.pack(">IIBBBBB", width, 1, depth, colour_type, 0, 0, 0)
    parts = [(b"IHDR", header), *others, (b"IDAT", zlib.compress(b"\0" + row)), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(kind, body) for kind, body in parts)


RED_AND_BLUE = (b"PLTE", bytes([255, 0, 0, 0, 0, 255]))


@pytest.mark.parametrize(
    ("data", "left", "right", "opaque"),
    [
        (png(b"\x40", 2, 1, 0), 0, 255, [True, True]),
        (png(b"\x60", 2, 2, 0, (b"tRNS", b"\0\1")), 255, 170, [False, True]),
        (png(b"\x3f", 2, 4, 0, (b"tRNS", b"\0\3")), 255, 255, [False, True]),
        (png(b"\x33\x80", 2, 8, 0), 0x33, 0x80, [True, True]),
        (png(b"\x12\x34\x12\x35", 2, 16, 0, (b"tRNS", b"\x12\x35")), 0x12, 255, [True, False]),
        (png(b"\x12\x34" * 3 + b"\x56\x78" * 3, 2, 16, 2, (b"tRNS", b"\x56\x78" * 3)), 0x12, 255, [True, False]),
        (png(b"\x40", 2, 1, 3, RED_AND_BLUE), (255, 0, 0), (0, 0, 255), [True, True]),
        (png(b"\x40", 2, 1, 3, RED_AND_BLUE, (b"tRNS", b"\x80\x7f")), (255, 127, 127), (128, 128, 255), [True, False]),
        (png(b"\x20\xff\x20\x00", 2, 8, 4), 0x20, 255, [True, False]),
        (png(b"\x20\x99\xff\xff\x20\x99\x00\x00", 2, 16, 4), 0x20, 255, [True, False]),
        (png(b"\x0a\x14\x1e\xff\x0a\x14\x1e\x00", 2, 8, 6), (10, 20, 30), 255, [True, False]),
    ],
)
def test_every_kind_of_samples_decodes(
    data: bytes, left: int | tuple[int, ...], right: int | tuple[int, ...], opaque: list[bool]
) -> None:
    pixels = decode(data, MOST)
    assert pixels.rgb.dtype == np.uint8
    assert np.array_equal(pixels.rgb, np.array([[np.broadcast_to(left, 3), np.broadcast_to(right, 3)]]))
    assert pixels.opaque.tolist() == [opaque]


def test_what_cannot_be_used_is_refused_with_the_reason() -> None:
    good = png(b"\x33\x80", 2, 8, 0)
    for data, reason in (
        (b"", "not a PNG file: it is empty"),
        (b"\xff\xd8\xff\xe0 another kind of file", "signature"),
        (SIGNATURE, "truncated"),
        (good.replace(b"\x00\x00\x00\x02", b"\x00\x00\x00\x03"), "wrong checksum of chunk b'IHDR'"),
        (SIGNATURE + chunk(b"IEND", b""), "not an IHDR"),
        (png(b"", 0, 8, 0), "0 x 1 pixels"),
        (png(b"\x00", 1, 7, 0), "no such kind"),
        (png(b"\x00", 1, 8, 5), "no such kind"),
        (good.replace(chunk(b"IEND", b""), b""), "truncated"),
        (png(b"", 90, 8, 2), "cannot be decoded"),
        (png(b"\x00", 1, 1, 3), "no palette"),
        (png(b"\x00", 100_000, 1, 0), "cannot be decoded"),
    ):
        with pytest.raises(BadInputError, match=reason):
            decode(data, MOST)
    with pytest.raises(BadInputError, match="2 x 1 pixels; allowed are 1 to 1"):
        decode(good, max_pixels=1)


def test_every_damaged_byte_and_every_cut_is_refused_or_decodes_alike() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (5, 4), (10, 200, 30)).save(buffer, format="PNG")
    data, whole = buffer.getvalue(), decode(buffer.getvalue(), MOST)
    for place in range(len(data)):
        for broken in (data[:place], data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]):
            with pytest.raises(BadInputError):
                decode(broken, MOST)
    assert np.array_equal(decode(data + b"what follows the end", MOST).rgb, whole.rgb)


@pytest.mark.skipif(not CASES.is_dir(), reason="the public benchmark inputs are not beside this checkout")
def test_pngsuite_decodes_and_its_corrupt_files_are_refused() -> None:
    files = sorted((CASES / "png" / "pngsuite").glob("*.png"))
    refused = set()
    for file in files:
        try:
            describe(decode(file.read_bytes(), MOST))
        except BadInputError:
            refused.add(file.name)
    assert len(files) > 100
    assert refused == {file.name for file in files if file.name.startswith("x")}
