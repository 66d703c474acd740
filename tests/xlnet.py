"""Scores of a real reader with labels, for tests that can do without them: outside the project, never part of it."""

import csv

import numpy as np
import numpy.typing as npt
import pytest

from tests.project import ROOT

XLNET = ROOT.parent / "shared/cases/scores/xlnet-squad2.tsv"

needs_xlnet = pytest.mark.skipif(not XLNET.exists(), reason=f"the scores of another reader are not here: {XLNET}")


def xlnet() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Answer score (the negated null odds) and label of 8,733 questions of SQuAD 2.0."""
    with XLNET.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return np.array([-float(row["null_odds"]) for row in rows]), np.array([row["answerable"] == "1" for row in rows])
