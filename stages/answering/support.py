"""Does the best candidate really answer the question? The first reason why not, from the candidate's own words.

Rules for each kind of source, all on the terms of the question that the source does not hold:
image    every term has to be held: what pixels and captions do not say cannot be told (`unknown_attribute`), unless
         the vocabulary of pictures knows the word, then no such picture is there (`no_such_subject`);
field    the question covers the field's name, the source covers the question, and names (digits, capitals) are held;
passage  the source covers enough of the question, and names are held.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from stages.answering.question import Asked
from stages.params import SupportParams
from stages.records import Entry
from stages.retrieval.rerank import share

PICTURE_SECTIONS = ("colour/", "shape/", "size/", "position/", "count/")


@dataclass(frozen=True)
class Source:
    """A candidate with what support needs to know of it.

    held: terms of the entry. around: terms of the text it stands in (its chunk). name: weights of its name's terms.
    instructs: the text it stands in tries to steer the reader.
    """

    entry: Entry
    held: Set[str]
    around: Set[str]
    name: Mapping[str, float]
    instructs: bool


def first_reason(
    asked: Asked, source: Source, rivals: Sequence[Source], field_names: Set[str], params: SupportParams
) -> str | None:
    """The first reason against answering from `source`, or None.

    rivals: the other candidates. field_names: every term that some field of the corpus has in its name.
    """
    if asked.instructs or source.instructs:
        return "instruction_in_source"
    if any(_contradicts(asked, source, rival) for rival in rivals):
        return "conflict"
    missing = frozenset(asked.weights) - source.held - source.around
    if _covers(asked, source, missing, params):
        return None
    if len(asked.parts) > 1 and _half_covered(asked, missing, source):
        return "partial"
    return _why_missing(asked, source, missing, field_names)


def _contradicts(asked: Asked, source: Source, rival: Source) -> bool:
    """True for a field that answers the same question equally well with another value."""
    one, other = source.entry, rival.entry
    if one.kind != "field" or other.kind != "field" or _plain(one) == _plain(other):
        return False
    same_cover = asked.weights.keys() & source.held <= rival.held
    return same_cover and source.name.keys() == rival.name.keys()


def _plain(entry: Entry) -> str:
    return "".join((entry.value or "").split()).casefold()


def _covers(asked: Asked, source: Source, missing: Set[str], params: SupportParams) -> bool:
    if source.entry.kind == "image":
        return not missing
    if missing & asked.named:
        return False
    covered = 1 - share(missing, asked.weights)
    if source.entry.kind == "chunk":
        return covered >= params.passage_coverage
    return covered >= params.field_coverage and share(asked.weights, source.name) >= params.field_name


def _half_covered(asked: Asked, missing: Set[str], source: Source) -> bool:
    return any(not part & missing for part in asked.parts) and any(part & missing for part in asked.parts)


def _why_missing(asked: Asked, source: Source, missing: Set[str], field_names: Set[str]) -> str:
    if source.entry.kind == "image":
        told = all(term.startswith(PICTURE_SECTIONS) or term in asked.named for term in missing)
        return "no_such_subject" if told else "unknown_attribute"
    if missing & asked.named:
        return "no_such_subject"
    attributes = missing - asked.named
    return "field_not_given" if not attributes or attributes & field_names else "unknown_attribute"
