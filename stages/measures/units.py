"""Which questions belong together: they are drawn, or exchanged, as a whole."""

from collections.abc import Sequence

from stages.errors import BadInputError
from stages.measures.relevance import originals_of
from stages.records import Label


def units_of(labels: Sequence[Label], group_by: str | None) -> dict[str, str]:
    """By question id, the name of what is exchanged or drawn whole with it: a question's own id, or its group's.

    Questions whose labels name a common original are one group, and so are those that others join so; one that names
    none stands alone. Raises BadInputError for a group_by that is neither "document" nor None.
    """
    if group_by is None:
        return {label.id: label.id for label in labels}
    if group_by != "document":
        raise BadInputError(f"dataset.yaml: group_by: expected document or null, got {group_by!r}")
    group_of: dict[str, set[str]] = {}
    for named in map(_originals, labels):
        joined = named.union(*(group_of.get(original, ()) for original in named))
        group_of |= dict.fromkeys(joined, joined)
    return {label.id: min(group_of[min(_originals(label))]) for label in labels}


def _originals(label: Label) -> set[str]:
    return originals_of(label) or {f"question {label.id}"}
