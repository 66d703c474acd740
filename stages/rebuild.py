"""What an answerer stands on, made in memory as the stages make it on disk: vectors, term index, nearest neighbours."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stages import arrays
from stages.answering.answer import Answerer
from stages.assemble import embed_text
from stages.corpus.index import index_originals
from stages.corpus.png import decode
from stages.corpus.terms import Sections, Vocabulary
from stages.encoder import features, text
from stages.encoder.checkpoint import Checkpoint, embed_images, embed_texts
from stages.files import refuse
from stages.hashing import sha256
from stages.params import IndexParams, NeighboursParams
from stages.records import Entry, File, Shown, unseen
from stages.retrieval.lexical import build_lexical, count_terms, entry_words, front_matters
from stages.retrieval.library import Library
from stages.retrieval.neighbours import Neighbours, Vectors, quantise

Read = Callable[[str], bytes]
"""From an original's path to its bytes."""
THREADS = 2
S = TypeVar("S")
T = TypeVar("T")


def in_threads(make: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """What a pure function makes of each item, in their order. It opens nothing: the firewall sees one thread."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(make, items))


def remembering(answerer: Answerer) -> Answerer:
    """The same answerer, which embeds each question once, however often it is asked."""
    known = answerer.neighbours
    return replace(answerer, neighbours=known and replace(known, embed=cache(known.embed)))


def embed_pictures(
    entries: Sequence[Entry], read: Read, most: int, checkpoint: Checkpoint, shown: Shown = unseen
) -> Vectors:
    """The vectors of images of at most `most` pixels, (entries, dimension); those with the same bytes are decoded
    once."""
    data = {entry.sha256: read(entry.path) for entry in shown(entries, len(entries), "images")}
    seen = np.stack(in_threads(lambda one: features.extract(decode(one, most)), data.values()))
    vectors = dict(zip(data, quantise(embed_images(checkpoint, seen)), strict=True))
    return np.stack([vectors[entry.sha256] for entry in entries])


def embed_entries(
    entries: Sequence[Entry], read: Read, most: int, checkpoint: Checkpoint, shown: Shown = unseen
) -> Vectors:
    """The vectors of all entries, (entries, dimension): images by their pixels, all else by its words."""
    fronts = front_matters(entries)
    vectors = np.zeros((len(entries), checkpoint.dimension), dtype=np.int8)
    images = [row for row, entry in enumerate(entries) if entry.kind == "image"]
    if images:
        vectors[images] = embed_pictures([entries[row] for row in images], read, most, checkpoint, shown)
    for row, entry in enumerate(shown(entries, len(entries), "entries")):
        if entry.kind != "image":
            vectors[row] = quantise(embed_texts(checkpoint, text.extract([entry_words(entry, fronts)]))).ravel()
    return vectors


def make_library(entries: Sequence[Entry], words: Vocabulary) -> Library:
    """The index of entries as retrieval sees it."""
    ids = tuple(entry.id for entry in entries)
    return Library(
        ids=ids,
        entries={entry.id: entry for entry in entries},
        lexical=build_lexical(count_terms(entries, words)),
        words=words,
        rows={name: row for row, name in enumerate(ids)},
    )


def make_neighbours(
    entries: Sequence[Entry], vectors: Vectors, checkpoint: Checkpoint, settings: NeighboursParams
) -> Neighbours:
    """The vectors (entries, dimension) with a new HNSW index over them, or with the exact search."""
    everything = np.arange(len(vectors))
    return Neighbours(
        ids=[entry.id for entry in entries],
        rows={entry.id: row for row, entry in enumerate(entries)},
        vectors=vectors,
        embed=lambda question: embed_text(checkpoint, question),
        propose=(lambda vector, k: everything) if settings.exact else arrays.make_hnsw(vectors, settings),
    )


def renewed(neighbours: Neighbours, vectors: Vectors) -> Neighbours:
    """The same neighbours after some vectors changed: the index over the others stays, the changed rows, few beside
    all, are looked at each time. So none is lost by being new, and without a change all is as before."""
    changed = np.flatnonzero((vectors != neighbours.vectors).any(axis=1))

    def propose(asked: Vectors, k: int) -> NDArray[np.int64]:
        return np.union1d(neighbours.propose(asked, min(k + len(changed), len(vectors))), changed)

    return replace(neighbours, vectors=vectors, propose=propose)


def with_images(
    answerer: Answerer,
    images: Mapping[str, bytes],
    sections: Sections,
    settings: IndexParams,
    encoder: Checkpoint | None,
) -> Answerer:
    """The same answerer over other images: `images` are the new bytes of originals by path, one for each image entry.

    Their entries are described from the new pixels, their vectors and the term index made again. Documents, with what
    they say of images, and params stay. Raises BadInputError for bytes that are no image.
    """
    files = [(File(path, sha256(data), len(data)), data) for path, data in images.items()]
    found, rejected = index_originals(files, sections, settings)
    refuse(f"{one.path}: {one.reason}" for one in rejected)
    before = answerer.library.entries
    new = {entry.id: replace(entry, mentions=before[entry.id].mentions) for entry in found}
    entries = [new.get(entry.id, entry) for entry in before.values()]
    made = replace(
        answerer,
        library=make_library(entries, answerer.library.words),
        read=lambda path: images[path] if path in images else answerer.read(path),
    )
    if encoder is None or answerer.neighbours is None:
        return made
    vectors, rows = answerer.neighbours.vectors.copy(), [answerer.library.rows[name] for name in new]
    vectors[rows] = embed_pictures(list(new.values()), made.read, settings.max_pixels, encoder)
    return replace(made, neighbours=renewed(answerer.neighbours, vectors))
