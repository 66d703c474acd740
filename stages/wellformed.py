"""What is wrong with a record by itself: a path that leads elsewhere, a place outside its original, a name of nothing.

Types are checked where JSON is decoded; here is what types do not say. Each finding says which row and field.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from stages.records import (
    REASONS,
    UNANSWERABLE_KINDS,
    Candidate,
    Citation,
    Entry,
    File,
    Index,
    Label,
    Mention,
    Record,
    Scored,
)

IMAGE_SUFFIX, DOCUMENT_SUFFIX = ".png", ".md"
ORIGINAL_SUFFIXES = (IMAGE_SUFFIX, DOCUMENT_SUFFIX)
_PART = r"(?!\.)[^/\\\x00-\x1f\x7f\ud800-\udfff]+"
_PATH = re.compile(rf"{_PART}(?:/{_PART})*")
NAME_RULE = (
    "expected a path below corpus/ like images/0007.png: relative, with forward slashes, without `..`, dot files, "
    "backslashes and control characters"
)


def name_finding(path: str) -> str | None:
    """Why a text is no path of a file below corpus/, whatever its suffix, or None."""
    return None if _PATH.fullmatch(path) else f"{NAME_RULE}; got {path!r}"


def path_finding(path: str) -> str | None:
    """Why a text is no path of an original, or None. The one owner of that rule, for whatever names an original."""
    fits = _PATH.fullmatch(path) and path.lower().endswith(ORIGINAL_SUFFIXES)
    return None if fits else f"{NAME_RULE}, ending in .png or .md; got {path!r}"


def repeated(names: Iterable[str]) -> list[str]:
    """The names that stand there more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def label_findings(label: Label) -> list[str]:
    """What is wrong with a label row by itself."""
    whole = label.evidence and all(label.evidence)
    refusal = label.category == "refusal"
    spans = [one for group in label.evidence for one in group]
    rules = {
        "a refusal needs unanswerable_kind and unanswerable_reason": not refusal
        or bool(label.unanswerable_kind and (label.unanswerable_reason or "").strip()),
        f"unanswerable_kind is none of {', '.join(UNANSWERABLE_KINDS)}": label.unanswerable_kind
        in (None, *UNANSWERABLE_KINDS),
        "only a refusal has unanswerable_kind and unanswerable_reason": refusal
        or label.unanswerable_kind is label.unanswerable_reason is None,
        "an image question, and no other, has expected_image": (label.category == "image")
        == bool(label.expected_image),
        "a field question, and no other, has expected_value": (label.category == "field") == bool(label.expected_value),
        "a field or passage question, and no other, has evidence, an alternative in every group": bool(whole)
        if label.category in ("field", "passage")
        else not label.evidence,
        "spans need 0 <= start < end": all(0 <= one.start < one.end for one in spans),
    }
    named = [("expected_image", label.expected_image or ""), *(("evidence", one.path) for one in spans)]
    paths = (f"{field}: {found}" for field, path in named if path and (found := path_finding(path)))
    return [*(text for text, holds in rules.items() if not holds), *paths]


def index_findings(index: Index) -> Iterator[str]:
    """What is wrong with an index by itself: it names no original, entry or place that it does not have."""
    yield from (f"originals: {found}" for one in index.originals if (found := path_finding(one.path)))
    yield from (f"rejected: {found}" for one in index.rejected if (found := name_finding(one.path)))
    named = (one.path for one in (*index.originals, *index.rejected))
    yield from (f"originals, rejected: {name}: stands there twice" for name in repeated(named))
    yield from (f"entries: {name}: stands there twice" for name in repeated(one.id for one in index.entries))
    originals, entries = {one.path: one for one in index.originals}, {one.id: one for one in index.entries}
    for entry in index.entries:
        yield from (f"entries: {entry.id}: {text}" for text in _entry_findings(entry, originals, entries))


def _entry_findings(entry: Entry, originals: Mapping[str, File], entries: Mapping[str, Entry]) -> Iterator[str]:
    image = entry.kind == "image"
    if not _is_of(entry, originals, IMAGE_SUFFIX if image else DOCUMENT_SUFFIX):
        yield f"path: no {'image' if image else 'document'} {entry.path} with that sha256 among the originals"
    elif image:
        if entry.id != entry.path or entry.start is not None or entry.end is not None:
            yield "id: an image's is its path, and it has no start and end"
    elif not _lies_in(entry.start, entry.end, originals[entry.path].size):
        yield f"start: expected 0 <= start < end within {entry.path}, got {entry.start} and {entry.end}"
    elif entry.kind == "chunk" and len(entry.text) != (entry.end or 0) - (entry.start or 0):
        yield "text: is not as long as from start to end"
    if (entry.kind == "field") != _has_value(entry):
        yield "value: a field, and nothing else, has one, as long as value_start to value_end, from start to end"
    if (entry.kind == "field") != (entry.chunk is not None) or not _is_in_chunk(entry, entries):
        yield f"chunk: a field, and nothing else, stands in a chunk of its document; got {entry.chunk}"
    if any(not _is_of(one, originals, DOCUMENT_SUFFIX) or not _lies_in_its(one, originals) for one in entry.mentions):
        yield "mentions: expected places in documents among the originals"
    if (entry.mentions or entry.inscriptions or entry.twins) and not image:
        yield "mentions, inscriptions, twins: only an image has them"
    if not all(name in entries and entries[name].kind == "image" for name in entry.twins):
        yield "twins: expected other images"


def _is_of(place: Entry | Mention, originals: Mapping[str, File], suffix: str) -> bool:
    original = originals.get(place.path)
    return original is not None and original.sha256 == place.sha256 and place.path.lower().endswith(suffix)


def _lies_in(start: int | None, end: int | None, size: int) -> bool:
    """True for a span within `size` bytes: no character takes less than one."""
    return start is not None and end is not None and 0 <= start < end <= size


def _lies_in_its(place: Mention, originals: Mapping[str, File]) -> bool:
    return _lies_in(place.start, place.end, originals[place.path].size)


def _has_value(entry: Entry) -> bool:
    if entry.value is None or entry.value_start is None or entry.value_end is None:
        return False
    inside = (entry.start or 0) <= entry.value_start < entry.value_end <= (entry.end or 0)
    return inside and len(entry.value) == entry.value_end - entry.value_start


def _is_in_chunk(entry: Entry, entries: Mapping[str, Entry]) -> bool:
    if entry.chunk is None:
        return True
    chunk = entries.get(entry.chunk)
    return chunk is not None and (chunk.kind, chunk.path) == ("chunk", entry.path)


def scored_findings(scored: Scored, system: str) -> Iterator[str]:
    """What is wrong with the records of a system by themselves."""
    if scored.system != system:
        yield f"system: the records of {scored.system}, expected those of {system}"
    yield from (f"records: {name}: stands there twice" for name in repeated(one.id for one in scored.records))
    for record in scored.records:
        yield from (f"records: {record.id}: {text}" for text in _record_findings(record, system))


def _record_findings(record: Record, system: str) -> Iterator[str]:
    sources = {"lexical", "neural"} if system == "hybrid" else {system}
    ranked = {"candidates": record.candidates, "reranked": record.reranked, **record.rank_lists}
    rules = {
        f"rank_lists: expected {', '.join(sorted(sources))}": record.rank_lists.keys() == sources,
        "reranked: other entries than in candidates": {one.id for one in record.candidates}
        == {one.id for one in record.reranked},
        "signal, top: both are there, or neither": (record.signal is None) == (record.top is None),
        f"refusal: expected none with support, else one of {', '.join(REASONS)}": record.refusal is None
        if record.support
        else record.refusal in REASONS,
        "image: there when the best candidate is an image, and then alone": (record.top == "image")
        == (record.image is not None),
    }
    yield from (text for text, holds in rules.items() if not holds)
    yield from (f"{name}: not by falling score, then id, each once" for name, one in ranked.items() if not _ranks(one))
    named = [("image", record.image), *(("citations", one.path) for one in record.citations)]
    yield from (f"{field}: {found}" for field, path in named if path is not None and (found := path_finding(path)))
    if not all(map(_is_whole, record.citations)):
        yield "citations: expected a quote as long as from start to end, or none of the three"


def _ranks(ranked: Iterable[Candidate]) -> bool:
    places = [(-one.score, one.id) for one in ranked]
    return places == sorted(places) and len({name for _, name in places}) == len(places)


def _is_whole(citation: Citation) -> bool:
    start, end, quote = citation.start, citation.end, citation.quote
    if start is None or end is None or quote is None:
        return (start, end, quote) == (None, None, None)
    return 0 <= start < end and len(quote) == end - start
