"""What cannot be used is refused, all of it at once, or left out and counted: `index.on_bad_file`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from stages import originals
from stages.corpus.index import index_originals, refusals
from stages.corpus.pngchunks import Chunk, read_chunks
from stages.errors import BadInputError
from stages.files import hashed, read_json, read_labels
from stages.originals import list_originals, read_index, read_original, read_originals, snapshot_hash
from stages.params import SYSTEMS, IndexParams
from stages.records import File, Rejected
from stages.settings import read_vocabulary
from tests.project import ROOT, SMALL, Project

PNGSUITE = ROOT.parent / "shared/cases/png/pngsuite"
PICTURE = (ROOT / SMALL / "corpus/images/0001.png").read_bytes()
SECTIONS = read_vocabulary()
ERROR = IndexParams(max_pixels=2**20, chunk_tokens=120, chunk_overlap=30)
SKIP = replace(ERROR, on_bad_file="skip")
GOOD = {"images/1.png": PICTURE, "docs/a.md": b"# A\n\n- Weight: 3 kg\n", "docs/copy.MD": b"# A\n\n- Weight: 3 kg\n"}
BAD = {
    "docs/latin.md": (b"# Caf\xe9\n", "not UTF-8 at byte 5"),
    "docs/utf16.md": ("# A\n".encode("utf-16"), "not UTF-8 at byte 0"),
    "docs/utf16-without-mark.md": ("# A\n".encode("utf-16-le"), "a NUL at character 1"),
    "images/cut.png": (PICTURE[:-9], "PNG is truncated"),
    "images/empty.png": (b"", "it is empty"),
    "images/photo.png": (b"\xff\xd8\xff\xe0 JFIF", "the signature is missing"),
    "notes.txt": (b"words", "neither .png nor .md"),
}


def write(corpus: Path, data: dict[str, bytes]) -> Path:
    for path, one in data.items():
        (corpus / path).parent.mkdir(parents=True, exist_ok=True)
        (corpus / path).write_bytes(one)
    return corpus


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return write(tmp_path / "corpus", GOOD | {path: data for path, (data, _) in BAD.items()})


def test_all_bad_files_are_told_at_once(mixed: Path) -> None:
    """What is no original at all, too."""
    (mixed / "docs/link.md").symlink_to("/etc/passwd")
    read, findings = read_originals(mixed)
    told = [*findings, *refusals(read, index_originals(read, SECTIONS, ERROR).rejected, ERROR)]
    assert [one.partition(": ")[0] for one in told] == [f"{mixed}/docs/link.md", *sorted(BAD)]
    assert all(BAD[one.partition(": ")[0]][1] in one for one in told[1:])


def test_what_is_skipped_is_counted_and_nothing_else_changes(mixed: Path) -> None:
    read, _ = read_originals(mixed)
    entries, rejected = index_originals(read, SECTIONS, SKIP)
    assert refusals(read, rejected, SKIP) == []
    assert [one.file for one in rejected] == [hashed(mixed, path)[0] for path in sorted(BAD)]
    assert all(BAD[one.path][1] in one.reason for one in rejected)
    alone = [(one, data) for one, data in read if one.path in GOOD]
    assert entries == index_originals(alone, SECTIONS, ERROR).entries
    assert {one.path for one in entries} == GOOD.keys()


def test_nothing_left_is_an_error(tmp_path: Path) -> None:
    read, _ = read_originals(write(tmp_path, {path: data for path, (data, _) in BAD.items()}))
    assert len(refusals(read, index_originals(read, SECTIONS, SKIP).rejected, SKIP)) == len(BAD)
    for path in BAD:
        (tmp_path / path).unlink()
    assert read_originals(tmp_path) == ([], [f"{tmp_path}: no .png or .md file"])


def test_the_same_bytes_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def noted(data: bytes) -> list[Chunk]:
        decoded.append(data)
        return read_chunks(data)

    monkeypatch.setattr("stages.corpus.index.read_chunks", noted)
    read = [
        (File(f"images/{name}.png", name[0], 1), PICTURE[: 999 if name[0] == "b" else None])
        for name in ("a1", "a2", "b1", "b2")
    ]
    entries, rejected = index_originals(read, SECTIONS, SKIP)
    assert ([one.path[7:9] for one in entries], [one.path[7:9] for one in rejected]) == (["a1", "a2"], ["b1", "b2"])
    assert len(decoded) == 2 and entries[0] == replace(
        entries[1], id=entries[0].id, path=entries[0].path, twins=entries[0].twins
    )


@pytest.mark.skipif(not PNGSUITE.exists(), reason="../shared/cases, the public inputs, is not here")
def test_pngsuite_is_indexed_without_its_corrupt_files() -> None:
    read, findings = read_originals(PNGSUITE)
    corrupt = [one.path for one, _ in read if one.path.startswith("x")]
    entries, rejected = index_originals(read, SECTIONS, SKIP)
    assert findings == [] and len(corrupt) == 14 and len(read) > 170
    assert [one.path for one in rejected] == corrupt
    assert len(entries) == len(read) - len(corrupt)
    assert [one.partition(": ")[0] for one in refusals(read, rejected, ERROR)] == corrupt


NAMES = (
    "a b/c d.png",
    "图/图.png",
    "e\u0301 é.md",
    "deep/" * 40 + "x.md",
    f"{'n' * 250}.md",
    "#1.md",
    "%20?.md",
    "UP.PNG",
)


def test_folders_spaces_unicode_and_long_names_work(tmp_path: Path) -> None:
    write(tmp_path, {name: PICTURE if name.lower().endswith(".png") else b"# A\n\nWords.\n" for name in NAMES})
    read, findings = read_originals(tmp_path)
    assert findings == [] and list_originals(tmp_path) == sorted(NAMES)
    assert {one.path for one in index_originals(read, SECTIONS, ERROR).entries} == set(NAMES)


LINKS = {
    "docs/self.md": ("self.md", "leads nowhere (Too many levels of symbolic links)"),
    "docs/none.md": ("none", "leads nowhere (No such file or directory)"),
    "docs/up": ("..", "to a folder that it is in"),
    "docs/out.md": ("/etc/passwd", "out of the corpus"),
    "docs/hidden.md": ("../.git/a.md", "out of the corpus"),
    "one/two": ("../two", None),
    "two/one": ("../one", None),
    "one/two/one": (None, "to a folder that it is in"),
    "two/one/two": (None, "to a folder that it is in"),
}


def test_loops_and_links_that_lead_elsewhere_are_named(tmp_path: Path) -> None:
    corpus = write(tmp_path, GOOD | {".git/a.md": b"# A\n", "one/a.md": b"# A\n", "two/b.md": b"# B\n"})
    for name, (target, _) in LINKS.items():
        if target is not None:
            (corpus / name).symlink_to(target)
    with pytest.raises(BadInputError) as raised:
        list_originals(corpus)
    told = [line.removeprefix(f"{corpus}/").split(": ")[:2] for line in str(raised.value).split("\n")]
    wrong = {name: text for name, (_, text) in LINKS.items() if text is not None}
    assert {name: text.split(";")[0].removeprefix("a link ").removeprefix("that ") for name, text in told} == wrong


def test_a_link_inside_the_corpus_is_what_it_leads_to(tmp_path: Path) -> None:
    """Under its own path, as a file with the same content would be."""
    linked, copied = (write(tmp_path / name, GOOD | {"old/a.md": b"# A\n\nWeight: 3 kg\n"}) for name in "ab")
    (linked / "new").symlink_to("old")
    (linked / "docs/more.md").symlink_to("../old/a.md")
    write(copied, dict.fromkeys(("new/a.md", "docs/more.md"), (copied / "old/a.md").read_bytes()))
    assert read_originals(linked) == read_originals(copied)
    assert read_original(linked, "new/a.md") == read_original(copied, "new/a.md")


def test_links_that_multiply_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "LARGEST_WALK", 1000)
    for level in range(12):
        folder = tmp_path / f"level{level:02}"
        folder.mkdir()
        for name in ("a", "b"):
            (folder / name).symlink_to(f"../level{level + 1:02}" if level < 11 else "../x.md")
    (tmp_path / "x.md").write_bytes(b"# X\n")
    with pytest.raises(BadInputError, match="more than 1000 files and folders"):
        list_originals(tmp_path)


def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    """A folder too: what is in it would be missed."""
    # root opens everything, unless it gives up the two capabilities that say so
    as_a_user = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if as_a_user and shutil.which("setpriv") is None:
        pytest.skip("as root this needs setpriv")
    write(tmp_path, GOOD | {"closed/b.md": b"# B\n"})
    for path in ("docs/a.md", "closed"):
        (tmp_path / path).chmod(0)
    code = f"from stages.originals import read_originals; print(*read_originals({str(tmp_path)!r})[1], sep='\\n')"
    done = subprocess.run([*as_a_user, sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    (tmp_path / "closed").chmod(0o700)
    told = [
        line.partition(": cannot be read (Permission denied); let it be read")[0] for line in done.stdout.split("\n")
    ]
    assert told == [f"{tmp_path}/{path}" for path in ("closed", "docs/a.md")] + [""], done.stderr


@pytest.fixture
def skipping(damaged: Project) -> Iterator[Project]:
    """A project with bad files beside the good ones, finished with `skip`."""
    write(damaged.root / SMALL / "corpus", {path: data for path, (data, _) in BAD.items()})
    damaged.edit("params.yaml", "on_bad_file: error", "on_bad_file: skip")
    damaged.dvc("repro", "--quiet")
    yield damaged


VERIFY = ("-m", "stages.cli", "verify")
REJECTED = "artifacts/index/rejected.json"


@pytest.mark.pipeline
def test_the_stage_refuses_all_bad_files(damaged: Project) -> None:
    assert read_json(damaged.root / REJECTED, list[Rejected]) == []
    write(damaged.root / SMALL / "corpus", {path: data for path, (data, _) in BAD.items()})
    told = damaged.run_stage("build_index", status=1)
    assert told.startswith("BadInputError: ") and told.count("\n") == len(BAD)
    assert all(f"{path}: " in told for path in BAD)


@pytest.mark.pipeline
def test_what_is_skipped_is_reported_bound_and_verified(skipping: Project) -> None:
    """A rejected file that changes, is repaired, goes or comes makes the threshold stale like any other original."""
    rejected = read_json(skipping.root / REJECTED, list[Rejected])
    index = read_index(skipping.root / "artifacts/index/index.json")
    assert [one.path for one in rejected] == [one.path for one in index.rejected] == sorted(BAD)
    assert index.snapshot == snapshot_hash((*index.originals, *index.rejected)) != snapshot_hash(index.originals)
    report = (skipping.root / "artifacts/report/index.html").read_text(encoding="utf-8")
    assert "7 further files could not be used" in report
    assert all(f"<code>{one.path}</code>" in report and escape(one.reason) in report for one in rejected)
    assert skipping.python(*VERIFY).stdout.startswith("verified: ")
    corpus = skipping.root / SMALL / "corpus"
    for path, data in {"docs/latin.md": b"# Caf\xc3\xa9\n", "notes.txt": None, "new.txt": b"new"}.items():
        before = (corpus / path).read_bytes() if path in BAD else None
        (corpus / path).unlink() if data is None else (corpus / path).write_bytes(data)
        told = skipping.python("-m", "stages.cli", "ask", "red", status=3).stderr
        assert "binding.snapshot" in told, told
        assert f"{path}: " in skipping.python(*VERIFY, status=3).stderr
        (corpus / path).unlink() if before is None else (corpus / path).write_bytes(before)
    skipping.python(*VERIFY)


@pytest.mark.pipeline
def test_questions_about_what_was_left_out_are_wrong_for_that(damaged: Project) -> None:
    """An image without a caption and a document go bad; the labels that name them are right all the same."""
    labels = read_labels(damaged.root / SMALL / "evaluation-only/holdout.jsonl")
    image = next(one.expected_image for one in labels if one.split == "heldout")
    document = next(one.evidence[0][0].path for one in labels if one.category == "field")
    gone = {one.id for one in labels if one.expected_image == image}
    gone |= {one.id for one in labels if any(all(span.path == document for span in group) for group in one.evidence)}
    write(damaged.root / SMALL / "corpus", {str(image): b"\x89PNG", document: b"\xff\xfe"})
    damaged.edit("params.yaml", "on_bad_file: error", "on_bad_file: skip")
    damaged.dvc("repro", "--quiet")
    for system in SYSTEMS:
        rows = json.loads((damaged.root / f"artifacts/holdout/{system}/queries.json").read_bytes())["queries"]
        rejected = {"name": "not_indexed", "detail": "rejected", "short": None}
        assert gone == {one["id"] for one in rows if one["cause"] == rejected}
    assert damaged.python(*VERIFY).stdout.startswith("verified: ")
    told = damaged.python("-m", "stages.cli", "explain", min(gone)).stdout
    assert "evidence (*) in no entry" in told and "first wrong   not_indexed (rejected): " in told
