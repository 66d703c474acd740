"""What every stage and command shares: named paths as arguments, errors as messages with an exit status."""

import argparse
import os
import sys
from collections.abc import Callable


def stage_paths(description: str | None, *names: str) -> argparse.Namespace:
    """Parse `--name PATH` for each name, all required; dvc.yaml hands every stage the paths that it declares."""
    parser = argparse.ArgumentParser(description=description)
    for name in names:
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, required=True, metavar="PATH")
    return parser.parse_args()


def run(main: Callable[[], None]) -> None:
    """Run a stage; one of the project's own errors becomes its message on stderr and its exit status."""
    from stages.errors import FrostlineError

    try:
        main()
        sys.stdout.flush()
    except FrostlineError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # whoever read our output has read enough; what is still buffered goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
