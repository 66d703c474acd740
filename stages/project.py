"""A project's folder as dvc.yaml and params.yaml describe it."""

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from stages import settings
from stages.errors import BadInputError
from stages.params import (
    CalibrateParams,
    ContextParams,
    EncoderParams,
    IndexParams,
    NeighboursParams,
    RetrievalParams,
    SupportParams,
    load_source,
    load_systems,
    of_params,
)
from stages.stage.declared import Declared, artifact_paths, declared_stages
from stages.variations import PerturbationParams, load_ablations

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
    _check(params)
    source, pipeline = load_source(params), settings.read_yaml(root / "dvc.yaml")
    of_dataset = {name: path.format(**source._asdict()) for name, path in OF_DATASET.items()}
    named = artifact_paths(pipeline) | of_dataset
    paths = Paths()
    vars(paths).update({name: str(root / path) for name, path in named.items()})
    return Project(root, params, declared_stages(pipeline, source), paths)


def _check(raw: Mapping[str, Any]) -> None:
    """Raise BadInputError with everything that is wrong in any section."""
    findings = []
    kinds: dict[str, Any] = {
        **{"index": IndexParams, "encoder": EncoderParams, "neighbours": NeighboursParams},
        **{"retrieval": RetrievalParams, "context": ContextParams, "support": SupportParams},
        **{"calibrate": CalibrateParams, "perturbation": PerturbationParams},
    }
    checks = [partial(of_params, kind, name, raw) for name, kind in kinds.items()]
    for check in (*checks, partial(load_source, raw), partial(load_systems, raw), partial(load_ablations, raw)):
        try:
            check()
        except BadInputError as error:
            findings.append(str(error))
    if findings:
        raise BadInputError("\n".join(findings))
