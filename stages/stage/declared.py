"""dvc.yaml as far as this project uses it: the artifacts' names, and what each stage is declared to read and write."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stages.errors import BadInputError
from stages.params import Source

NEEDED = ("build_index", "freeze_threshold", "evaluate_holdout")
"""Stages that the commands name."""
KEYS = ("cmd", "deps", "params", "outs", "metrics", "desc", "meta")
OPTIONS = ("cache",)
"""What an entry, and an output of it, may hold: not what makes DVC pass over changes (`frozen`), keep what an earlier
run left (`persist`), or read the entry otherwise than we do (`wdir`, `matrix`)."""
_VARIABLE = re.compile(r"\$\{([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Declared:
    """One stage's entry, its variables filled in; `words` are those of its command. Paths as dvc.yaml has them."""

    words: tuple[str, ...]
    deps: tuple[str, ...]
    params: tuple[str, ...]
    outs: tuple[str, ...]


def artifact_paths(pipeline: Mapping[str, Any]) -> dict[str, str]:
    """The artifacts' file names by what they hold: the mapping `path` in the first item of `vars`."""
    match pipeline:
        case {"vars": [{"path": {**paths}}, *_]}:
            return {str(name): str(path) for name, path in paths.items()}
    raise BadInputError("dvc.yaml: vars: expected a first item `path` with the artifacts' file names")


def declared_stages(pipeline: Mapping[str, Any], source: Source) -> dict[str, Declared]:
    """Every stage by name, in the order of dvc.yaml. Raises BadInputError for an entry or variable it cannot read."""
    known = source._asdict() | {f"path.{name}": path for name, path in artifact_paths(pipeline).items()}
    stages = pipeline.get("stages")
    if not isinstance(stages, dict) or not stages or not all(isinstance(entry, dict) for entry in stages.values()):
        raise BadInputError(f"dvc.yaml: stages: expected a mapping of stages, got {stages!r}")
    if missing := [name for name in NEEDED if name not in stages]:
        raise BadInputError(f"dvc.yaml: stages: no {', '.join(missing)}")
    if findings := [text for name, entry in stages.items() for text in _findings(f"dvc.yaml: {name}", entry)]:
        raise BadInputError("\n".join(findings))
    return {str(name): _declared(str(name), entry, known) for name, entry in stages.items()}


def _findings(where: str, entry: Mapping[str, Any]) -> Iterator[str]:
    """What an entry holds that it may not."""
    if not isinstance(entry.get("cmd"), str):
        yield f"{where}.cmd: expected one command, got {entry.get('cmd')!r}"
    yield from (f"{where}.{key}: not in this pipeline; remove it" for key in entry if key not in KEYS)
    for key, option in _options(entry):
        if option not in OPTIONS:
            yield f"{where}.{key}: {option}: not in this pipeline; remove it"


def _options(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is said of outputs beside their names, with the key they stand under."""
    for key in ("outs", "metrics"):
        listed = entry.get(key)
        items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        yield from ((key, str(option)) for item in items for held in item.values() for option in _keys(held))


def _keys(value: object) -> Iterable[object]:
    return value if isinstance(value, dict) else ()


def _declared(name: str, entry: Mapping[str, Any], known: Mapping[str, str]) -> Declared:
    deps, params, outs, metrics = (_names(name, key, entry, known) for key in ("deps", "params", "outs", "metrics"))
    try:
        words = tuple(shlex.split(_filled(entry["cmd"], known)))
    except ValueError as error:
        raise BadInputError(f"dvc.yaml: {name}.cmd: {error}") from error
    return Declared(
        words=words,
        deps=deps,
        params=params,
        outs=(*outs, *metrics),
    )


def _names(stage: str, key: str, entry: Mapping[str, Any], known: Mapping[str, str]) -> tuple[str, ...]:
    """An item is a name, or a mapping whose one key is the name."""
    items = entry.get(key) or []
    if not isinstance(items, list) or not all(items):
        raise BadInputError(f"dvc.yaml: {stage}.{key}: expected a list of names, got {items!r}")
    return tuple(_filled(str(next(iter(item)) if isinstance(item, dict) else item), known) for item in items)


def _filled(text: str, known: Mapping[str, str]) -> str:
    unknown = sorted(set(_VARIABLE.findall(text)) - known.keys())
    if unknown:
        raise BadInputError(f"dvc.yaml: unknown {', '.join(unknown)} (known: {', '.join(known)})")
    return _VARIABLE.sub(lambda match: known[match[1]], text)


def covers(paths: Iterable[str], path: str) -> bool:
    """True when `path` is one of `paths` or lies below one."""
    return any(path == one or path.startswith(f"{one}/") for one in paths)


def behind(stages: Mapping[str, Declared], first: str) -> list[str]:
    """The stages that need what `first` writes, directly or not, in the order of `stages`."""
    reached = {first}
    for _ in stages:
        reached |= {name for name, entry in stages.items() if _needs(entry, [stages[one] for one in reached])}
    return [name for name in stages if name in reached and name != first]


def before(stages: Mapping[str, Declared], last: str) -> list[str]:
    """`last` and every stage that it needs, directly or not, in the order of `stages`."""
    return [name for name in stages if name == last or last in behind(stages, name)]


def _needs(entry: Declared, writers: Iterable[Declared]) -> bool:
    outs = [out for writer in writers for out in writer.outs]
    return any(covers(outs, dep) or any(covers([dep], out) for out in outs) for dep in entry.deps)
