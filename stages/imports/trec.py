"""A TREC run and its qrels -> how well the best document of each judged query scored, and whether any is relevant."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stages.calibration.cells import score_of
from stages.imports.scored import Item

RUN, QRELS = "query Q0 document rank score tag", "query 0 document relevance"
RELEVANCE = re.compile(r"-?[0-9]{1,9}")
"""A whole number; the digits are counted, as Python refuses to read thousands of them."""


class Retrieved(NamedTuple):
    """A line of a run. Ranks are not looked at: like TREC's own tools, we order by score."""

    query: str
    score: float
    tag: str


class Judged(NamedTuple):
    """A line of the qrels; a relevance above 0 is relevant."""

    query: str
    document: str
    relevance: int


def retrieved(line: bytes) -> Retrieved | str:
    """Read a line of a run, or say what is wrong with it; a finite score has one below it, for `trec_items`."""
    cells = _cells(line)
    score = score_of(cells[4]) if len(cells) == 6 else None
    if score is None or not math.isfinite(math.nextafter(score, -math.inf)):
        return f"expected `{RUN}` with a finite score, got {_shown(line)}"
    return Retrieved(cells[0], score, cells[5])


def judged(line: bytes) -> Judged | str:
    """Read a line of the qrels, or say what is wrong with it."""
    cells = _cells(line)
    if len(cells) != 4 or not RELEVANCE.fullmatch(cells[3]):
        return f"expected `{QRELS}` with a whole number of at most 9 digits as relevance, got {_shown(line)}"
    return Judged(cells[0], cells[2], int(cells[3]))


def _cells(line: bytes) -> list[str]:
    """The words of a line, between ASCII white space: any other may stand in a name. None of what is no UTF-8."""
    try:
        return [cell.decode("utf-8") for cell in line.split()]
    except UnicodeDecodeError:
        return []


def _shown(line: bytes) -> str:
    text = repr(line.decode("utf-8", "replace"))
    return text if len(text) <= 100 else f"{text[:100]}..."


def run_findings(run: Sequence[Retrieved]) -> Iterator[str]:
    """Several runs in one file: the best score would be any of theirs."""
    if len(tags := sorted({one.tag for one in run})) > 1:
        yield f"lines of {len(tags)} runs ({', '.join(tags[:3])}{', ...' * (len(tags) > 3)}); give one"


def qrels_findings(qrels: Iterable[Judged]) -> Iterator[str]:
    """Documents that are judged twice for a query."""
    times = Counter((one.query, one.document) for one in qrels)
    yield from (f"query {query}: document {name} is judged {n} times" for (query, name), n in times.items() if n > 1)


def trec_items(run: Sequence[Retrieved], qrels: Sequence[Judged]) -> tuple[list[Item], tuple[str, ...]]:
    """Judged queries in the order of the qrels, and what was left out.

    The score is the best one of the query. A query for which the run has nothing scores next below the lowest line of
    the run: it is refused before every other. A query that was not judged is left out: whether it can be answered,
    nobody knows.
    """
    best: dict[str, float] = {}
    for one in run:
        best[one.query] = max(one.score, best.get(one.query, -math.inf))
    relevant: dict[str, bool] = {}
    for line in qrels:
        relevant[line.query] = relevant.get(line.query, False) or line.relevance > 0
    nothing = math.nextafter(min((one.score for one in run), default=0.0), -math.inf)
    items = [Item(name, best.get(name, nothing), known) for name, known in relevant.items()]
    counts = {
        "left out {} queries of the run without judgement": len(best.keys() - relevant.keys()),
        "{} judged queries for which the run has nothing, scored below all": len(relevant.keys() - best.keys()),
    }
    return items, tuple(text.format(number) for text, number in counts.items() if number)
