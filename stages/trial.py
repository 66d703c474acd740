"""`frostline run`: the whole pipeline on another dataset, in a folder of its own, so that what is here stays.

On a folder of scores it is `frostline calibrate` that runs, and needs no project.

The one module that runs DVC. The folder is a project like this one: its params, a copy of its sources, and a dvc.yaml
without what its systems do not need. Labels and the ledger stay with the dataset.
"""

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from stages import calibrate, results
from stages.assemble import uses_encoder
from stages.atomic import told
from stages.errors import BadInputError
from stages.files import STRAY, write_bytes
from stages.importing import refuse_inside, refuse_taken
from stages.imports.scored import FILES
from stages.measures.table import result_table
from stages.params import SYSTEMS, UNQUOTABLE, load_systems
from stages.project import Project, read_project
from stages.settings import read_yaml
from stages.stage.declared import artifact_paths

ENCODING = ("train_encoder", "embed_corpus")
"""Stages that only systems with an encoder need."""
CAPTIONS = "${dataset}/training/captions.jsonl"
"""What an encoder learns from; a dataset that has none has no encoder."""
CONFIG = "[core]\n    analytics = false\n    no_scm = true\n"


def run_dataset(arguments: Namespace) -> None:
    """Make the folder, run `dvc repro` in it, print the table; of scores, write what `frostline calibrate` writes.

    Raises BadInputError where that cannot be done.
    """
    dataset, folder = Path(arguments.dataset), Path(arguments.folder)
    card = dataset / "dataset.yaml"
    if not card.is_file() and all((dataset / name).is_file() for name in FILES.values()):
        refuse_taken(folder)
        calibrate.run_scores(dataset, folder)
        return
    project = read_project(".")
    refuse_taken(folder)
    if not card.is_file():
        scores = " and ".join(FILES.values())
        raise BadInputError(
            f"{dataset}: no dataset.yaml in it (data/README.md says what a dataset is), nor {scores} with scores"
        )
    refuse_inside(folder, dataset)
    systems = load_systems(project.params)
    if uses_encoder(systems) and not (dataset / "training" / "captions.jsonl").exists():
        systems = ("lexical",)
        print(f"{dataset}: no training/captions.jsonl, from which an encoder could learn: lexical alone", flush=True)
    make_project(project, dataset, folder, systems)
    repro(folder)
    made = read_project(folder)
    print(result_table(results.read_figures(made.paths.metrics)))
    print(f"report: {made.paths.report}")


def make_project(project: Project, dataset: Path, folder: Path, systems: tuple[str, ...]) -> None:
    """Write a project for one dataset, of which it has only the path, and some systems."""
    place = os.path.relpath(dataset.resolve(), folder.resolve())
    if UNQUOTABLE & set(place):
        raise BadInputError(f"{dataset}: a shell would read its name otherwise; rename it, without quotes, $, ` and \\")
    params = {**project.params, "dataset": place, "holdout": "holdout", "systems": list(systems)}
    # hundreds of images in every condition take an hour: who wants that writes it into the folder's params.yaml
    params |= {"perturbation": {**params["perturbation"], "changes": {}}, "ablations": {}}
    with told(folder):
        shutil.copytree(project.root / "stages", folder / "stages", ignore=_stray)
    write_bytes(folder / ".dvc" / "config", CONFIG.encode("utf-8"))
    _write_yaml(folder / "params.yaml", params)
    _write_yaml(folder / "dvc.yaml", narrowed(read_yaml(project.root / "dvc.yaml"), systems))


def _stray(_: str, names: list[str]) -> list[str]:
    return [name for name in names if STRAY.fullmatch(name)]


def _write_yaml(path: Path, value: object) -> None:
    import yaml

    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
    write_bytes(path, text.encode("utf-8"))


def narrowed(pipeline: Mapping[str, Any], systems: Collection[str]) -> dict[str, Any]:
    """dvc.yaml without the stages that these systems do not need, and without what these and other systems write."""
    stages: dict[str, Any] = dict(pipeline["stages"])
    dropped = [] if uses_encoder(systems) else [stages.pop(name) for name in ENCODING if name in stages]
    gone = {_name(item) for entry in dropped for item in entry.get("outs", ())}
    if dropped:
        gone.add(CAPTIONS)
    files = artifact_paths(pipeline)
    gone |= {files[name[7:-1]] for name in gone if name.startswith("${path.") and name[7:-1] in files}
    others = set(SYSTEMS) - set(systems)

    def kept(items: Iterable[Any]) -> list[Any]:
        return [item for item in items if _name(item) not in gone and not others & set(re.split("[/.]", _name(item)))]

    listed = {
        name: {key: kept(value) if key in ("deps", "outs", "metrics") else value for key, value in entry.items()}
        for name, entry in stages.items()
    }
    plots = [
        {title: plot | {"y": {name: plot["y"][name] for name in kept(plot["y"])}}}
        for one in pipeline.get("plots", ())
        for title, plot in one.items()
    ]
    drawn = [one for one in plots if all(plot["y"] for plot in one.values())]
    return {**pipeline, "stages": listed, "plots": drawn}


def _name(item: Any) -> str:
    """Of a dependency or output, which may be a mapping from its name to options."""
    return str(next(iter(item)) if isinstance(item, dict) else item)


def repro(folder: Path) -> None:
    """Run `dvc repro` in a folder, with this Python; what it prints is shown."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    command = [sys.executable, "-m", "dvc", "repro"]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, check=False)
    if done.returncode:
        raise BadInputError(
            f"{folder}: `dvc repro` ended with {done.returncode}; mend what it says, run it there again"
        )


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "dataset", metavar="DATASET", help="a dataset's folder, or one of scores, as `frostline import` makes"
    )
    parser.add_argument("folder", metavar="FOLDER", help="a new or empty folder for all that comes out")
    parser.set_defaults(command=run_dataset)
