"""Artifacts as the stages and commands read them that may not know the answers: of their kind, and sound by themselves.

Whether they belong together, `stages.calibration.binding` and `stages.chain` say by hash.
"""

from pathlib import Path

from stages.calibration.threshold import Swept, Threshold, threshold_findings
from stages.files import in_system, of_system, read_json, read_sealed, refuse_made
from stages.records import Answered, Scored
from stages.wellformed import scored_findings


def read_scored(folder: str | Path, system: str) -> Scored:
    """Read the records of a system."""
    path = of_system(folder, system)
    scored = read_json(path, Scored)
    refuse_made(path, scored_findings(scored, system))
    return scored


def read_answered(folder: str | Path, system: str) -> Answered:
    """Read the answers of a system, one decision for each record."""
    path = in_system(folder, system, "answers.json")
    answered = read_json(path, Answered)
    refuse_made(path, scored_findings(answered.scored, system))
    return answered


def read_swept(folder: str | Path, system: str) -> Swept:
    """Read what the sweep of a system was made of."""
    path = of_system(folder, system)
    swept = read_json(path, Swept)
    refuse_made(path, [] if swept.system == system else [f"system: the sweep of {swept.system}"])
    return swept


def read_frozen(folder: str | Path, system: str) -> Threshold:
    """Read the frozen threshold of a system, exactly what its seal covers; whether the seal fits is not looked at."""
    path = of_system(folder, system)
    frozen = read_sealed(path, Threshold)
    refuse_made(path, threshold_findings(frozen))
    return frozen
