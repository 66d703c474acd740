"""What people write in YAML: params.yaml, dvc.yaml, dataset.yaml, the vocabulary. Nothing in it is executed."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from stages.errors import BadInputError
from stages.files import read_text, refuse
from stages.params import SECTIONS

LARGEST_YAML = 2**18
"""Bytes; the largest of these files, dvc.yaml, has 14,000. Reading as many as these takes a second."""
DEEPEST_YAML = 20
EXPONENT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$")
VOCABULARY = Path(__file__).parent / "corpus" / "vocabulary.yaml"
Words: TypeAlias = dict[str, dict[str, dict[str, list[str]]]]
"""By section, word and language."""


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a YAML mapping with the safe loader, all findings at once.

    Only what JSON has: text, numbers, true and false, null, lists, mappings with text as keys, each once. No alias,
    which may stand for more than any memory holds, and at most DEEPEST_YAML levels.
    """
    import yaml

    loader, text = _loader(), read_text(path, LARGEST_YAML)
    try:
        refuse(f"{path}:{found}" for found in _events(yaml.parse(text, loader)))
        refuse(f"{path}:{line}: {key!r} stands there twice" for key, line in _repeated(yaml.compose(text, loader)))
        value = yaml.load(text, loader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise BadInputError(f"{path}: {error}") from error
    refuse(f"{path}: {found}" for found in _not_json(value))
    if not isinstance(value, dict):
        raise BadInputError(f"{path}: expected a mapping, got {type(value).__name__}")
    return value


def _loader() -> Any:
    """The safe loader, with 1e-05 a number as in YAML 1.2: `dvc exp run -S` writes it, PyYAML takes it for text."""
    import yaml

    loader: Any = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    loader.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))
    return loader


def _events(events: Iterable[Any]) -> Iterator[str]:
    """Every alias, and the first place that lies too deep, with its line; what comes behind that is not looked at."""
    from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in events:
        line: int = event.start_mark.line + 1
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if isinstance(event, AliasEvent):
            yield f"{line}: an alias, *{event.anchor}; write out what it stands for"
        if depth > DEEPEST_YAML:
            yield f"{line}: more than {DEEPEST_YAML} levels deep"
            return


def _not_json(value: object, place: str = "") -> Iterator[str]:
    """What YAML may say and JSON may not; hashes and messages are made of the rest."""
    if isinstance(value, dict):
        yield from (f"{place}{key!r}: expected text as a key" for key in value if not isinstance(key, str))
        for key, item in value.items():
            yield from _not_json(item, f"{place}{key}.")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _not_json(item, f"{place}{number}.")
    elif not (value is None or isinstance(value, str | int | float)):
        yield f"{place[:-1]}: expected text, a number, a list or a mapping, got {type(value).__name__}"
    elif isinstance(value, int | float) and not abs(value) < 2**63:
        yield f"{place[:-1]}: expected a number below 2^63"


def _repeated(node: Any) -> Iterator[tuple[str, int]]:
    """Yield (key, line) of every scalar key that its YAML mapping already holds."""
    seen: set[str] = set()
    pairs = node.value if node is not None and node.id == "mapping" else []
    for key, value in pairs:
        name = str(key.value)
        if name in seen:
            yield name, key.start_mark.line + 1
        seen.add(name)
        yield from _repeated(value)


def read_params(path: str | Path) -> dict[str, Any]:
    """Read params.yaml; a section that nobody knows is an error. Each stage checks the sections that it uses."""
    params = read_yaml(path)
    unknown = sorted(str(key) for key in params.keys() - set(SECTIONS))
    if unknown:
        raise BadInputError(f"{path}: unknown {', '.join(unknown)} (known: {', '.join(SECTIONS)})")
    return params


def read_vocabulary(path: str | Path = VOCABULARY) -> Words:
    """Read the words that a description may use and a question may contain: a source like the code beside it."""
    try:
        return msgspec.convert(read_yaml(path), Words)
    except msgspec.ValidationError as error:
        raise BadInputError(f"{path}: {error}") from error
