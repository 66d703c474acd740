"""Draw the PNG originals of a dataset and write the captions of those that are used for training.

Run from the repository root, once for each dataset; the last part of the path names the entry of `DATASETS`:

    python data/draw_images.py data/course
    python data/draw_images.py tests/data/small

There is one image for each combination of size, colour and shape. Everything is derived from the dataset's name
through `random.Random`, so that a second run writes the same pixels. File names follow a shuffled order and carry no
information.
"""

import argparse
import colorsys
import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

Point = tuple[float, float]
Range = tuple[float, float]

WIDTH = 256
SUPERSAMPLE = 4
MAX_ROTATION = 12.0
NOISE = 2


class Combination(NamedTuple):
    """The attributes of one image, in the words that its caption uses."""

    size: str
    colour: str
    shape: str


class Dataset(NamedTuple):
    """The attributes that a dataset combines, and the combinations that get no caption."""

    sizes: tuple[str, ...]
    colours: tuple[str, ...]
    shapes: tuple[str, ...]
    held_out: frozenset[Combination]


class Shade(NamedTuple):
    """The range of one colour name: hue in degrees, saturation and value in 0..1."""

    hue: Range
    saturation: Range
    value: Range


DATASETS = {
    "course": Dataset(
        sizes=("small", "large"),
        colours=("red", "green", "blue"),
        shapes=("circle", "square", "triangle", "star"),
        held_out=frozenset(
            {
                Combination("small", "blue", "star"),
                Combination("large", "red", "triangle"),
                Combination("small", "green", "square"),
                Combination("large", "blue", "circle"),
            }
        ),
    ),
    "small": Dataset(
        sizes=("small", "large"),
        colours=("yellow", "purple"),
        shapes=("diamond", "hexagon", "cross"),
        held_out=frozenset({Combination("small", "yellow", "cross"), Combination("large", "purple", "diamond")}),
    ),
}

SHADES = {
    "red": Shade((-6, 6), (0.75, 0.95), (0.74, 0.92)),
    "green": Shade((108, 142), (0.60, 0.90), (0.45, 0.75)),
    "blue": Shade((212, 232), (0.65, 0.90), (0.60, 0.90)),
    "yellow": Shade((48, 57), (0.78, 0.96), (0.86, 0.98)),
    "purple": Shade((272, 290), (0.50, 0.80), (0.45, 0.72)),
}

# The largest extent of the shape in any direction, as a share of the image's width.
EXTENTS: dict[str, Range] = {"small": (0.20, 0.26), "large": (0.46, 0.56)}

BACKGROUNDS = (
    (238, 238, 238),
    (248, 244, 228),
    (250, 250, 242),
    (228, 236, 246),
    (246, 234, 236),
    (232, 242, 234),
    (240, 236, 246),
    (225, 228, 230),
)

PHRASES = (
    "a {size} {colour} {shape}",
    "{size} {colour} {shape}",
    "one {size} {colour} {shape}",
    "{colour} {shape}, {size}",
    "a {colour} {shape}, drawn {size}",
    "a {shape} that is {colour} and {size}",
    "picture of a {size} {colour} {shape}",
    "a single {size} {shape} in {colour}",
    "a {size} {shape}, {colour}, on a pale background",
    "the {colour} {shape} here is {size}",
    "{size} {shape} coloured {colour}",
    "there is a {size} {colour} {shape} in this image",
)


def combinations(name: str) -> dict[str, Combination]:
    """Map the path of each image of dataset `name` (relative to its corpus) to its attributes, in path order."""
    dataset, random = DATASETS[name], Random(f"{name} order")
    grid = [Combination(*words) for words in product(dataset.sizes, dataset.colours, dataset.shapes)]
    shuffled = sorted(grid, key=lambda _: random.random())
    return {f"images/{number:04}.png": words for number, words in enumerate(shuffled, start=1)}


def captions(name: str) -> list[dict[str, str]]:
    """Return the caption rows of dataset `name`: the combinations that are not held out, in path order."""
    random = Random(f"{name} captions")
    phrases = sorted(PHRASES, key=lambda _: random.random())
    used = {path: words for path, words in combinations(name).items() if words not in DATASETS[name].held_out}
    return [
        {"image": path, "caption": phrases[place % len(phrases)].format(**words._asdict())}
        for place, (path, words) in enumerate(used.items())
    ]


def regular(corners: int) -> list[Point]:
    """Return the corners of a regular polygon on the unit circle, the first one at the top."""
    return [polar(1.0, 360 * corner / corners) for corner in range(corners)]


def polar(radius: float, degrees: float) -> Point:
    """Return the point at `radius`, turned clockwise by `degrees` from the top (y grows downwards)."""
    return radius * math.sin(math.radians(degrees)), -radius * math.cos(math.radians(degrees))


def square(_: Random) -> list[Point]:
    """Return a square that stands on its side."""
    return [(-1, -1), (1, -1), (1, 1), (-1, 1)]


def star(random: Random) -> list[Point]:
    """Return a five-pointed star; the depth of its notches varies."""
    depth = random.uniform(0.38, 0.46)
    return [polar(1.0 if corner % 2 == 0 else depth, 36 * corner) for corner in range(10)]


def diamond(random: Random) -> list[Point]:
    """Return an upright rhombus, clearly taller than wide."""
    half = random.uniform(0.60, 0.72)
    return [(0, -1), (half, 0), (0, 1), (-half, 0)]


def cross(random: Random) -> list[Point]:
    """Return a plus sign; the thickness of its arms varies."""
    arm = random.uniform(0.26, 0.36)
    quarter = [(arm, -1.0), (arm, -arm), (1.0, -arm)]
    turns: list[Callable[[float, float], Point]] = [
        lambda x, y: (x, y),
        lambda x, y: (-y, x),
        lambda x, y: (-x, -y),
        lambda x, y: (y, -x),
    ]
    return [turn(x, y) for turn in turns for x, y in quarter]


OUTLINES: dict[str, Callable[[Random], list[Point]]] = {
    "circle": lambda _: regular(360),
    "square": square,
    "triangle": lambda _: regular(3),
    "star": star,
    "diamond": diamond,
    "hexagon": lambda _: regular(6),
    "cross": cross,
}


def extent(points: list[Point]) -> float:
    """Return the largest distance between two of the points."""
    return max(math.dist(one, other) for one in points for other in points)


def place(points: list[Point], size: str, random: Random) -> list[Point]:
    """Scale, rotate and move an outline to a place where it lies wholly inside the image; in pixels."""
    scale = WIDTH * random.uniform(*EXTENTS[size]) / extent(points)
    angle = math.radians(random.uniform(-MAX_ROTATION, MAX_ROTATION))
    cos, sin = scale * math.cos(angle), scale * math.sin(angle)
    turned = [(cos * x - sin * y, sin * x + cos * y) for x, y in points]
    left, top = (shift([point[axis] for point in turned], random) for axis in (0, 1))
    return [(x + left, y + top) for x, y in turned]


def shift(values: list[float], random: Random) -> float:
    """Return a random offset that keeps all values of one axis inside the image with a margin of a twentieth."""
    margin = WIDTH / 20
    return random.uniform(margin - min(values), WIDTH - margin - max(values))


def colour(name: str, random: Random) -> tuple[int, int, int]:
    """Return a shade within the range of the colour name, as 8-bit RGB."""
    hue, saturation, value = (random.uniform(*limits) for limits in SHADES[name])
    red, green, blue = colorsys.hsv_to_rgb(hue % 360 / 360, saturation, value)
    return round(255 * red), round(255 * green), round(255 * blue)


def coverage(points: list[Point]) -> Image.Image:
    """Return how much of each pixel the polygon covers, as an 8-bit grey image."""
    large = Image.new("L", (WIDTH * SUPERSAMPLE, WIDTH * SUPERSAMPLE))
    ImageDraw.Draw(large).polygon([(x * SUPERSAMPLE, y * SUPERSAMPLE) for x, y in points], fill=255)
    return large.reduce(SUPERSAMPLE)


def noisy(image: Image.Image, random: Random) -> Image.Image:
    """Add a uniform brightness noise of at most `NOISE` grey levels to each pixel."""
    drawn = np.frombuffer(random.randbytes(WIDTH * WIDTH), dtype=np.uint8).reshape(WIDTH, WIDTH, 1)
    noise = drawn.astype(np.int16) % (2 * NOISE + 1) - NOISE
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def draw(words: Combination, random: Random) -> Image.Image:
    """Return the RGB image of one combination."""
    plain = random.choice(BACKGROUNDS)
    red, green, blue = (level + random.randint(-4, 4) for level in plain)
    image = Image.new("RGB", (WIDTH, WIDTH), (red, green, blue))
    outline = place(OUTLINES[words.shape](random), words.size, random)
    image.paste(colour(words.colour, random), mask=coverage(outline))
    return noisy(image, random)


def write(folder: Path) -> None:
    """Write the images and captions of the dataset that `folder` is named after."""
    (folder / "corpus" / "images").mkdir(parents=True, exist_ok=True)
    (folder / "training").mkdir(parents=True, exist_ok=True)
    for path, words in combinations(folder.name).items():
        draw(words, Random(f"{folder.name} {path}")).save(folder / "corpus" / path, optimize=True)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in captions(folder.name)]
    (folder / "training" / "captions.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")


def main() -> None:
    """Read the dataset folder from the command line and write its images and captions."""
    parser = argparse.ArgumentParser(description="Draw the PNG originals of a dataset.")
    parser.add_argument("folder", type=Path, help="dataset folder, named as in DATASETS, such as data/course")
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
