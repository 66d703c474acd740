"""Images and their captions, with the texts of an index -> a checkpoint: what training is, wherever it happens."""

from collections.abc import Callable, Sequence

import numpy as np

from stages.corpus.png import decode
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint
from stages.encoder.training import Epoch, train
from stages.params import EncoderParams
from stages.records import Caption, Entry, Shown, unseen
from stages.retrieval.lexical import entry_words, front_matters


def learn(
    captions: Sequence[Caption],
    entries: Sequence[Entry],
    read: Callable[[str], bytes],
    most: int,
    settings: EncoderParams,
    shown: Shown = unseen,
) -> tuple[Checkpoint, list[Epoch]]:
    """The checkpoint of some captions and its learning curve; `read(path)` gives an image of at most `most` pixels.

    The texts of `entries`, which have no images, only say how rare a piece of a word is. `shown` is told how far it is.
    """
    pictured = shown(captions, len(captions), "images")
    images = np.stack([features.views(decode(read(one.image), most)) for one in pictured])
    fronts = front_matters(entries)
    texts = text.extract(entry_words(entry, fronts) for entry in entries if entry.kind != "image")
    return train(images, text.extract(one.caption for one in captions), settings, texts, shown)
