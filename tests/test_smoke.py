"""What nobody here wrote: real proposals and emoji together are indexed, and a proposal's status is found and cited."""

import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from stages.answering.answer import Answerer
from stages.assemble import read_answerer, verified_citations
from stages.files import read_json
from stages.records import Index, Question
from stages.settings import read_yaml
from tests.project import ROOT

CASES = ROOT.parent / "shared/cases"

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(not CASES.exists(), reason="../shared/cases, the public inputs, is not here"),
]


class Built(NamedTuple):
    """A corpus with its index."""

    corpus: Path
    read: Index
    answerer: Answerer


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("smoke")
    corpus, index, lexical = folder / "corpus", folder / "index.json", folder / "lexical.npz"
    rejected = folder / "rejected.json"
    shutil.copytree(CASES / "markdown/eips", corpus / "docs")
    shutil.copytree(CASES / "emoji/images", corpus / "images")
    arguments = {
        "params": ROOT / "params.yaml",
        "corpus": corpus,
        "index": index,
        "chain": folder,
        "environment": folder,
        "rejected": rejected,
    }
    flags = [str(part) for name, path in {**arguments, "lexical": lexical}.items() for part in (f"--{name}", path)]
    subprocess.run([sys.executable, "-m", "stages.build_index", *flags], cwd=ROOT, check=True)
    read = read_json(index, Index)
    params = read_yaml(ROOT / "params.yaml")
    return Built(
        corpus, read, read_answerer(params, Namespace(corpus=str(corpus), lexical=str(lexical)), read, ("lexical",))
    )


def front_matter(built: Built) -> dict[str, dict[str, str]]:
    """The plain fields of every proposal that has a title and a status, by path."""
    texts = {f"docs/{path.name}": path.read_text(encoding="utf-8") for path in (built.corpus / "docs").iterdir()}
    plain = re.compile(r"^([\w-]+): (.+)$", re.MULTILINE)
    found = {path: dict(plain.findall(text.split("---\n")[1])) for path, text in texts.items()}
    return {path: fields for path, fields in sorted(found.items()) if {"title", "status"} <= fields.keys()}


def found(built: Built, path: str, question: str, status: str) -> bool:
    """The status is answered from the proposal itself, verbatim, and the citation verifies."""
    record = built.answerer.answer(Question("status", question), "lexical")
    cited = [one.path for one in record.citations] == [path]
    verified = verified_citations(str(built.corpus), [record]) == {"status": True}
    return record.support and record.answer == status and cited and verified


def test_every_original_is_indexed(built: Built) -> None:
    paths = {path.relative_to(built.corpus).as_posix() for path in built.corpus.rglob("*.*")}
    assert len(paths) == 750
    assert {one.path for one in built.read.originals} == {entry.path for entry in built.read.entries} == paths


def test_the_status_of_a_proposal_is_found_by_its_title(built: Built) -> None:
    """Titles that several proposals share in part, or tables beside the front matter, may cost one in ten."""
    asked = front_matter(built)
    right = [found(built, path, f"What is the status of {one['title']}?", one["status"]) for path, one in asked.items()]
    assert len(right) > 80 and sum(right) >= 0.9 * len(right)


def answered(built: Built, path: str, field: str, title: str, value: str) -> bool:
    """The field is answered with its whole value, as it stands in the front matter of the proposal itself."""
    record = built.answerer.answer(Question(field, f"What is the {field} of {title}?"), "lexical")
    text = (built.corpus / path).read_text(encoding="utf-8")
    lines = {(one.path, text.rfind("\n", 0, one.start) + 1) for one in record.citations if one.start is not None}
    return record.support and record.answer == value and lines == {(path, text.index(f"\n{field}: ") + 1)}


def test_every_field_of_every_proposal_can_be_asked_for(built: Built) -> None:
    """As above; the word of a field may stand in the title, too, and two proposals may have nearly the same one."""
    asked = [(path, one, field) for path, one in front_matter(built).items() for field in one if field != "title"]
    right = Counter(field for path, one, field in asked if answered(built, path, field, one["title"], one[field]))
    total = Counter(field for _, _, field in asked)
    assert total.total() > 650 and right.total() >= 0.92 * total.total(), (right, total)
    assert all(right[field] >= 0.87 * total[field] for field in total), (right, total)


def test_a_field_that_a_proposal_lacks_is_not_taken_from_another(built: Built) -> None:
    """Whatever is answered stands in the proposal itself; a passage of it may be taken for the answer."""
    asked = front_matter(built)
    fields = {field for one in asked.values() for field in one}
    lacking = [(path, one["title"], field) for path, one in asked.items() for field in sorted(fields - one.keys())]
    records = [
        (path, field, built.answerer.answer(Question(field, f"What is the {field} of {title}?"), "lexical"))
        for path, title, field in lacking
    ]
    taken = [(path, field, one.citations[0]) for path, field, one in records if one.support]
    assert len(lacking) > 150 and len(taken) <= 0.35 * len(lacking), len(taken)
    assert sum(one.path != path for path, _, one in taken) <= 2


def test_the_status_of_a_proposal_is_found_by_its_number(built: Built) -> None:
    one = front_matter(built)["docs/eip-1010.md"]
    assert found(built, "docs/eip-1010.md", "What is the status of EIP-1010?", one["status"])


def test_a_proposal_that_is_not_there_is_refused(built: Built) -> None:
    record = built.answerer.answer(Question("status", "What is the status of EIP-987654?"), "lexical")
    assert not record.support
