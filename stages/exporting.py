"""`frostline export trec`: the holdout's rank lists and what is relevant, as files that TREC's tools read.

Only answerable questions are in the qrels, as only they count in our retrieval figures. One without a relevant entry
has a row of relevance 0, so that it counts as missed. Scores count down from the last place: tools that order ties in
their own way find none.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from stages.chain import broken_links
from stages.errors import StaleThresholdError
from stages.evaluated import read_queries
from stages.importing import refuse_taken, write_folder
from stages.params import known_system
from stages.project import read_project
from stages.records import Candidate
from stages.report.inputs import Query

NOTHING = "nothing"
"""The document of a row that says only that a question was judged."""


def export_trec(arguments: Namespace) -> None:
    """Write both runs and the qrels. Raises StaleThresholdError where they would not belong to what is here."""
    project, folder = read_project("."), Path(arguments.dest)
    system = known_system(project.params, arguments.system)
    refuse_taken(folder)
    if broken_links(project, project.stages, open_labels=True):
        raise StaleThresholdError("these results do not belong to what is here; `frostline verify` says why")
    queries = read_queries(project.paths.holdout, system)
    made = {
        "qrels.txt": _lines(qrels(queries)),
        "before-rerank.txt": _lines(run_rows([(one.id, one.candidates) for one in queries], f"{system}-before")),
        "after-rerank.txt": _lines(run_rows([(one.id, one.reranked) for one in queries], f"{system}-after")),
    }
    write_folder(folder, made)
    print(f"written to {folder}: {', '.join(made)}")


def qrels(queries: Sequence[Query]) -> Iterator[str]:
    """`question 0 entry relevance` of every relevant entry of the index."""
    for one in queries:
        if one.label.answerable:
            yield from (f"{word(one.id)} 0 {word(name)} 1" for name in one.relevant)
            if not one.relevant:
                yield f"{word(one.id)} 0 {NOTHING} 0"


def run_rows(ranked: Sequence[tuple[str, Sequence[Candidate]]], tag: str) -> Iterator[str]:
    """`question Q0 entry rank score tag`, best first."""
    for name, candidates in ranked:
        for place, one in enumerate(candidates):
            yield f"{word(name)} Q0 {word(one.id)} {place + 1} {len(candidates) - place} {tag}"


def word(name: str) -> str:
    """A name as one word of a line; names that differ stay different."""
    return quote(name, safe="/#:;,.@+()[]{}=&?!'~-_*")


def _lines(rows: Iterator[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode("utf-8")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("format", choices=("trec",), metavar="FORMAT", help="trec")
    parser.add_argument("system", metavar="SYSTEM", help="one of params.yaml")
    parser.add_argument("dest", metavar="DEST", help="a new or empty folder")
    parser.set_defaults(command=export_trec)
