"""How the encoder meets combinations without a caption: `python -m tests.bench.left_out`.

14 times 4 of the 20 training captions are left out as well, with the parameters of params.yaml, and the development
questions of three words are asked: is the right one of the 20 images nearest, at which cosine, and does that reach the
threshold that all other development questions about images would have been given? No holdout question is opened. Run
`dvc repro` first.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages import files, settings
from stages.calibration.sweep import optimal
from stages.corpus.png import decode
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint, embed_images, embed_texts
from stages.encoder.training import train
from stages.params import CalibrateParams, EncoderParams, load_section
from stages.records import Index
from stages.retrieval.lexical import entry_words, front_matters

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "data/course"
MAX_PIXELS = 1 << 24
DRAWS, LEFT_OUT = 14, 4


class Asked(NamedTuple):
    """Development questions: `image` is the row of the right one, -1 for a question that none answers."""

    texts: list[str]
    image: NDArray[np.int64]


def asked(images: list[str]) -> Asked:
    """The questions about images, and those to be refused for what no image has."""
    texts = {one.id: one.text for one in files.read_questions(COURSE / "queries/dev.jsonl")}
    labels = files.read_labels(COURSE / "evaluation-only/dev.jsonl")
    wanted = [
        one for one in labels if one.category == "image" or one.unanswerable_kind in ("unknown_attribute", "missing")
    ]
    rows = [images.index(one.expected_image) if one.expected_image else -1 for one in wanted]
    return Asked([texts[one.id] for one in wanted], np.array(rows))


def measure(checkpoint: Checkpoint, views: NDArray[np.int64], questions: Asked, left: NDArray[np.int64]) -> list[float]:
    """Nearest, mean cosine of those trained on and left out, and the share of these at or above the threshold."""
    cosines = embed_texts(checkpoint, text.extract(questions.texts)) @ embed_images(checkpoint, views[:, 0]).T
    plain = np.array([len(one.split()) == 3 for one in questions.texts]) & (questions.image >= 0)
    out = np.isin(questions.image, left)
    weight = load_section(CalibrateParams, "calibrate", settings.read_params(ROOT / "params.yaml")["calibrate"]).weight
    threshold = optimal(cosines.max(axis=1)[~out], (questions.image >= 0)[~out], weight).threshold
    right = cosines[np.arange(len(out)), questions.image]
    nearest = cosines.argmax(axis=1) == questions.image
    passed = right >= (np.inf if threshold is None else threshold)
    known, unknown = plain & ~out, plain & out
    parts = (nearest[unknown], right[known], right[unknown], passed[unknown])
    return [float(part.mean()) for part in parts]


def main() -> None:
    """Print the means of all draws."""
    captions = files.read_captions(COURSE / "training/captions.jsonl")
    views = np.stack(
        [features.views(decode(files.read_bytes(COURSE / "corpus" / one.image), MAX_PIXELS)) for one in captions]
    )
    entries = {one.id: one for one in files.read_json(ROOT / "artifacts/index/index.json", Index).entries}
    fronts = front_matters(entries.values())
    corpus = text.extract(entry_words(one, fronts) for one in entries.values() if one.kind != "image")
    captioned, questions = text.extract(one.caption for one in captions), asked([one.image for one in captions])
    params = load_section(EncoderParams, "encoder", settings.read_params(ROOT / "params.yaml")["encoder"])
    random, found = np.random.default_rng(5), []
    for seed in range(DRAWS):
        left = random.choice(len(captions), LEFT_OUT, replace=False)
        kept = np.setdiff1d(np.arange(len(captions)), left)
        checkpoint, _ = train(views[kept], captioned[kept], replace(params, seed=seed), corpus)
        found.append(measure(checkpoint, views, questions, left))
    nearest, trained, left_out, passed = np.mean(found, axis=0)
    print(f"left out: nearest {nearest:.2f}, cosine {left_out:.3f}, at or above the threshold {passed:.2f}")
    print(f"trained on: cosine {trained:.3f}")


if __name__ == "__main__":
    main()
