"""What a threshold is chosen for: `calibrate.objective`. The one place that says which rows follow from the params.

`weighted_error` measures on the known questions (`stages.calibration.sweep`); the others certify a rate for new ones
(`stages.calibration.certificate`), which holds for independent draws alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stages.calibration.bykind import ANY, Signalled, best_rows
from stages.calibration.certificate import Certified, max_false_accept, max_selective_risk, percent
from stages.calibration.sweep import Answerable, Row, Signals, optimal
from stages.errors import BadInputError
from stages.params import CalibrateParams, DatasetCard

DRAWS = "the guarantee holds where both these questions and those to come are independent draws from one population"
GOALS = {"max_false_accept": "false-accept rate", "max_selective_risk": "selective risk"}
TRIALS = {
    "max_false_accept": "unanswerable questions were answered",
    "max_selective_risk": "answered questions were unanswerable",
}


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is promised of a frozen threshold, or why nothing can be.

    errors, trials  counts of the development set at the threshold: false accepts of unanswerable questions
                    (`max_false_accept`), or of answered ones (`max_selective_risk`).
    bound           the upper bound of errors / trials at confidence 1 - delta, to nine decimals, in which machines
                    agree; None with `why_not`. What is promised of new questions is alpha.
    """

    objective: str
    alpha: float
    delta: float
    bound: float | None
    errors: int
    trials: int
    why_not: str | None

    @property
    def sentence(self) -> str:
        """What is certified, and on what counts; or why nothing is."""
        if self.bound is None:
            return str(self.why_not)
        goal = f"{GOALS[self.objective]} at most {self.alpha} with confidence {percent(self.delta)}"
        return f"certified: {goal}: {self.counted(self.errors, self.trials)}, bound {self.bound:.4f}"

    def counted(self, errors: int, trials: int) -> str:
        """Counts of any set of questions in the words of the objective."""
        return f"{errors} of {trials} {TRIALS[self.objective]}"


class Choice(NamedTuple):
    """The rows that were chosen, keys as in `best_rows`; no certificate under `weighted_error`."""

    rows: dict[str, Row]
    certificate: Certificate | None


def rule(calibrate: CalibrateParams) -> str:
    """The objective as a sentence, with all params that decide under it; fp_weight stands beside it."""
    if not calibrate.certified:
        return "least weighted_error = fn + fp_weight * fp, then higher answer_f1, then higher threshold"
    goal = (
        f"{GOALS[calibrate.objective]} certified at most {calibrate.alpha} with confidence {percent(calibrate.delta)}"
    )
    from_answers = f", tested from {calibrate.min_answers} answers on" * (calibrate.objective == "max_selective_risk")
    return f"lowest threshold with a {goal}{from_answers}"


def choose_rows(
    records: Sequence[Signalled], answerable: Sequence[bool], calibrate: CalibrateParams, by_kind: bool
) -> Choice:
    """Choose over all records (key `any`), or, under `weighted_error` alone, over those of each kind (`best_rows`)."""
    if by_kind:
        return Choice(best_rows(records, answerable, calibrate.weight, by_kind), None)
    return choose_row([one.signal for one in records], answerable, calibrate)


def choose_row(signals: Signals, answerable: Answerable, calibrate: CalibrateParams) -> Choice:
    """Choose one boundary over (n,) signals, key `any`; "refuse all" where nothing can be certified.

    Raises BadInputError for what `sweep` refuses.
    """
    if not calibrate.certified:
        return Choice({ANY: optimal(signals, answerable, calibrate.weight)}, None)
    found = _certified(signals, answerable, calibrate)
    bound = None if found.bound is None else round(found.bound, 9)
    goal = (calibrate.objective, calibrate.alpha, calibrate.delta)
    return Choice({ANY: found.row}, Certificate(*goal, bound, found.errors, found.trials, found.why_not))


def _certified(signals: Signals, answerable: Answerable, calibrate: CalibrateParams) -> Certified:
    if calibrate.objective == "max_false_accept":
        return max_false_accept(signals, answerable, calibrate.weight, calibrate.alpha, calibrate.delta)
    goal = (calibrate.alpha, calibrate.delta, calibrate.min_answers)
    return max_selective_risk(signals, answerable, calibrate.weight, *goal)


def check_draws(calibrate: CalibrateParams, card: DatasetCard, name: str) -> None:
    """Refuse a certified objective on questions that are no independent draws: what it promised would not hold.

    name: the card's path. Raises BadInputError.
    """
    if calibrate.certified and (not card.independent_draws or card.group_by):
        what = "questions hang together by group_by" if card.independent_draws else "independent_draws is false"
        raise BadInputError(
            f"{name}: {what}, and calibrate.objective {calibrate.objective} is a guarantee for "
            "independent draws alone; set calibrate.objective to weighted_error"
        )
