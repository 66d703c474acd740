"""The errors a person meets. A message says what was wrong, where, and what to do."""


class FrostlineError(Exception):
    """Root of the project's errors; a program that raises one ends with `exit_status` and the message alone."""

    exit_status = 1


class BadInputError(FrostlineError):
    """A file, row, parameter or argument that cannot be used; carries every finding, one a line."""


class LabelFirewallError(FrostlineError):
    """Somebody opened labels or captions whom dvc.yaml does not hand them to."""


class StaleThresholdError(FrostlineError):
    """A threshold that does not belong to what it meets; lists every mismatch with the command that mends it."""

    exit_status = 3
