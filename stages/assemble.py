"""What stages and commands put together from files: an answerer, checked citations, the binding as it is now."""

from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stages import arrays, artifacts, files, settings
from stages.answering.answer import Answerer
from stages.answering.cite import verifies
from stages.calibration.binding import check_answers, check_derived, check_questions, check_threshold
from stages.calibration.gate import Gate
from stages.calibration.ledger import SYSTEM_SOURCES, system_hash
from stages.calibration.objective import choose_rows
from stages.calibration.threshold import SCORING_PARAMS, SCORING_SOURCES, Threshold, dev_set_hash, scoring_hash
from stages.corpus.terms import split_vocabulary
from stages.encoder import checkpoint, text
from stages.encoder.checkpoint import Checkpoint
from stages.errors import BadInputError, StaleThresholdError
from stages.hashing import plain_numbers
from stages.originals import list_originals, read_original, snapshot_hash
from stages.params import (
    CalibrateParams,
    ContextParams,
    NeighboursParams,
    RetrievalParams,
    SupportParams,
    of_params,
)
from stages.records import Answered, Index, Record, Scored, Vectors
from stages.retrieval import lexical
from stages.retrieval.library import Library
from stages.retrieval.neighbours import Neighbours, quantise

T = TypeVar("T")
INDEX_PATHS = ("corpus", "index", "lexical", "checkpoint", "vectors", "hnsw", "embedding")
"""What an answerer is read from."""


def read_answerer(params: dict[str, Any], paths: Namespace, index: Index, systems: Collection[str]) -> Answerer:
    """Read term index, vocabulary and, where a system needs them, the vectors; an original is read when it is cited."""
    words, cues = split_vocabulary(settings.read_vocabulary())
    ids = tuple(entry.id for entry in index.entries)
    found = arrays.read_arrays(paths.lexical, index.lexical)
    with naming(paths.lexical):
        terms = lexical.from_arrays(found, len(ids))
    library = Library(
        ids=ids,
        entries={entry.id: entry for entry in index.entries},
        lexical=terms,
        words=words,
        rows={name: row for row, name in enumerate(ids)},
    )
    return Answerer(
        library=library,
        cues=cues,
        retrieval=of_params(RetrievalParams, "retrieval", params),
        context=of_params(ContextParams, "context", params),
        support=of_params(SupportParams, "support", params),
        read=lambda path: read_original(paths.corpus, path),
        neighbours=read_neighbours(params, paths, index) if uses_encoder(systems) else None,
    )


def uses_encoder(systems: Collection[str]) -> bool:
    """True when one of the systems has vectors."""
    return any(system != "lexical" for system in systems)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the file's name before what is found wrong with what was read from it."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error


def read_checkpoint(path: str) -> Checkpoint:
    """Read the encoder's checkpoint, its weights read-only; BadInputError when it is none."""
    found = arrays.read_arrays(path, files.hash_file(path))
    with naming(path):
        return checkpoint.from_arrays(found)


def embed_text(encoder: Checkpoint, words: str) -> NDArray[np.int8]:
    """The vector (dimension,) of a text, on the grid of the entries' vectors."""
    (vector,) = quantise(checkpoint.embed_texts(encoder, text.extract([words])))
    return np.asarray(vector, dtype=np.int8)


def read_neighbours(params: dict[str, Any], paths: Namespace, index: Index) -> Neighbours:
    """Read vectors, HNSW index and checkpoint; BadInputError when they do not belong to each other or to the index."""
    exact = exact_neighbours(paths, index)
    settings = of_params(NeighboursParams, "neighbours", params)
    if settings.exact:
        return exact
    embedding = files.read_json(paths.embedding, Vectors)
    return replace(exact, propose=arrays.read_hnsw(paths.hnsw, embedding.hnsw, exact.vectors, settings.ef_search))


def exact_neighbours(paths: Namespace, index: Index) -> Neighbours:
    """The same without the HNSW index: every search looks at all vectors."""
    embedding = files.read_json(paths.embedding, Vectors)
    found = {"index": files.hash_file(paths.index), "checkpoint": files.hash_file(paths.checkpoint)}
    stale = [name for name, value in found.items() if getattr(embedding, name) != value]
    if stale:
        raise BadInputError(f"{paths.embedding}: made from another {' and '.join(stale)}; run `dvc repro embed_corpus`")
    encoder = read_checkpoint(paths.checkpoint)
    vectors = arrays.read_arrays(paths.vectors, embedding.vectors).get("vectors")
    shape = (len(index.entries), encoder.dimension)
    if vectors is None or vectors.dtype != np.int8 or vectors.shape != shape or embedding.dimension != shape[1]:
        raise BadInputError(
            f"{paths.vectors}, {paths.embedding}: no int8 vectors of shape {shape}; run `dvc repro embed_corpus`"
        )
    everything = np.arange(len(vectors))
    return Neighbours(
        ids=[entry.id for entry in index.entries],
        rows={entry.id: row for row, entry in enumerate(index.entries)},
        vectors=vectors,
        embed=lambda question: embed_text(encoder, question),
        propose=lambda vector, k: everything,
    )


def scored(params: dict[str, Any], paths: Namespace, system: str, index: Index, records: tuple[Record, ...]) -> Scored:
    """Records with the hashes of what they were made from."""
    return Scored(
        system=system,
        **current_encoder(paths, system),
        snapshot=index.snapshot,
        index=files.hash_file(paths.index),
        scoring=current_scoring(params, system),
        questions=files.hash_file(paths.questions),
        records=records,
    )


def verified_citations(corpus: str, records: Iterable[Record]) -> dict[str, bool]:
    """By question id: every citation's hash, span and quote agree with the original as it is now."""
    return {
        record.id: all(verifies(one, read_original(corpus, one.path)) for one in record.citations) for record in records
    }


def current_scoring(params: dict[str, Any], system: str) -> str:
    """Hash of the params and sources that make the signal of a system, as they are now."""
    settings = plain_numbers({name: params.get(name) for name in SCORING_PARAMS[system]})
    return scoring_hash(files.hash_sources(SCORING_SOURCES[system]), settings)


def current_encoder(paths: Namespace, system: str) -> dict[str, Any]:
    """Model, checkpoint, dimension and vectors of a system as they are on disk now; None for one without an encoder."""
    if system == "lexical":
        return {"model": None, "checkpoint": None, "dimension": None, "vectors": None}
    embedding = files.read_json(paths.embedding, Vectors)
    return {
        "model": embedding.model,
        "checkpoint": files.hash_file(paths.checkpoint),
        "dimension": embedding.dimension,
        "vectors": files.hash_file(paths.embedding),
    }


def current_system(params: dict[str, Any], seals: Mapping[str, str]) -> str:
    """Hash of the frozen thresholds with all params and sources that answer, as they are now."""
    return system_hash(seals, plain_numbers(params), files.hash_sources(SYSTEM_SOURCES))


def current_binding(params: dict[str, Any], paths: Namespace, system: str, dev_set: str) -> dict[str, Any]:
    """The fields of a binding as they are on disk now; the originals are hashed again.

    dev_set: from the sweep's record where labels may not be opened, else from the files.
    """
    originals = (files.hashed(paths.corpus, path)[0] for path in list_originals(paths.corpus))
    return current_encoder(paths, system) | {
        "snapshot": snapshot_hash(originals),
        "index": files.hash_file(paths.index),
        "dev_set": dev_set,
        "dev_records": files.hash_file(files.of_system(paths.records, system)),
        "scoring": current_scoring(params, system),
    }


def every(systems: Iterable[str], check: Callable[[str], T]) -> dict[str, T]:
    """What a check gives for each system. Raises StaleThresholdError with what it found in all of them."""
    found: dict[str, T] = {}
    findings = []
    for system in systems:
        try:
            found[system] = check(system)
        except StaleThresholdError as error:
            findings.append(str(error))
    if findings:
        raise StaleThresholdError("\n".join(findings))
    return found


def usable_threshold(params: dict[str, Any], paths: Namespace, system: str) -> Gate:
    """The frozen threshold after every check that needs no label; StaleThresholdError otherwise."""
    return Gate(_checked(params, paths, system, artifacts.read_swept(paths.sweep, system).dev_set))


def derived_threshold(params: dict[str, Any], paths: Namespace, system: str) -> Threshold:
    """The frozen threshold after every check, chosen again from bound records and labels; StaleThresholdError."""
    dev_set = dev_set_hash(files.read_bytes(paths.dev_questions), files.read_bytes(paths.dev_labels))
    frozen = _checked(params, paths, system, dev_set)
    calibrate = of_params(CalibrateParams, "calibrate", params)
    scored = artifacts.read_scored(paths.records, system)
    check_questions(frozen, scored, files.hash_file(paths.dev_questions))
    known = read_answerable(paths, scored)
    check_derived(frozen, choose_rows(scored.records, known, calibrate, system in calibrate.by_kind))
    return frozen


def read_answerable(paths: Namespace, scored: Scored) -> list[bool]:
    """Whether each record's question can be answered. Raises BadInputError naming every record without a label."""
    answerable = {label.id: label.answerable for label in files.read_labels(paths.dev_labels)}
    lacking = sorted({record.id for record in scored.records} - answerable.keys())
    if lacking:
        raise BadInputError(f"{paths.dev_labels}: no label for {', '.join(lacking)} of {scored.system}'s records")
    return [answerable[record.id] for record in scored.records]


def _checked(params: dict[str, Any], paths: Namespace, system: str, dev_set: str) -> Threshold:
    frozen = artifacts.read_frozen(paths.threshold, system)
    calibrate = of_params(CalibrateParams, "calibrate", params)
    check_threshold(frozen, system, calibrate, current_binding(params, paths, system, dev_set))
    return frozen


def checked_answers(params: dict[str, Any], paths: Namespace, system: str) -> tuple[Threshold, Answered]:
    """A frozen threshold and the holdout answers made with it, after every check of both; StaleThresholdError."""
    frozen = derived_threshold(params, paths, system)
    answered = artifacts.read_answered(paths.holdout, system)
    now = current_system(params, {system: frozen.seal})
    check_answers(answered, frozen, {"system": now, "questions": files.hash_file(paths.questions)})
    return frozen, answered
