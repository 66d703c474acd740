"""Whether all that is here belongs together: the chain from the originals to the report, and every threshold.

Needs neither DVC nor git, and works on a copied folder.
"""

from collections.abc import Iterator
from pathlib import Path

from stages import files
from stages.assemble import checked_answers, usable_threshold
from stages.calibration.gate import Gate
from stages.calibration.ledger import Seen
from stages.chain import Broken, broken_links, told
from stages.errors import FrostlineError, StaleThresholdError
from stages.params import known_system, load_systems
from stages.project import Project, read_project
from stages.records import Part
from stages.stage.declared import before

FROZEN_BY = "freeze_threshold"
REMEDY = "run `dvc repro`, or, where that finds nothing to do, `dvc repro -f --no-run-cache`"
THRESHOLD_REMEDY = REMEDY.replace("repro`", f"repro {FROZEN_BY}`").replace("cache`", f"cache {FROZEN_BY}`")
LEDGER_REMEDY = (
    "a line that is gone comes back from git, one that was added is taken in by "
    "`dvc repro -f -s evaluate_holdout && dvc repro`"
)


def verify(root: str | Path) -> str:
    """Check everything; returns a line that says what was checked. Raises StaleThresholdError with every finding."""
    project = read_project(root)
    systems = load_systems(project.params)
    broken = broken_links(project, project.stages, open_labels=True)
    _refuse(project, f"what is here does not belong together; {REMEDY}", broken, list(_stale(project, systems)))
    parts = [files.read_json(files.of_system(project.paths.chain, name), Part) for name in project.stages]
    checked = {file.path for part in parts for file in (*part.read, *part.wrote)}
    return f"verified: {len(parts)} stages, {len(checked)} files, thresholds and answers of {', '.join(systems)}"


def load_gate(root: str | Path, system: str) -> Gate:
    """The frozen threshold of a system in a project's folder, once everything that it was made from is verified.

    Opens neither labels nor captions, and looks at no stage behind the threshold. Raises StaleThresholdError with every
    finding, BadInputError for a folder or system that is not there.
    """
    project = read_project(root)
    known_system(project.params, system)
    broken = broken_links(project, before(project.stages, FROZEN_BY), open_labels=False)
    head = f"{system}: the frozen threshold does not belong here; {THRESHOLD_REMEDY}"
    try:
        gate = usable_threshold(project.params, project.paths, system)
    except FrostlineError as error:
        _refuse(project, head, broken, [str(error)])
        raise
    _refuse(project, head, broken, [])
    return gate


def _refuse(project: Project, head: str, broken: list[Broken], stale: list[str]) -> None:
    """Raise StaleThresholdError when there is a finding."""
    if broken or stale:
        raise StaleThresholdError("\n".join([f"{head}:", *told(project, broken), *stale]))


def _stale(project: Project, systems: tuple[str, ...]) -> Iterator[str]:
    """What the checks of each threshold and its answers say, and those of the ledger."""
    params, paths = project.params, project.paths
    for system in systems:
        try:
            checked_answers(params, paths, system)
        except FrostlineError as error:
            yield str(error)
    try:
        ledger, seen = (files.read_jsonl(path, Seen, missing_ok=True) for path in (paths.ledger, paths.seen))
    except FrostlineError as error:
        yield str(error)
    else:
        if seen != [line for line in ledger if line.holdout in {one.holdout for one in seen}]:
            yield f"{paths.ledger}: its lines on this holdout are not those of {paths.seen}; {LEDGER_REMEDY}"
