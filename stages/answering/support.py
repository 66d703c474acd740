"""Does the best candidate really answer the question? The first reason why not, from the candidates' own words.

A statement answers a question when it holds every name of it (numbers, capitals, `model~300`), every attribute, colour,
shape and size that it asks for (sections of the vocabulary) and enough of the rest:
description  all of it, since what the pixels do not show cannot be told;
mention, inscription  `field_coverage` of it;
field        `field_coverage` of it, and the question asks for `field_name` of the field's name, the subject apart; and,
             if a label above the field names the subject, for the whole label: a part's price is not the product's;
unit         `passage_coverage` of it.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from stages.answering.question import Asked
from stages.answering.source import Source, Statement
from stages.params import SupportParams
from stages.records import Mention
from stages.retrieval.rerank import share

REQUIRED = ("attribute/", "colour/", "shape/", "size/")
PICTURE_SECTIONS = ("colour/", "shape/", "size/", "position/", "count/")


@dataclass(frozen=True)
class Corpus:
    """What support knows of the corpus: whether some entry holds all names of the question, and the fields' names."""

    subject_known: bool
    field_names: Set[str]


def first_reason(asked: Asked, sources: Sequence[Source], corpus: Corpus, params: SupportParams) -> str | None:
    """The first reason against answering from the best of `sources`, which are ranked, or None."""
    best = sources[0]
    if asked.instructs or best.instructs:
        return "instruction_in_source"
    if _only_of_pictures(asked) and best.entry.kind != "image":
        return "no_such_subject"
    if _in_conflict(asked, sources, params):
        return "conflict"
    answered = [any(part_coverage(asked, one, part) >= params.part_coverage for one in sources) for part in asked.parts]
    if any(answered) and not all(answered):
        return "partial"
    return None if covers(asked, best, params) else _why_missing(asked, best, corpus)


def _only_of_pictures(asked: Asked) -> bool:
    """True when every word of the question that the corpus knows describes a picture."""
    known = [term for term in asked.weights if asked.weights[term] == asked.strict[term]]
    return bool(known) and all(term.startswith(PICTURE_SECTIONS) for term in known)


def covers(asked: Asked, source: Source, params: SupportParams) -> bool:
    """True when some statement of the source answers the whole question."""
    entry = source.entry
    if asked.keys and (entry.path in asked.keys or entry.front_matter or entry.kind == "chunk"):
        return _gives_key(asked, source)
    attributes = {term for term in asked.weights if term.startswith(REQUIRED)}
    if entry.kind == "field" and not _asks_for(asked, source, params):
        return False
    told = (one for one in source.says if attributes <= one.terms)
    return any(0 < statement_share(asked, one) >= _needed(one, params) for one in told)


def _gives_key(asked: Asked, source: Source) -> bool:
    return source.entry.front_matter and asked.keys.get(source.entry.path) == frozenset(source.name)


def _asks_for(asked: Asked, field: Source, params: SupportParams) -> bool:
    name = {term: weight for term, weight in field.name.items() if term not in asked.named}
    whole_label = not field.label & asked.named or field.label <= asked.weights.keys()
    return whole_label and (not name or share(asked.weights, name) >= params.field_name)


def best_mention(asked: Asked, source: Source) -> tuple[Mention, ...]:
    """The mention that answers better than an image's description does, and as well as its file, if one does."""
    shares = [statement_share(asked, one) for one in source.says]
    if source.entry.kind != "image" or max(shares) <= shares[0]:
        return ()
    best = shares.index(max(shares)) - 1
    return source.entry.mentions[best : best + 1]


def coverage(asked: Asked, source: Source) -> float:
    """Share of the question that the best statement of the source holds, 0 to 1; see `statement_share`."""
    return part_coverage(asked, source, asked.weights)


def statement_share(asked: Asked, statement: Statement) -> float:
    """Share by weight of the question's terms, its names apart, that a statement holds.

    0 when it lacks a name, or the question holds nothing but names and so asks for nothing.
    """
    return _share(asked, statement, asked.weights)


def _share(asked: Asked, statement: Statement, terms: Iterable[str]) -> float:
    weights = asked.strict if statement.kind == "description" else asked.weights
    rest = {term: weights[term] for term in terms if term not in asked.named}
    if not asked.named <= statement.terms:
        return 0.0
    return share(statement.terms, rest)


def part_coverage(asked: Asked, source: Source, part: Iterable[str]) -> float:
    """How well the source answers one conjunct about the subject of the whole question.

    Wholly where it is the key of front matter that is asked for, even if the rest is nothing but names.
    """
    if _gives_key(asked, source):
        return 1.0
    return max((_share(asked, one, part) for one in source.says), default=0.0)


def _needed(statement: Statement, params: SupportParams) -> float:
    needed = {"description": 1.0, "unit": params.passage_coverage}
    return needed.get(statement.kind, params.field_coverage)


def _in_conflict(asked: Asked, sources: Sequence[Source], params: SupportParams) -> bool:
    """True when several answers are equally good: different pictures, or values of fields for the same attribute."""
    best = sources[0]
    if best.entry.kind == "image":
        pictures = [one for one in sources if one.entry.kind == "image" and covers(asked, one, params)]
        others = [one for one in pictures if one is not best and one.entry.path not in best.entry.twins]
        return best in pictures and any(coverage(asked, one) >= coverage(asked, best) for one in others)
    fields = [one for one in sources if one.entry.kind == "field" and covers(asked, one, params)]
    if not fields:
        return False
    most = max(coverage(asked, one) for one in fields)
    first, *others = [one for one in fields if coverage(asked, one) == most]
    keys = _attribute_keys(asked, first)
    return any(_plain(one) != _plain(first) and (asked.keys or keys & _attribute_keys(asked, one)) for one in others)


def _attribute_keys(asked: Asked, field: Source) -> Set[frozenset[str]]:
    """What a field is about, the question's subject apart: its name, or its name with what it stands under."""
    names = frozenset(field.name) - asked.named
    return {key for key in (names, names | (field.label - asked.named)) if key}


def _plain(source: Source) -> str:
    return "".join((source.entry.value or "").split()).casefold()


def _why_missing(asked: Asked, source: Source, corpus: Corpus) -> str:
    said = max((one.terms for one in source.says), key=lambda terms: share(terms, asked.weights), default=frozenset())
    missing = asked.weights.keys() - said
    if source.entry.kind == "image":
        shown = all(term.startswith(PICTURE_SECTIONS) for term in missing)
        return "no_such_subject" if shown else "unknown_attribute"
    if missing & asked.named and not corpus.subject_known:
        return "no_such_subject"
    attributes = missing - asked.named
    return "field_not_given" if not attributes or attributes & corpus.field_names else "unknown_attribute"
