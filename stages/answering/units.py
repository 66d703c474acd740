"""The smallest stretches of a chunk that say something on their own: paragraph, list item, table row with header."""

import re

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_RULE = re.compile(r"[\s|:-]+")


def units(text: str) -> list[str]:
    """Cut the Markdown source of a chunk into its units, in order; a table row carries the table's first row."""
    found: list[str] = []
    header: str | None = None
    for line in text.splitlines():
        if line.lstrip().startswith("|"):
            if header is None:
                header = line
            elif not _RULE.fullmatch(line):
                found.append(f"{header}\n{line}")
            continue
        header = None
        _add(found, line)
    return [unit for unit in found if unit.strip()]


def _add(found: list[str], line: str) -> None:
    """A line goes on with the paragraph before it unless a blank line, an item or a table stands between."""
    goes_on = found and found[-1] and line.strip() and not _ITEM.match(line) and not found[-1].startswith("|")
    if goes_on:
        found[-1] += "\n" + line
    else:
        found.append(line if line.strip() else "")
