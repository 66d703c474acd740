"""`frostline import trec` and `scores`: what a system scored, as a folder with scores for development and a holdout."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from stages.calibration.cells import Columns
from stages.errors import BadInputError
from stages.importing import add_split, read_source, refuse_taken, write_folder
from stages.imports.scored import Item, scored_files
from stages.imports.trec import Judged, Retrieved, judged, qrels_findings, retrieved, run_findings, trec_items
from stages.scores import read_rows, read_scores, refuse
from stages.stage.progress import progress

T = TypeVar("T", Judged, Retrieved)


def import_trec(arguments: Namespace) -> None:
    """Write the best score of each judged query. Raises BadInputError listing what is wrong with either file."""
    refuse_taken(Path(arguments.dest))
    run, qrels = _lines(Path(arguments.run), retrieved), _lines(Path(arguments.qrels), judged)
    refuse(f"{arguments.run}: {found}" for found in run_findings(run))
    refuse(f"{arguments.qrels}: {found}" for found in qrels_findings(qrels))
    items, notes = trec_items(run, qrels)
    if not {one.query for one in run} & {one.query for one in qrels}:
        raise BadInputError(f"{arguments.run}: no query of {arguments.qrels}; do both belong together?")
    _write(arguments, arguments.qrels, items, notes)


def _lines(path: Path, read: Callable[[bytes], T | str]) -> list[T]:
    """One row a line; blank ones are none."""
    data = read_source(path).split(b"\n")
    rows, wrong = [], []
    for number, line in enumerate(progress(data, len(data), f"lines of {path.name}"), 1):
        row = read(line) if line.strip() else None
        if isinstance(row, str):
            wrong.append(f"{path}:{number}: {row}")
        elif row is not None:
            rows.append(row)
    refuse(iter(wrong))
    return rows


def import_scores(arguments: Namespace) -> None:
    """Write scores with labels, of a file that `frostline calibrate` reads. Raises BadInputError as that does."""
    refuse_taken(Path(arguments.dest))
    path, lower = Path(arguments.scores), arguments.lower_is_better
    columns = Columns("id", arguments.score_column, arguments.label_column)
    known = read_scores(path, columns, lower)
    rows = zip(read_rows(path, columns), known.signals.tolist(), known.answerable.tolist(), strict=True)
    items = [Item(str(cells.id), signal, label) for cells, signal, label in rows]
    refuse(_unwritable(path, items))
    _write(arguments, path, items, [f"score is the negative of {columns.score}"] if lower else [])


def _unwritable(path: Path, items: Sequence[Item]) -> Iterator[str]:
    yield from (f"{path}: id {one.id!r}: holds a tab, which parts columns" for one in items if "\t" in one.id)


def _write(arguments: Namespace, source: object, items: Sequence[Item], notes: Sequence[str]) -> None:
    try:
        made = scored_files(items, arguments.seed, arguments.dev_share, notes)
    except BadInputError as error:
        raise BadInputError("\n".join(f"{source}: {line}" for line in str(error).splitlines())) from error
    write_folder(Path(arguments.dest), made.files)
    print(f"{arguments.dest}: {made.summary}")


def add_arguments(add: Callable[..., ArgumentParser]) -> None:
    """Declare both formats and their arguments; `add` adds a parser by name."""
    one = add("trec", help="the best score of each query of a TREC run, and whether any is relevant")
    one.add_argument("run", metavar="RUN", help="lines `query Q0 document rank score tag`")
    one.add_argument("qrels", metavar="QRELS", help="lines `query 0 document relevance`")
    add_split(one, import_trec)
    one = add("scores", help="scores with labels, as `frostline calibrate` reads them")
    one.add_argument("scores", metavar="SCORES", help=".tsv, .csv, .jsonl or .parquet")
    one.add_argument("--score-column", metavar="NAME", default="score", help="default: score")
    one.add_argument("--label-column", metavar="NAME", default="answerable", help="default: answerable")
    one.add_argument("--lower-is-better", action="store_true", help="a low score means answerable")
    add_split(one, import_scores)
