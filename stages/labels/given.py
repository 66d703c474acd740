"""Fields of the corpus that give what an unanswerable question asks for."""

from collections.abc import Iterator, Sequence

from stages.answering.question import Asked, read_question
from stages.corpus.terms import Vocabulary
from stages.labels.dataset import Finding, Originals, Part
from stages.records import Entry
from stages.retrieval.library import Library

CONTRADICTED = ("missing", "hard_negative", "unknown_attribute")
"""Kinds that say the corpus does not give it. The others say that it does, and in which way that is no answer."""


def given_findings(
    parts: Sequence[Part], library: Library, cues: Vocabulary, originals: Originals
) -> Iterator[Finding]:
    """Questions labelled unanswerable whose field is there, with the first place of it and how many more."""
    for part in parts:
        lines = {label.id: line for line, label in part.labels.rows.items()}
        for _, question, label in part.labelled():
            if label.unanswerable_kind in CONTRADICTED:
                asked = read_question(question.text, library, cues)
                if places := given(asked, library):
                    text = f"{label.unanswerable_kind}, but {_told(places, originals)}"
                    yield Finding(part.labels.path, lines[label.id], label.id, text, suspicious=True)


def given(asked: Asked, library: Library) -> list[Entry]:
    """The fields whose whole name is asked for and that hold, heading path and value included, all that is asked.

    All: every name, and every other word that the corpus has. A heading above the field has to be asked for too, or the
    question names no subject.
    """
    wanted = asked.named | {term for term in asked.weights if term in library.lexical.terms}
    rows = frozenset.intersection(*map(library.lexical.holders, wanted)) if wanted else frozenset()
    entries = (library.entries[library.ids[row]] for row in sorted(rows))
    return [entry for entry in entries if entry.kind == "field" and _is_asked(entry, asked, library)]


def _is_asked(field: Entry, asked: Asked, library: Library) -> bool:
    """True when the question asks for the whole name of the field, and for something of the headings above it."""
    name = library.distinct(field.text)
    above = library.distinct("\n".join(field.headings)) - name
    return bool(name) and name <= asked.weights.keys() and not above.isdisjoint(asked.weights)


def _told(places: Sequence[Entry], originals: Originals) -> str:
    first = places[0]
    line = originals.texts[first.path].count("\n", 0, first.start) + 1
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{first.path}:{line} gives {first.text!r} of {' > '.join(first.headings)!r}{more}"
