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
    """The keys of every proposal with their values, without YAML's quotes, by path."""
    texts = {f"docs/{path.name}": path.read_text(encoding="utf-8") for path in (built.corpus / "docs").iterdir()}
    plain = re.compile(r"^([\w-]+): +(.+)$", re.MULTILINE)
    heads = {path: text.split("---\n")[1] for path, text in texts.items()}
    return {
        path: {key: value.strip("\"'") for key, value in plain.findall(head)} for path, head in sorted(heads.items())
    }


def by_title(built: Built) -> dict[str, dict[str, str]]:
    """Those of `front_matter` that have a title, and one that no other has."""
    asked = front_matter(built)
    titles = Counter(one.get("title") for one in asked.values())
    return {path: one for path, one in asked.items() if "title" in one and titles[one["title"]] == 1}


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


def answered(built: Built, path: str, key: str, name: str, value: str) -> bool:
    """The key is answered with its whole value, as it stands in the front matter of the proposal itself."""
    record = built.answerer.answer(Question(key, f"What is the {key} of {name}?"), "lexical")
    text = (built.corpus / path).read_text(encoding="utf-8")
    lines = {(one.path, text.rfind("\n", 0, one.start) + 1) for one in record.citations if one.start is not None}
    return record.support and record.answer == value and lines == {(path, text.index(f"\n{key}: ") + 1)}


NAMES = {"number": (front_matter, "eip"), "title": (by_title, "title")}


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_every_proposal_can_be_asked_for(name: str, built: Built) -> None:
    read, called = NAMES[name]
    asked = [(path, key, one) for path, one in read(built).items() for key in one if key != called]
    names = {path: f"EIP-{one['eip']}" if called == "eip" else one["title"] for path, _, one in asked}
    missed = [(path, key) for path, key, one in asked if not answered(built, path, key, names[path], one[key])]
    assert (len(asked), missed) == ({"number": 827, "title": 683}[name], [])


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_a_proposal_lacks_is_refused(name: str, built: Built) -> None:
    read, called = NAMES[name]
    asked = read(built)
    keys = {key for one in asked.values() for key in one} - {called}
    lacking = [(path, key) for path, one in asked.items() for key in sorted(keys - one.keys())]
    names = {path: f"EIP-{one['eip']}" if called == "eip" else one["title"] for path, one in asked.items()}
    questions = [Question(path, f"What is the {key} of {names[path]}?") for path, key in lacking]
    taken = [one.text for one in questions if built.answerer.answer(one, "lexical").support]
    assert len(lacking) == {"number": 673, "title": 167}[name] and not taken, taken


def test_two_proposals_with_one_title_are_told_apart_by_their_numbers_alone(built: Built) -> None:
    asked = [one for one in front_matter(built).values() if one.get("title") == "Trustless log and transaction index"]
    record = built.answerer.answer(Question("created", f"What is the created of {asked[0]['title']}?"), "lexical")
    assert len(asked) == 2 and not record.support and record.refusal == "conflict"


def test_the_status_of_a_proposal_is_found_by_its_number(built: Built) -> None:
    one = front_matter(built)["docs/eip-1010.md"]
    assert found(built, "docs/eip-1010.md", "What is the status of EIP-1010?", one["status"])


def test_a_proposal_that_is_not_there_is_refused(built: Built) -> None:
    record = built.answerer.answer(Question("status", "What is the status of EIP-987654?"), "lexical")
    assert not record.support
