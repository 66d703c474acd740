"""A candidate as the things it says: each a set of terms that stand together."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from stages.answering.instruction import instructs
from stages.answering.units import units
from stages.corpus.terms import Vocabulary
from stages.records import Entry
from stages.retrieval.library import Library


class Statement(NamedTuple):
    """One thing said. `kind`: an image's description, its mention in a document, a field, a unit of a chunk.

    A field is helped by the chunk around it: those terms are in `terms` too. Headings belong to every statement.
    """

    kind: Literal["description", "mention", "field", "unit"]
    terms: Set[str]


@dataclass(frozen=True)
class Source:
    """A candidate with what support needs to know of it.

    names      a field's own name: its terms with their idf.
    last       terms of the last heading: a table cell's row or column.
    instructs  the chunk that it is or stands in tries to steer its reader.
    """

    entry: Entry
    says: Sequence[Statement]
    name: Mapping[str, float]
    last: Set[str]
    instructs: bool


def read_source(entry: Entry, library: Library, cues: Vocabulary) -> Source:
    """Look at one candidate."""
    chunk = library.entries[entry.chunk] if entry.chunk else entry
    return Source(
        entry=entry,
        says=_statements(entry, library),
        name=library.weigh(entry.text) if entry.kind == "field" else {},
        last=library.distinct(entry.headings[-1]) if entry.headings else frozenset(),
        instructs=entry.kind != "image" and instructs(chunk.text, cues),
    )


def _statements(entry: Entry, library: Library) -> list[Statement]:
    path = library.distinct("\n".join(entry.headings))
    if entry.kind == "image":
        shown = [library.distinct("\n".join((*one.headings, one.words))) for one in entry.mentions]
        return [Statement("description", library.distinct(entry.text)), *(Statement("mention", one) for one in shown)]
    if entry.kind == "field":
        return [Statement("field", library.held(entry.id))]
    return [Statement("unit", path | library.distinct(unit)) for unit in units(entry.text)]
