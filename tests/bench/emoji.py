"""The caption encoder at real size: `python -m tests.bench.emoji [folder]`, 600 emoji with their names as captions.

60 % of the emoji train the encoder, and a part of these decides when to stop. 20 % (`--part work`) are there to choose
features and parameters with, 20 % are held out from all of it. Printed is how often an emoji and its name find each
other among the first 1, 5 and 10, beside chance: among all 600, the index that a question would meet, and among those
120 alone. Exit status 1 when R@10 among all is below 8 times chance in either direction.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.corpus.png import decode
from stages.encoder import features, text
from stages.encoder.checkpoint import embed_images, embed_texts
from stages.encoder.retrieval import ranks
from stages.encoder.training import train
from stages.params import EncoderParams

FOLDER = Path(__file__).parents[2].parent / "shared" / "cases" / "emoji"
MAX_PIXELS = 1 << 20
DEPTHS = (1, 5, 10)
TIMES_CHANCE = 8.0
PARAMS = EncoderParams(
    dimension=512,
    epochs=200,
    patience=60,
    stop_share=0.2,
    batch=64,
    learning_rate=0.001,
    temperature=0.1,
    dropout=0.3,
    seed=0,
)
Ints = NDArray[np.int64]


class Emoji(NamedTuple):
    """Features of all emoji: `views` (n, 4, features), `names` (n, buckets)."""

    views: Ints
    names: Ints


class Split(NamedTuple):
    """Rows of the 60 % that train, of the 20 % to work with and of the 20 % held out."""

    training: Ints
    work: Ints
    held_out: Ints


def load(folder: Path) -> Emoji:
    """Read every image and its name."""
    rows = [json.loads(line) for line in (folder / "captions.jsonl").read_text("utf-8").splitlines()]
    images = [decode((folder / "images" / row["image"]).read_bytes(), MAX_PIXELS) for row in rows]
    return Emoji(np.stack([features.views(one) for one in images]), text.extract(row["name"] for row in rows))


def split(number: int, seed: int) -> Split:
    """Cut a random order at 60 and 80 %."""
    order = np.random.default_rng(seed).permutation(number)
    training, work, held_out = np.split(order, [number * 6 // 10, number * 8 // 10])
    return Split(training, work, held_out)


def shares(ranked: Ints) -> NDArray[np.float64]:
    """R@1, R@5, R@10."""
    return np.array([(ranked <= depth).mean() for depth in DEPTHS])


def measure(emoji: Emoji, seed: int, part: str) -> NDArray[np.float64]:
    """Train once; R@1, 5, 10 by pool (all, part alone) and direction (image to text, text to image): (2, 2, 3)."""
    rows = split(len(emoji.names), seed)
    checkpoint, _ = train(emoji.views[rows.training], emoji.names[rows.training], replace(PARAMS, seed=seed))
    images, texts = embed_images(checkpoint, emoji.views[:, 0]), embed_texts(checkpoint, emoji.names)
    asked = getattr(rows, part)
    ways = ((images, texts), (texts, images))
    among_all = [shares(ranks(one, other)[asked]) for one, other in ways]
    alone = [shares(ranks(one[asked], other[asked])) for one, other in ways]
    return np.array([among_all, alone])


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall of the caption encoder on held-out emoji.")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--seeds", type=int, default=3, help="splits and trainings to average over (default 3)")
    parser.add_argument("--part", choices=("held_out", "work"), default="held_out")
    chosen = parser.parse_args()
    if not chosen.folder.is_dir():
        sys.exit(f"{chosen.folder}: no such folder; name the one that holds captions.jsonl and images/")
    start = time.perf_counter()
    emoji = load(chosen.folder)
    print(f"features of {len(emoji.names)} emoji in 4 views: {time.perf_counter() - start:.1f} s", flush=True)
    results = []
    for seed in range(chosen.seeds):
        start = time.perf_counter()
        results.append(measure(emoji, seed, chosen.part))
        print(f"split and training {seed}: {time.perf_counter() - start:.1f} s", flush=True)
    sys.exit(not report(np.mean(results, axis=0), len(emoji.names), len(split(len(emoji.names), 0).held_out)))


def report(mean: NDArray[np.float64], everything: int, part: int) -> bool:
    """Print the table; whether R@10 among all is high enough."""
    for pool, size in enumerate((everything, part)):
        chance = np.array(DEPTHS) / size
        print(f"among {size}            R@1    R@5   R@10   R@10 / chance")
        for name, row in (("image to text", mean[pool, 0]), ("text to image", mean[pool, 1]), ("chance", chance)):
            print(f"  {name:14}  " + "  ".join(f"{share:.3f}" for share in row) + f"   {row[2] / chance[2]:.1f}")
    return bool((mean[0, :, 2] >= TIMES_CHANCE * 10 / everything).all())


if __name__ == "__main__":
    main()
