"""Front matter -> its keys, each with the span of its value as written."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

_LINE = re.compile(r"^(\w[\w -]*):[ \t]+(\S[^\r\n]*)", re.MULTILINE)


class Key(NamedTuple):
    """A front matter key, nested ones as `outer.inner`; start/end is the value, without quotes."""

    name: str
    start: int
    end: int


def read_keys(text: str, start: int, end: int) -> list[Key]:
    """Keys of the YAML between two fences, text[start:end], that have a value, in order.

    A list is one value, verbatim. An alias (`*name`) has no value of its own and is left out. What is no valid YAML
    (`title: Frost: a manual`) is read line by line as `key: value`.
    """
    source = text[start:end]
    try:
        node = yaml.compose(source, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        found = [(match[1], *match.span(2)) for match in _LINE.finditer(source)]
    else:
        found = list(_values(source, node, "")) if isinstance(node, yaml.MappingNode) else []
    trimmed = [Key(name, *_trim(text, start + first, start + last)) for name, first, last in found]
    return [key for key in trimmed if key.start < key.end]


def _values(source: str, mapping: yaml.MappingNode, outer: str) -> Iterator[tuple[str, int, int]]:
    for key, value in mapping.value:
        if not isinstance(key, yaml.ScalarNode) or value.start_mark.index < key.end_mark.index:
            continue
        if isinstance(value, yaml.MappingNode):
            yield from _values(source, value, f"{outer}{key.value}.")
        else:
            yield f"{outer}{key.value}", *_extent(source, value)


def _extent(source: str, node: yaml.Node) -> tuple[int, int]:
    start, end = node.start_mark.index, node.end_mark.index
    style = node.style if isinstance(node, yaml.ScalarNode) else None
    if style in ("'", '"'):
        return source.index(style, start) + 1, end - 1
    if style in ("|", ">"):
        return min(end, start + len(source[start:end].splitlines(keepends=True)[0])), end
    return start, end


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    value = text[start:end].rstrip()
    return start + len(value) - len(value.lstrip()), start + len(value)
