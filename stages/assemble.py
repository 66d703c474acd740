"""What stages and commands put together from files: an answerer, checked citations, the binding as it is now."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stages import files
from stages.answering.answer import Answerer
from stages.answering.cite import verifies
from stages.calibration.binding import SCORING_PARAMS, SCORING_SOURCES, scoring_hash
from stages.calibration.ledger import SYSTEM_SOURCES, system_hash
from stages.corpus.terms import split_vocabulary
from stages.params import ContextParams, RetrievalParams, SupportParams, load_section
from stages.records import Index, Record
from stages.retrieval.lexical import from_arrays
from stages.retrieval.library import Library


def read_answerer(params: dict[str, Any], corpus: str, index: Index, lexical: str) -> Answerer:
    """Read term index and vocabulary; an original is read again whenever it is cited."""
    words, cues = split_vocabulary(files.read_vocabulary())
    ids = tuple(entry.id for entry in index.entries)
    library = Library(
        ids=ids,
        entries={entry.id: entry for entry in index.entries},
        lexical=from_arrays(files.read_arrays(lexical, index.lexical)),
        words=words,
        rows={name: row for row, name in enumerate(ids)},
    )
    return Answerer(
        library=library,
        cues=cues,
        retrieval=load_section(RetrievalParams, "retrieval", params.get("retrieval")),
        context=load_section(ContextParams, "context", params.get("context")),
        support=load_section(SupportParams, "support", params.get("support")),
        read=lambda path: files.read_bytes(Path(corpus) / path),
    )


def verified_citations(corpus: str, records: Iterable[Record]) -> dict[str, bool]:
    """By question id: every citation's hash, span and quote agree with the original as it is now."""
    return {
        record.id: all(verifies(one, files.read_bytes(Path(corpus) / one.path)) for one in record.citations)
        for record in records
    }


def current_scoring(params: dict[str, Any]) -> str:
    """Hash of the params and sources that make the signal, as they are now."""
    return scoring_hash(files.hash_sources(SCORING_SOURCES), {name: params.get(name) for name in SCORING_PARAMS})


def current_system(params: dict[str, Any], seals: Mapping[str, str]) -> str:
    """Hash of the frozen thresholds with all params and sources that answer, as they are now."""
    return system_hash(seals, params, files.hash_sources(SYSTEM_SOURCES))


def current_binding(params: dict[str, Any], paths: Namespace, system: str, dev_set: str) -> dict[str, Any]:
    """The fields of a binding as they are on disk now; the originals are hashed again.

    dev_set: from the sweep's record where labels may not be opened, else from the files.
    """
    originals = (files.read_original(paths.corpus, path)[0] for path in files.list_originals(paths.corpus))
    return {
        "model": None,
        "checkpoint": None,
        "dimension": None,
        "snapshot": files.snapshot_hash(originals),
        "index": files.hash_file(paths.index),
        "dev_set": dev_set,
        "dev_records": files.hash_file(files.of_system(paths.records, system)),
        "scoring": current_scoring(params),
    }
