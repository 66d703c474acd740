"""Which documents hang together by their questions, and which of these groups go to one side."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from stages.hashing import sha256

T = TypeVar("T", bound=Hashable)


def joined(sets: Iterable[Sequence[T]]) -> dict[T, T]:
    """By name, the name of its group: all names of one sequence are in one group, and so are those it shares."""
    above: dict[T, T] = {}

    def top(name: T) -> T:
        above.setdefault(name, name)
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for first, *others in sets:
        for other in others:
            above[top(other)] = top(first)
        top(first)
    return {name: top(name) for name in above}


def chosen(sizes: Mapping[str, int], seed: int, share: float) -> set[str]:
    """Whole groups that hold about `share` of all questions: in an order that the seed makes, each goes where it lacks.

    sizes  questions by group; share  above 0 and below 1.
    """
    found: set[str] = set()
    inside = outside = 0
    for group in sorted(sizes, key=lambda name: sha256(f"{seed}\0{name}".encode())):
        if inside * (1 - share) <= outside * share:
            found.add(group)
            inside += sizes[group]
        else:
            outside += sizes[group]
    return found
