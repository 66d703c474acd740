"""Citations: taken from an original that was read again, verified by hash, span and quote."""

from stages.hashing import sha256
from stages.records import Citation, Entry


def cite(entry: Entry, start: int | None, end: int | None, text: str | None) -> Citation:
    """Cite `text[start:end]` of an entry's original, or the whole original where there is no span."""
    quote = None if start is None or text is None else text[start:end]
    return Citation(entry.path, entry.sha256, start, end, quote)


def unchanged(entry: Entry, data: bytes) -> bool:
    """True when the original's bytes are the ones that were indexed."""
    return sha256(data) == entry.sha256


def verifies(citation: Citation, data: bytes) -> bool:
    """True when `data`, the cited original's bytes, has the cited hash and holds the quote at the cited place."""
    if sha256(data) != citation.sha256:
        return False
    return citation.quote is None or data.decode("utf-8")[citation.start : citation.end] == citation.quote
