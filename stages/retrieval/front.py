"""What front matter says of its document as a whole: what it may be called by, and the keys that it has.

Front matter is closed: a document has a key or has not, and what stands elsewhere in it under that word is another
thing. A question that names a document and a key, and nothing beside, asks for that key.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from stages.records import Entry

Terms = frozenset[str]
TITLE = "title"


class Fronts(NamedTuple):
    """The front matter of all documents, in distinct terms.

    names  of each document, by path: its first heading or title, the value of its key `title`, which may be another,
           then each key with its value that no other document has.
    keys   every key of the corpus.
    found  (path, name) by the rarest term of the name, so that a question meets few.
    """

    names: Mapping[str, tuple[Terms, ...]]
    keys: frozenset[Terms]
    found: Mapping[str, list[tuple[str, Terms]]]


def read_fronts(entries: Iterable[Entry], distinct: Callable[[str], Terms]) -> Fronts:
    """Look at the front matter of all documents that have one; `distinct` gives the distinct terms of a text."""
    fields: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.front_matter:
            fields.setdefault(entry.path, []).append(entry)
    holding = Counter(said for found in fields.values() for said in set(map(_said, found)))
    names = {path: tuple(filter(None, map(distinct, _names(found, holding)))) for path, found in fields.items()}
    often = Counter(term for found in names.values() for name in found for term in name)
    by_term: dict[str, list[tuple[str, Terms]]] = {}
    for path, found in names.items():
        for name in found:
            by_term.setdefault(min(name, key=lambda term: (often[term], term)), []).append((path, name))
    return Fronts(names, frozenset(distinct(one.text) for found in fields.values() for one in found), by_term)


def _said(field: Entry) -> str:
    return f"{field.text}: {field.value}"


def _names(fields: list[Entry], holding: Mapping[str, int]) -> Iterator[str]:
    yield "\n".join(fields[0].headings)
    yield from (one.value or "" for one in fields if one.text.casefold() == TITLE)
    yield from (said for said in map(_said, fields) if holding[said] == 1)


def asked_keys(asked: Set[str], repeated: Set[str], fronts: Fronts) -> dict[str, Terms]:
    """Path -> the key, for every document that a question calls by a name of it and asks for a key of front matter.

    asked: the question's distinct terms. repeated: those that it says more than once, of which one may be the key where
    nothing else is beside the name; then no shorter name is meant. The document may lack the key; another has it.
    """
    named = [one for term in sorted(asked) for one in fronts.found.get(term, ()) if one[1] <= asked]
    rests = [(path, name, frozenset(asked - name) or name & repeated) for path, name in named]
    meant = [one for one in rests if one[2] in fronts.keys]
    whole = {name for _, name, _ in meant if name == asked}
    return {path: rest for path, name, rest in reversed(meant) if not whole or name in whole}
