"""Passages -> a Markdown page from which the parser reads each again, character by character, under its heading."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from stages.imports.collection import Passage

_OPENS_BLOCK = re.compile(r"[#>*+_\-`~<\[=|:]|\d{1,9}[.)]")
_INLINE = re.compile(r"[\\`*_\[\]<>&#]")


class Page(NamedTuple):
    """`offsets`: by passage id, where the first character of its text stands, or would stand, in `text`."""

    text: str
    offsets: dict[str, int]


def page(passages: Iterable[Passage]) -> Page:
    """Each passage as one paragraph under a heading of its own, its title.

    What could open another block than a paragraph gets a backslash in front. An empty heading parts passages without a
    title.
    """
    parts: list[str] = []
    offsets, length = {}, 0
    for passage in passages:
        body = passage.text.strip()
        mark = "\\" if _OPENS_BLOCK.match(body) else ""
        head = f"# {heading(passage.title)}".rstrip() + f"\n\n{mark}"
        offsets[passage.id] = length + len(head) - passage.text.index(body)
        parts.append(f"{head}{body}\n\n")
        length += len(parts[-1])
    return Page("".join(parts), offsets)


def heading(title: str) -> str:
    """A title of which the parser reads every character as itself."""
    return _INLINE.sub(r"\\\g<0>", title)
