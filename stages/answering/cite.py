"""Citations: taken from an original that was read again, verified by hash, span and quote."""

from stages.hashing import sha256
from stages.records import Citation, Entry, Mention


def cite(place: Entry | Mention, data: bytes) -> Citation:
    """Cite what stands in `data`, the original's bytes: a field's value, a whole chunk or mention, an image."""
    start, end = place.start, place.end
    if isinstance(place, Entry) and place.kind == "field":
        start, end = place.value_start, place.value_end
    quote = None if start is None else _text(data)[start:end]
    return Citation(place.path, place.sha256, start, end, quote)


def unchanged(place: Entry | Mention, data: bytes) -> bool:
    """True when the original's bytes are the ones that were indexed, and hold what the index says stands there."""
    if sha256(data) != place.sha256:
        return False
    if isinstance(place, Mention) or place.kind == "image":
        return True
    return cite(place, data).quote == (place.value if place.kind == "field" else place.text)


def verifies(citation: Citation, data: bytes) -> bool:
    """True when `data`, the cited original's bytes, has the cited hash and holds the quote at the cited place."""
    if sha256(data) != citation.sha256:
        return False
    return citation.quote is None or _text(data)[citation.start : citation.end] == citation.quote


def _text(data: bytes) -> str:
    """An original's text; what is no UTF-8, as in an image, holds no quote."""
    return data.decode("utf-8", "surrogateescape")
