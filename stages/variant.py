"""The base run's answerer with one factor changed: only what depends on that factor is made again."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from stages import settings
from stages.answering.answer import Answerer
from stages.assemble import read_checkpoint
from stages.corpus.describe import describe
from stages.corpus.index import index_originals
from stages.corpus.png import decode
from stages.encoder.checkpoint import Checkpoint
from stages.errors import BadInputError
from stages.learning import learn
from stages.originals import read_originals
from stages.params import (
    ContextParams,
    EncoderParams,
    IndexParams,
    NeighboursParams,
    RetrievalParams,
    SupportParams,
    of_params,
)
from stages.rebuild import embed_entries, make_library, make_neighbours
from stages.records import Caption, Entry
from stages.variations import SWITCH, Ablation, SwitchParams


def switches(ablation: Ablation) -> SwitchParams:
    """What is switched off."""
    return of_params(SwitchParams, SWITCH, ablation.params)


def varied(ablation: Ablation, paths: Namespace, captions: Sequence[Caption], base: Answerer) -> Answerer:
    """The answerer of an ablation; originals are read again where it needs them. captions: those of the training set.

    Raises BadInputError where the factor cannot be changed on this dataset.
    """
    params, before = ablation.params, list(base.library.entries.values())
    entries = _entries(ablation, paths, before)
    made = replace(
        base,
        library=base.library if entries == before else make_library(entries, base.library.words),
        retrieval=of_params(RetrievalParams, "retrieval", params),
        context=of_params(ContextParams, "context", params),
        support=of_params(SupportParams, "support", params),
    )
    alike = switches(ablation).captions_alike
    if base.neighbours is None or (entries == before and alike and not ablation.factor.startswith("neighbours.")):
        return made
    encoder = read_checkpoint(paths.checkpoint) if alike else _learned(ablation, captions, base, entries)
    most = of_params(IndexParams, "index", params).max_pixels
    vectors = embed_entries(entries, base.read, most, encoder)
    found = make_neighbours(entries, vectors, encoder, of_params(NeighboursParams, "neighbours", params))
    return replace(made, neighbours=found)


def _entries(ablation: Ablation, paths: Namespace, before: Sequence[Entry]) -> list[Entry]:
    entries = list(before)
    if ablation.factor.startswith("index."):
        read, _ = read_originals(paths.corpus)
        indexing = of_params(IndexParams, "index", ablation.params)
        entries = index_originals(read, settings.read_vocabulary(), indexing).entries
    if not switches(ablation).descriptions:
        entries = [replace(one, text="") if one.kind == "image" else one for one in entries]
    return entries


def _learned(ablation: Ablation, captions: Sequence[Caption], base: Answerer, entries: Sequence[Entry]) -> Checkpoint:
    """The encoder, trained without the captions of images that look like one without a caption."""
    most = of_params(IndexParams, "index", ablation.params).max_pixels
    images = {one.path for one in entries if one.kind == "image"}
    looks = {path: _looks(base.read(path), most) for path in images}
    unseen = {look for path in images - {one.image for one in captions} for look in looks[path]}
    kept = [one for one in captions if not looks[one.image] & unseen]
    if not kept:
        raise BadInputError("no caption would be left: each image looks like one without a caption")
    return learn(kept, entries, base.read, most, of_params(EncoderParams, "encoder", ablation.params))[0]


def _looks(data: bytes, most: int) -> frozenset[tuple[str, str | None]]:
    """Colour and outline of each shape in an image."""
    return frozenset((one.colour, one.shape) for one in describe(decode(data, most)))
