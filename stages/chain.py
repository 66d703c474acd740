"""The chain from the originals to the report: each stage left its part, here every file is hashed again."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from stages import files
from stages.errors import BadInputError
from stages.hashing import plain_numbers
from stages.originals import list_originals
from stages.params import load_source
from stages.project import Project
from stages.records import File, Part
from stages.stage.declared import Declared, behind, covers
from stages.stage.watch import is_guarded, relative

INDEXED_BY = "build_index"
Look = Callable[[str], File | None]


class Broken(NamedTuple):
    """One link that does not hold, at the first stage that used the file or parameter."""

    stage: str
    finding: str


def broken_links(project: Project, names: Iterable[str], *, open_labels: bool) -> list[Broken]:
    """Every link of these stages that does not hold, in their order; each file and parameter is named once.

    Without `open_labels`, labels and captions are taken as they were.
    """
    found: dict[str, Broken] = {}
    look = cache(lambda path: _now(project.root, path))
    for name in names:
        for key, finding in _findings(project, name, look, open_labels):
            found.setdefault(key, Broken(name, finding))
    return list(found.values())


def _findings(project: Project, name: str, look: Look, open_labels: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with one stage's part, each with what it is about."""
    file = files.of_system(project.paths.chain, name)
    declared, path = project.stages[name], relative(project.root, file.absolute())
    try:
        part = files.read_json(file, Part)
    except BadInputError as error:
        yield path, str(error)
        return
    if part.stage != name:
        yield path, f"{path}: the part of {part.stage}"
    if part.command != declared.words:
        yield f"{path} command", f"{path}: was run as `{shlex.join(part.command)}`, which is not what dvc.yaml says"
    yield from _unlisted(project.root, declared, part, path)
    yield from _added(project, part)
    yield from _params(project, declared, part)
    dataset = relative(project.root, load_source(project.params).dataset)
    for was in (*part.read, *part.wrote):
        if open_labels or not is_guarded(was.path, dataset):
            yield from _file(was, look)


def _unlisted(root: Path, declared: Declared, part: Part, path: str) -> Iterator[tuple[str, str]]:
    """What dvc.yaml declares and the part does not hold, and the other way round."""
    for kind, names, listed in (("read", declared.deps, part.read), ("wrote", declared.outs, part.wrote)):
        wanted = {relative(root, name) for name in names} - {path}
        for name in sorted(wanted):
            if not any(covers([name], one.path) for one in listed):
                yield f"{path} {name}", f"{path}: does not say that it {kind} {name}"
        for one in listed:
            if not covers(wanted, one.path):
                yield f"{path} {one.path}", f"{path}: {kind} {one.path}, which dvc.yaml does not list"


def _added(project: Project, part: Part) -> Iterator[tuple[str, str]]:
    """Originals that are there now and were not there when the corpus was indexed."""
    if part.stage == INDEXED_BY:
        known, corpus = {one.path for one in part.read}, Path(project.paths.corpus).absolute()
        try:
            originals = [relative(project.root, corpus / path) for path in list_originals(corpus)]
        except BadInputError as error:
            yield project.paths.corpus, str(error)
            return
        added = (path for path in originals if path not in known)
        yield from ((path, f"{path}: was not there when the corpus was indexed") for path in added)


def _file(was: File, look: Look) -> Iterator[tuple[str, str]]:
    now = look(was.path)
    if now is None:
        yield was.path, f"{was.path}: recorded sha256 {was.sha256}, cannot be read"
    elif now != was:
        yield was.path, f"{was.path}: recorded sha256 {was.sha256}, found {now.sha256} ({now.size} bytes)"


def _now(root: Path, path: str) -> File | None:
    try:
        return files.hashed(root, path)[0] if (root / path).is_file() else None
    except (BadInputError, OSError):
        return None


def _params(project: Project, declared: Declared, part: Part) -> Iterator[tuple[str, str]]:
    was = _flat(part.params)
    now = _flat(plain_numbers({name: project.params.get(name) for name in declared.params}))
    for key in sorted(was.keys() | now.keys()):
        if was.get(key) != now.get(key):
            yield key, f"params.yaml: {key}: recorded {was.get(key)}, found {now.get(key)}"


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Sections to `section.name`; what is no section stays."""
    rows = ((key, item if isinstance(item, dict) else {"": item}) for key, item in value.items())
    return {f"{key}.{name}".rstrip("."): item for key, section in rows for name, item in section.items()}


def told(project: Project, broken: list[Broken]) -> Iterator[str]:
    """Lines that name the first broken link, everything behind it, and what else is broken."""
    names = list(dict.fromkeys(one.stage for one in broken))
    for place, name in enumerate(names):
        yield f"  the chain breaks first at {name}:" if place == 0 else f"  it also breaks at {name}:"
        yield from (f"    {one.finding}" for one in broken if one.stage == name)
        if place == 0:
            yield f"  behind it: {', '.join(behind(project.stages, name)) or 'nothing'}"
