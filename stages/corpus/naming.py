"""What in a line of Markdown is the name of a field, and what its value."""

import re
from typing import NamedTuple

from markdown_it.token import Token

from stages.corpus.markdown import plain_inline
from stages.corpus.tokens import CJK

MAX_WORDS = 6
MAX_CJK = 12
_HTML, _ATOM = "\0", "\1"
_COLON = re.compile("[:：]")
_EMPHASIS = re.compile(r"\*{1,3}|_{1,3}")
_MARK = re.compile(r"\*{1,3}|_{1,3}|`+")
_TASK = re.compile(r"\s*\[[ xX]\]\s+")
_CJK = re.compile(f"[{CJK}]")
_SENTENCE = re.compile(r"[!?;](?:\s|$)|\.\s+[^\W\d_a-z]|[。！？；]")
_COMMA = re.compile(r"[,，](?:\s|$)|，")
_DASHES = "-–—―‒－− "


class Line(NamedTuple):
    """Inline Markdown from `start` to `end` of a content; `seen` is the whole content as `mask` gives it."""

    content: str
    seen: str
    start: int
    end: int


class Named(NamedTuple):
    """A name in plain words and where in the content its value stands."""

    name: str
    start: int
    end: int


def mask(inline: Token) -> str:
    """The content of an inline token, of the same length, with HTML and what is one piece (code, links) blotted out."""
    seen = list(inline.content)
    for child in sorted(inline.children or (), key=lambda child: child.type == "html_inline"):
        if "span" in child.meta:
            start, end = child.meta["span"]
            seen[start:end] = (_HTML if child.type == "html_inline" else _ATOM) * (end - start)
    return "".join(seen)


def is_blank(line: Line) -> bool:
    """True when nothing but space and HTML stands in the line."""
    return not line.seen[line.start : line.end].replace(_HTML, " ").strip()


def split_line(line: Line, listed: bool) -> Named | None:
    """Find `name: value`, in which the line's first colon is the separator; None when it is no field.

    An ASCII colon needs a space after it (so 10:30 and https: are none) unless it follows a CJK character or closes
    emphasis. In a list item (`listed`) and in a marked name a comma may stand; elsewhere a sentence is no value.
    """
    colon = _COLON.search(line.seen, line.start, line.end)
    if colon is None:
        return None
    task = _TASK.match(line.content, line.start, colon.start())
    name = line.content[task.end() if task else line.start : colon.start()].strip()
    mark = _open_mark(name)
    closing = mark if line.seen.startswith(mark, colon.end(), line.end) else ""
    start, end = _trim(line.seen, colon.end() + len(closing), line.end)
    apart = colon[0] == "：" or closing or start > colon.end() or _CJK.match(line.content, colon.start() - 1)
    words = plain_inline(name + mark)
    shown = listed or name.startswith(("*", "_", "`"))
    if not apart or not is_name(words, commas=shown):
        return None
    if mark and not closing:
        end -= len(mark) if line.seen.endswith(mark, start, end) else end - start
    start, end = unmark(line.content, line.seen, start, end)
    value = line.content[start:end]
    return Named(words, start, end) if is_value(value) and (shown or not is_prose(value)) else None


def is_name(words: str, commas: bool) -> bool:
    """True for at most MAX_WORDS words or MAX_CJK CJK characters without the punctuation of a sentence."""
    prose = _SENTENCE.search(words) or (not commas and _COMMA.search(words))
    paired = words.count("(") == words.count(")") and words.count("（") == words.count("）")
    return not _is_long(words) and not prose and paired and any(map(str.isalnum, words))


def is_prose(value: str) -> bool:
    """True for more than a name's length that ends like a sentence."""
    return _is_long(value) and value.endswith((".", "!", "?", "。", "！", "？"))


def is_value(value: str) -> bool:
    """False for nothing, dashes that say "not given", the rest of a URL, and words that announce what follows."""
    return bool(value.strip(_DASHES)) and not value.startswith("//") and not value.endswith((":", "："))


def unmark(content: str, seen: str, start: int, end: int) -> tuple[int, int]:
    """Shrink start:end past space, HTML, and emphasis or code marks around the whole."""
    start, end = _trim(seen, start, end)
    mark = _MARK.match(content, start, end)
    if mark is None:
        return start, end
    size = len(mark[0])
    inner = content[start + size : end - size]
    code = seen[start] == _ATOM
    around = end - start > 2 * size and content.endswith(mark[0], start, end) and mark[0] not in inner
    if not around or code != (mark[0][0] == "`") or (not code and inner != inner.strip()):
        return start, end
    if code:
        return _trim(content, start + size, end - size)
    return unmark(content, seen, start + size, end - size)


def _is_long(words: str) -> bool:
    return len(words.split()) > MAX_WORDS or len(_CJK.findall(words)) > MAX_CJK


def _open_mark(name: str) -> str:
    """The emphasis mark that `name` opens and does not close."""
    mark = _EMPHASIS.match(name)
    return mark[0] if mark and mark[0] not in name[mark.end() :] else ""


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end].replace(_HTML, " ").rstrip()
    return start + len(part) - len(part.lstrip()), start + len(part)
