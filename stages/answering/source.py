"""A candidate as the things it says: each a set of terms that stand together."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from stages.answering.instruction import instructs
from stages.answering.units import units
from stages.corpus.terms import Vocabulary
from stages.records import Entry
from stages.retrieval.library import Library

PICTURE_ATTRIBUTES = frozenset({"attribute/colour", "attribute/shape"})
"""What every description tells, whatever it says of them."""


class Statement(NamedTuple):
    """One thing said. `kind`: an image's description, its mention in a document, its inscription, a field, a unit of a
    chunk.

    `terms` are those of the statement and of the heading path above it.
    """

    kind: Literal["description", "mention", "inscription", "field", "unit"]
    terms: Set[str]


@dataclass(frozen=True)
class Source:
    """A candidate with what support needs to know of it.

    name       a field's own name: its terms with their idf.
    label      terms of the row, column or list item that a field stands under.
    instructs  the chunk that it is or stands in, a heading above, or what is written where a document shows the image
               or in the image's own file tries to steer its reader.
    """

    entry: Entry
    says: Sequence[Statement]
    name: Mapping[str, float]
    label: Set[str]
    instructs: bool


def read_source(entry: Entry, library: Library, cues: Vocabulary) -> Source:
    """Look at one candidate."""
    chunk = library.entries[entry.chunk] if entry.chunk else entry
    return Source(
        entry=entry,
        says=_statements(entry, library),
        name=library.weigh(entry.text) if entry.kind == "field" else {},
        label=library.distinct("\n".join(entry.headings[len(chunk.headings) :])),
        instructs=any(instructs(text, cues) for text in _texts(chunk)),
    )


def _texts(entry: Entry) -> list[str]:
    """What is written in a chunk and above it; of an image, in its file and where it is shown, not our description."""
    own = [*entry.headings, entry.text] if entry.kind != "image" else [one.words for one in entry.inscriptions]
    return [*own, *(text for mention in entry.mentions for text in (*mention.headings, mention.words))]


def _statements(entry: Entry, library: Library) -> list[Statement]:
    path = library.distinct("\n".join(entry.headings))
    if entry.kind == "image":
        shown = [library.distinct("\n".join((*one.headings, one.words))) for one in entry.mentions]
        description = library.distinct(entry.text) | PICTURE_ATTRIBUTES
        said = [library.distinct(one.words) for one in entry.inscriptions]
        mentioned = [Statement("mention", one) for one in shown]
        return [Statement("description", description), *mentioned, *(Statement("inscription", one) for one in said)]
    if entry.kind == "field":
        return [Statement("field", library.held(entry.id))]
    return [Statement("unit", path | library.distinct(unit)) for unit in units(entry.text)]
