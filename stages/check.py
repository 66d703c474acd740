"""Labels checked before they are believed: everything that is wrong with a dataset, with its file and line.

For the author of a dataset: it opens the labels of all parts, answers no question and shows no result of a system.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from os.path import lexists
from pathlib import Path
from typing import NamedTuple

from stages import files, settings
from stages.corpus.index import index_originals
from stages.corpus.terms import split_vocabulary
from stages.corpus.text import decode_text
from stages.errors import BadInputError
from stages.files import QuestionRow, Row
from stages.labels.dataset import DEV, Dataset, Finding, Originals, Part, Table
from stages.labels.given import given_findings
from stages.labels.parts import part_findings
from stages.labels.rows import row_findings
from stages.originals import find_originals
from stages.params import DatasetCard, IndexParams, load_section, of_params
from stages.project import OF_DATASET
from stages.records import Caption, Entry, Label, Question
from stages.retrieval.lexical import build_lexical, count_terms
from stages.retrieval.library import Library
from stages.settings import Words
from stages.stage.progress import progress
from stages.wellformed import DOCUMENT_SUFFIX

LEDGER = Path(OF_DATASET["ledger"]).name
WITHOUT_PARAMS = IndexParams(max_pixels=2**24, chunk_tokens=120, chunk_overlap=30)
"""`index` where the current folder has no params.yaml with it; but for `max_pixels` it changes no finding."""
NO_CAPTIONS = "no such file; `frostline run` then leaves out the systems with an encoder, which learns from captions"
EXIT = (
    "Prints `path:line: error: id: what is wrong` for every finding, line and id where there is one. `suspicious:` in "
    "the place of `error:` marks what may be meant: an unanswerable question whose field is in the corpus, a question "
    "of the contract that stands in another set too, a dataset without captions. `index` in a params.yaml of the "
    "current folder counts; without it an image has at most 16,777,216 pixels. exit status: 0 no error, 1 an error"
)


class Checked(NamedTuple):
    """What was read, and every finding in the order of files and lines."""

    dataset: Dataset
    findings: tuple[Finding, ...]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EXIT
    parser.add_argument("dataset", metavar="DATASET", help="the dataset's folder; data/README.md says what is in it")
    parser.set_defaults(command=_check)


def _check(arguments: Namespace) -> None:
    folder = arguments.dataset
    dataset, findings = check_dataset(folder)
    for one in findings:
        print(one)
    suspicious = sum(one.suspicious for one in findings)
    if errors := len(findings) - suspicious:
        raise BadInputError(
            f"{folder}: {errors} error{'s' * (errors > 1)}, {suspicious} suspicious; mend and check again"
        )
    print(f"{folder}: {_counts(dataset)}; no errors, {suspicious} suspicious")


def _counts(dataset: Dataset) -> str:
    questions = sum(len(part.questions.rows) for part in dataset.parts)
    labels = sum(len(part.labels.rows) for part in dataset.parts)
    names = ", ".join(part.name for part in dataset.parts)
    held = f"{len(dataset.captions.rows)} captions, {len(dataset.originals)} originals"
    return f"{questions} questions and {labels} labels in {names}; {held}"


def check_dataset(folder: str | Path) -> Checked:
    """Read all of a dataset and find what is wrong with it. Raises BadInputError where there is no folder."""
    root = Path(folder)
    if not root.is_dir():
        raise BadInputError(f"{root}: no such folder; name the folder of a dataset")
    findings = list(_card_findings(root / "dataset.yaml"))
    words = settings.read_vocabulary()
    originals, entries = _read_originals(root / "corpus", words, findings)
    parts = tuple(_read_part(root, name, findings) for name in _part_names(root, findings))
    dataset = Dataset(parts, _read_captions(root / "training/captions.jsonl", findings), originals)
    findings += [*row_findings(dataset), *part_findings(parts), *_given(dataset, entries, words)]
    # a row that is there twice gives the same finding twice
    return Checked(dataset, tuple(sorted(set(findings), key=lambda one: (one.path, one.line or 0, str(one)))))


def _card_findings(path: Path) -> Iterator[Finding]:
    try:
        load_section(DatasetCard, str(path), settings.read_yaml(path))
    except BadInputError as error:
        yield from _told(error, path)


def _told(error: BadInputError, path: Path, *names: str) -> Iterator[Finding]:
    """An error about one file as findings: what does not begin with the file, by its path or `names`, runs on."""
    starts = re.compile(rf"(?:{'|'.join(map(re.escape, (str(path), *names)))})(?::(\d+))?[:.] ?")
    cut: list[tuple[int | None, str]] = []
    for line in str(error).splitlines():
        match = starts.match(line)
        if match or not cut:
            cut.append((int(match[1]) if match and match[1] else None, line[match.end() if match else 0 :]))
        else:
            cut[-1] = (cut[-1][0], f"{cut[-1][1]} {line.strip()}")
    return (Finding(str(path), number, None, text) for number, text in cut)


def _index_params() -> IndexParams:
    path = Path("params.yaml")
    params = settings.read_yaml(path) if path.exists() else {}
    return of_params(IndexParams, "index", params) if "index" in params else WITHOUT_PARAMS


def _read_originals(corpus: Path, words: Words, findings: list[Finding]) -> tuple[Originals, list[Entry]]:
    """The corpus, each original by itself, so that one that cannot be read hides nothing of the others."""
    params = _index_params()
    paths, wrong = find_originals(corpus)
    findings += [Finding(place, None, None, text) for place, text in wrong]
    unusable = {Path(place).relative_to(corpus).as_posix() for place, _ in wrong}
    texts: dict[str, str] = {}
    images: set[str] = set()
    entries: list[Entry] = []
    for path in progress(paths, len(paths), "originals"):
        try:
            original, data = files.hashed(corpus, path)
        except BadInputError as error:
            findings += _told(error, corpus / path, path)
            unusable.add(path)
            continue
        indexed = index_originals([(original, data)], words, params)
        findings += [Finding(str(corpus / path), None, None, one.reason) for one in indexed.rejected]
        entries += indexed.entries
        if indexed.rejected:
            unusable.add(path)
        elif path.lower().endswith(DOCUMENT_SUFFIX):
            texts[path] = decode_text(data)
        else:
            images.add(path)
    return Originals(texts, images, unusable), entries


def _part_names(root: Path, findings: list[Finding]) -> list[str]:
    """dev, then every holdout that has a file of questions or labels."""
    found = [path for folder in ("queries", "evaluation-only") for path in (root / folder).glob("*.jsonl")]
    names = {path.stem for path in found if path.name != LEDGER and not files.is_stray(Path(path.name))} - {DEV}
    if not names:
        findings.append(Finding(str(root / "queries"), None, None, "no holdout; one is needed beside dev.jsonl"))
    return [DEV, *sorted(names)]


def _read_part(root: Path, name: str, findings: list[Finding]) -> Part:
    asked = _read_table(root / "queries" / f"{name}.jsonl", QuestionRow, findings)
    questions = {line: Question(row.id, row.text) for line, row in asked.rows.items()}
    labels = _read_table(root / "evaluation-only" / f"{name}.jsonl", Label, findings)
    return Part(name, Table(asked.path, questions, asked.whole), labels)


def _read_table(path: Path, kind: type[Row], findings: list[Finding]) -> Table[Row]:
    if not lexists(path):
        findings.append(Finding(str(path), None, None, "no such file"))
        return Table(str(path), {}, whole=False)
    try:
        rows, wrong = files.parse_jsonl(files.read_bytes(path), kind)
    except BadInputError as error:
        findings += _told(error, path)
        return Table(str(path), {}, whole=False)
    findings += [Finding(str(path), line, None, text) for line, text in wrong]
    return Table(str(path), rows, whole=not wrong)


def _read_captions(path: Path, findings: list[Finding]) -> Table[Caption]:
    """The captions; a dataset may have no such file, as most imported ones, and then has none to be wrong."""
    if lexists(path):
        return _read_table(path, Caption, findings)
    findings.append(Finding(str(path), None, None, NO_CAPTIONS, suspicious=True))
    return Table(str(path), {}, whole=False)


def _given(dataset: Dataset, entries: list[Entry], vocabulary: Words) -> Iterator[Finding]:
    words, cues = split_vocabulary(vocabulary)
    ids = tuple(entry.id for entry in entries)
    library = Library(
        ids=ids,
        entries={entry.id: entry for entry in entries},
        lexical=build_lexical(count_terms(entries, words)),
        words=words,
        rows={name: row for row, name in enumerate(ids)},
    )
    return given_findings(dataset.parts, library, cues, dataset.originals)
