"""The signal of a system: one number that says how sure it is, on a scale that no other candidate moves."""

from collections.abc import Callable, Mapping

from stages.answering.question import Asked
from stages.answering.source import Source
from stages.answering.support import coverage, part_coverage
from stages.retrieval.lexical import DECIMALS


def lexical_signal(asked: Asked, best: Source) -> float:
    """Share, 0 to 1 by idf, of what the question asks that one statement of the best candidate holds.

    0 when the candidate lacks a name of the question: another subject's value answers nothing. A question that joins
    several things is answered as well as the one that is answered worst.
    """
    whole = coverage(asked, best)
    return round(min([whole, *(part_coverage(asked, best, part) for part in asked.parts)]), DECIMALS)


def hybrid_signal(coverage: float, similarity: float) -> float:
    """Mean of the lexical signal and the cosine: both are absolute, and each is blind where the other sees."""
    return round((coverage + similarity) / 2, DECIMALS)


SIGNALS: Mapping[str, Callable[[float, float], float]] = {
    "lexical": lambda coverage, similarity: coverage,
    "neural": lambda coverage, similarity: similarity,
    "hybrid": hybrid_signal,
}
"""The signal of each system, from the lexical signal and the cosine of the question with the best candidate."""
