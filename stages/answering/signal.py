"""The signal of a system: one number that says how sure it is, on a scale that no other candidate moves."""

from collections.abc import Mapping, Set

from stages.retrieval.lexical import DECIMALS
from stages.retrieval.rerank import share


def lexical_signal(asked: Mapping[str, float], held: Set[str]) -> float:
    """Idf-weighted share, 0 to 1, of the question's distinct terms that the best candidate holds.

    asked: idf of every distinct term of the question; what the question could reach at most is all of it.
    """
    return round(share(held, asked), DECIMALS)
