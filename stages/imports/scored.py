"""Scores of questions, whose texts nobody needs -> dev.tsv and holdout.tsv, which `frostline run` calibrates on."""

from collections.abc import Sequence
from typing import NamedTuple

from stages.imports.files import Made, refuse_one_sided, summary
from stages.imports.split import chosen

FILES = {"dev": "dev.tsv", "holdout": "holdout.tsv"}
HEAD = ("id", "score", "answerable")


class Item(NamedTuple):
    """A question: how sure a system is that it can be answered, the higher the surer, and whether it can."""

    id: str
    score: float
    answerable: bool


def scored_files(items: Sequence[Item], seed: int, dev_share: float, notes: Sequence[str] = ()) -> Made:
    """Both files, of items whose ids differ and hold no tab or line break; which is for development the seed says.

    Raises BadInputError where a part lacks answerable or unanswerable questions.
    """
    dev = chosen({one.id: 1 for one in items}, seed, dev_share)
    parts: dict[str, list[Item]] = {split: [] for split in FILES}
    for one in items:
        parts["dev" if one.id in dev else "holdout"].append(one)
    refuse_one_sided(parts)
    made = {FILES[split]: _table(part) for split, part in parts.items()}
    return Made(made, summary(f"{len(items)} scores", parts, notes))


def _table(items: Sequence[Item]) -> bytes:
    rows = [HEAD, *((one.id, repr(one.score), str(int(one.answerable))) for one in items)]
    return "".join("\t".join(row) + "\n" for row in rows).encode("utf-8")
