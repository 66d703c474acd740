"""Which entries hold what a question needs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stages.records import Citation, Entry, Index, Label, Span

Holders = tuple[tuple[str, ...], ...]
"""For each necessary group of evidence the ids of all entries of an index that hold it, sorted."""


@dataclass(frozen=True)
class Indexed:
    """What of a corpus can be retrieved: the entries by id. `rejected` are paths of originals that were left out."""

    entries: Mapping[str, Entry]
    rejected: Collection[str] = frozenset()

    @cached_property
    def by_path(self) -> Mapping[str, Sequence[Entry]]:
        """The entries of each original."""
        found: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries.values():
            found[entry.path].append(entry)
        return found

    def holders(self, label: Label) -> Holders:
        """The entries that hold each necessary group: a whole alternative of it, or the expected image."""
        near = list(self._near(label))
        if label.expected_image:
            return (tuple(sorted(entry.id for entry in near if is_expected_image(label, entry))),)
        return tuple(
            tuple(sorted(entry.id for entry in near if any(holds(entry, span) for span in group)))
            for group in label.evidence
        )

    def _near(self, label: Label) -> Iterator[Entry]:
        """Entries of the originals that a label names, and images with the same pixels: no other can be relevant."""
        named = originals_of(label)
        twins = {path for name in named for entry in self.by_path.get(name, ()) for path in entry.twins}
        for path in (named | twins) & self.by_path.keys():
            yield from self.by_path[path]


def what_is_indexed(index: Index) -> Indexed:
    """The entries of an index, and what was left out of it."""
    return Indexed({entry.id: entry for entry in index.entries}, frozenset(one.path for one in index.rejected))


def originals_of(label: Label) -> set[str]:
    """Paths of the originals that a label names."""
    named = {span.path for group in label.evidence for span in group}
    return named | ({label.expected_image} if label.expected_image else set())


def holds(place: Entry | Citation, span: Span) -> bool:
    """True when `place` covers the whole of `span` in the same original; a place without a span covers nothing."""
    if place.path != span.path or place.start is None or place.end is None:
        return False
    return place.start <= span.start and span.end <= place.end


def held(span: Span, places: Iterable[Entry | Citation]) -> bool:
    """True when a single one of `places` covers the whole of `span`."""
    return any(holds(place, span) for place in places)


def is_expected_image(label: Label, entry: Entry) -> bool:
    """True for the entry of the image that the label asks for, or of one with the same pixels."""
    return entry.kind == "image" and label.expected_image in (entry.path, *entry.twins)


def is_relevant(label: Label, entry: Entry) -> bool:
    """True when the entry holds a whole alternative of some evidence group, or is the expected image."""
    return is_expected_image(label, entry) or any(holds(entry, span) for group in label.evidence for span in group)
