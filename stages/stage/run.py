"""What every stage and command shares: named paths as arguments, the firewall, errors as messages with a status."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn, TextIO

from stages import files, settings
from stages.errors import BadInputError, FrostlineError
from stages.hashing import plain_numbers
from stages.params import load_source
from stages.records import Part
from stages.stage.declared import Declared, covers, declared_stages
from stages.stage.environment import environment
from stages.stage.watch import Watch, is_guarded

ANSWERING = ("build_index", "embed_corpus", "score_dev", "answer_holdout")
"""Stages that may open no label and no caption, whatever dvc.yaml says."""
Main = Callable[[dict[str, Any], argparse.Namespace], None]


def run_stage(name: str, description: str | None, paths: tuple[str, ...], main: Main) -> None:
    """Run a stage as dvc.yaml declares it, on `--name PATH` for each of `paths`; it leaves its part of the chain.

    `main` gets the sections of params.yaml that are declared, no others, and the paths. What the stage ran on, and how
    long, goes to a file that nothing hashes.
    """
    run(lambda: _run_stage(name, _parsed(description, *paths, "params", "chain", "environment"), main))


def _run_stage(name: str, paths: argparse.Namespace, main: Main) -> None:
    start, ran_on = time.perf_counter(), environment()
    root, params = Path(), settings.read_params(paths.params)
    source = load_source(params)
    declared = declared_stages(settings.read_yaml("dvc.yaml"), source).get(name)
    if declared is None:
        raise BadInputError(f"dvc.yaml: no stage {name}")
    ledger = [word for word in declared.words if is_guarded(word, source.dataset)]
    versions = str(files.of_system(paths.environment, name))
    listed = (*declared.deps, *declared.outs, *ledger, "dvc.yaml", "params.yaml", versions)
    watch = Watch(root, source.dataset, listed, blind=name in ANSWERING)
    watch.note_sources()
    sys.addaudithook(watch)
    handed = {section: params[section] for section in declared.params if section in params}
    main(handed, paths)
    watch.note_sources()
    files.write_rows(files.of_system(paths.chain, name), chain_part(name, declared, handed, watch))
    files.write_json(versions, ran_on | {"seconds": round(time.perf_counter() - start, 3)})


def guard(dataset: str) -> None:
    """Close labels and captions to this process."""
    sys.addaudithook(Watch(Path(), dataset, None, blind=True))


def chain_part(name: str, declared: Declared, params: dict[str, Any], watch: Watch) -> Part:
    """What the stage ran on and what it wrote. Raises BadInputError for what changed while it ran.

    Two files are left out: dvc.yaml, and params.yaml, of which `params` has what counts. The ledger, which is no output
    of any run alone, is not among the declared outputs.
    """
    read = sorted(watch.read.keys() - watch.written - {"dvc.yaml", "params.yaml"})
    changed = [path for path in read if watch.now(path) != watch.read[path]]
    if changed:
        raise BadInputError("\n".join(f"{path}: changed while {name} ran; run it again" for path in changed))
    return Part(
        stage=name,
        command=("python", "-m", f"stages.{name}", *sys.argv[1:]),
        params=plain_numbers(params),
        read=tuple(watch.read[path] for path in read),
        wrote=tuple(watch.now(path) for path in sorted(watch.written) if covers(declared.outs, path)),
    )


def _parsed(description: str | None, *names: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    for name in names:
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, required=True, metavar="PATH")
    return parser.parse_args()


def run(main: Callable[[], None]) -> None:
    """Run something; one of the project's own errors becomes its message on stderr and its exit status."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        main()
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except FrostlineError as error:
        _end(error)
    except BrokenPipeError:
        # whoever read our output has read enough
        _drop(sys.stdout)
    except OSError as error:
        if sys.stdout:
            _drop(sys.stdout)
        _end(BadInputError(f"{error.filename or 'standard output'}: {error.strerror}; mend that and run it again"))


def _end(error: FrostlineError) -> NoReturn:
    try:
        print(_printable(f"{type(error).__name__}: {error}"), file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)  # a standard error that is full changes no exit status
    sys.exit(error.exit_status)


def _printable(text: str) -> str:
    """What a terminal shows as it is; a name that others chose may hold its commands."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def _drop(stream: TextIO) -> None:
    """What is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
