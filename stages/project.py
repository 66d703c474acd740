"""A project's folder as dvc.yaml and params.yaml describe it."""

from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from stages import settings
from stages.errors import BadInputError
from stages.params import check_params, load_source
from stages.stage.declared import Declared, artifact_paths, declared_stages

OF_DATASET = {
    "corpus": "{dataset}/corpus",
    "captions": "{dataset}/training/captions.jsonl",
    "dev_questions": "{dataset}/queries/dev.jsonl",
    "dev_labels": "{dataset}/evaluation-only/dev.jsonl",
    "questions": "{dataset}/queries/{holdout}.jsonl",
    "labels": "{dataset}/evaluation-only/{holdout}.jsonl",
    "ledger": "{dataset}/evaluation-only/holdout-ledger.jsonl",
}


class Paths(Namespace):
    """Paths by name; one that dvc.yaml does not declare is an error that names it."""

    def __getattr__(self, name: str) -> str:
        """Only asked for what is not there."""
        raise BadInputError(f"dvc.yaml: vars: path: no {name}")


class Project(NamedTuple):
    """Params, the stages as declared, and all paths by name, those of its dataset included, below `root`."""

    root: Path
    params: dict[str, Any]
    stages: dict[str, Declared]
    paths: Namespace


def read_project(root: str | Path) -> Project:
    """Read params.yaml and dvc.yaml; BadInputError where there is none."""
    root = Path(root)
    if not (root / "dvc.yaml").exists():
        raise BadInputError(f"no dvc.yaml in {root.absolute().name}; run frostline in the project's folder")
    params = settings.read_params(root / "params.yaml")
    check_params(params)
    source, pipeline = load_source(params), settings.read_yaml(root / "dvc.yaml")
    of_dataset = {name: path.format(**source._asdict()) for name, path in OF_DATASET.items()}
    named = artifact_paths(pipeline) | of_dataset
    paths = Paths()
    vars(paths).update({name: str(root / path) for name, path in named.items()})
    return Project(root, params, declared_stages(pipeline, source), paths)
