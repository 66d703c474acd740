"""Which entries hold what a question needs."""

from collections.abc import Iterable

from stages.records import Citation, Entry, Label, Span


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


def relevant_ids(label: Label, entries: Iterable[Entry]) -> frozenset[str]:
    """Give the ids of those of `entries` that are relevant; a rank list needs only its own entries looked at."""
    return frozenset(entry.id for entry in entries if is_relevant(label, entry))
