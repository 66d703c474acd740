"""`frostline check` finds what was broken in a dataset, with its file and line, and nothing else."""

import json
import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from stages import cli
from stages.check import check_dataset
from stages.errors import BadInputError
from stages.labels.parts import normalised
from tests.project import ROOT, SMALL

ASKED, HELD_OUT = "queries/dev.jsonl", "queries/holdout.jsonl"
LABELS, HOLDOUT = "evaluation-only/dev.jsonl", "evaluation-only/holdout.jsonl"
CAPTIONS = "training/captions.jsonl"
PHASES = (Phase.explicit, Phase.generate)
FEW = settings(derandomize=True, database=None, deadline=None, max_examples=6, phases=PHASES)


class Expected(NamedTuple):
    path: str
    line: int | None
    id: str | None
    text: str
    suspicious: bool = False


def edit(root: Path, name: str, line: int, **changes: object) -> None:
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    lines[line - 1] = json.dumps(json.loads(lines[line - 1]) | changes, ensure_ascii=False)
    (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def append(root: Path, name: str, like: int, **changes: object) -> int:
    """Add a row like that of a line, with changes; returns its line."""
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    (root / name).write_text("\n".join([*lines, lines[like - 1]]) + "\n", encoding="utf-8")
    edit(root, name, len(lines) + 1, **changes)
    return len(lines) + 1


Break = Callable[[Path], Expected]
BREAKS: dict[str, Break] = {}


def breaks(make: Break) -> Break:
    BREAKS[make.__name__] = make
    return make


def edited(
    name: str, line: int, id: str | None, text: str, changes: dict[str, object], suspicious: bool = False
) -> Break:
    def make(root: Path) -> Expected:
        edit(root, name, line, **changes)
        return Expected(name, line, id, text, suspicious)

    return make


def span(path: str, start: int, end: int) -> list[list[dict[str, object]]]:
    return [[{"path": path, "start": start, "end": end}]]


BREAKS |= {
    "unknown key": edited(ASKED, 2, None, "unknown keys answer", {"answer": "x"}),
    "wrong type": edited(LABELS, 2, None, "Expected `bool`, got `int` - at `$.contract`", {"contract": 1}),
    "no text": edited(ASKED, 40, "d40", "a question without words", {"text": " "}),
    "no words": edited(ASKED, 41, "d41", "a question without words", {"text": "？！"}),
    "another value": edited(
        *(LABELS, 15, "d15", "evidence: docs/deck-oven-d5.md[357:363]: expected_value does not stand there"),
        {"evidence": span("docs/deck-oven-d5.md", 357, 363)},
    ),
    "outside": edited(
        *(LABELS, 25, "d25", "evidence: docs/deck-oven-d3.md[1400:1428]: outside the document, which has 1427"),
        {"evidence": span("docs/deck-oven-d3.md", 1400, 1428)},
    ),
    "no document": edited(
        LABELS, 26, "d26", "evidence: docs/none.md[1:2]: not in the corpus", {"evidence": span("docs/none.md", 1, 2)}
    ),
    "an image as evidence": edited(
        LABELS, 27, "d27", "images/0001.png[1:2]: expected a .md file", {"evidence": span("images/0001.png", 1, 2)}
    ),
    "leads out": edited(
        LABELS, 28, "d28", "evidence: expected a path below corpus/", {"evidence": span("../../etc/x.md", 1, 2)}
    ),
    "no image": edited(LABELS, 3, "d03", "images/0099.png: not in the corpus", {"expected_image": "images/0099.png"}),
    "no PNG": edited(LABELS, 4, "d04", "docs/catalogue.md: expected a .png", {"expected_image": "docs/catalogue.md"}),
    "no kind and reason": edited(
        *(LABELS, 33, "d33", "a refusal needs unanswerable_kind and unanswerable_reason"),
        {"unanswerable_kind": None, "unanswerable_reason": None},
    ),
    "asked in both": edited(
        *(HELD_OUT, 25, "h03", f"asks the same as d15 (@{ASKED}:15)"), {"text": " D5  DOOR gasket part ｎｕｍｂｅｒ ?"}
    ),
    "asked twice": edited(
        *(ASKED, 31, "d31", f"asks the same as d30 (@{ASKED}:30)"),
        {"text": "DO WE lose surplus recipes if we move to a smaller Crumbplan plan"},
    ),
    "contract asked in both": edited(
        HELD_OUT, 1, "c01", f"asks the same as d01 (@{ASKED}:1)", {"text": "large yellow diamond"}, suspicious=True
    ),
    "fact asked in both": edited(
        *(HOLDOUT, 28, "h06", f"evidence: docs/catalogue.md[373:458]: overlaps that of d19 (@{LABELS}:19)"),
        {"evidence": span("docs/catalogue.md", 373, 458)},
    ),
    "held out, trained": edited(
        *(LABELS, 5, "d05", f"split: heldout, but images/0007.png has a training caption (@{CAPTIONS}:5)"),
        {"split": "heldout"},
    ),
    "contract in dev": edited(LABELS, 6, "d06", "contract: only a question of a holdout is one", {"contract": True}),
    "split of a refusal": edited(LABELS, 35, "d35", "an image question, and no other, has", {"split": "train"}),
}


@breaks
def given_after_all(root: Path) -> Expected:
    edit(root, ASKED, 38, text="S6 蒸汽烤箱除垢周期？")
    place = "docs/steam-oven-s6-zh.md:17 gives '除垢周期' of 'S6 蒸汽烤箱 > 技术数据'"
    return Expected(LABELS, 38, "d38", f"hard_negative, but {place}", suspicious=True)


@breaks
def trained_without_caption(root: Path) -> Expected:
    edit(root, HOLDOUT, 6, split="train")
    return Expected(HOLDOUT, 6, "c06", "split: train, but images/0006.png has no training caption")


@breaks
def id_of_two_questions(root: Path) -> Expected:
    line = append(root, HELD_OUT, 23, text="something that nobody asked before")
    return Expected(HELD_OUT, line, "h01", "line 23 has that id too")


@breaks
def id_of_two_labels(root: Path) -> Expected:
    return Expected(HOLDOUT, append(root, HOLDOUT, 23), "h01", "line 23 has that id too")


@breaks
def id_in_two_sets(root: Path) -> Expected:
    edit(root, HOLDOUT, 26, id="d07")
    edit(root, HELD_OUT, 26, id="d07")
    return Expected(HELD_OUT, 26, "d07", f"@{ASKED}:7 has that id too")


@breaks
def question_without_label(root: Path) -> Expected:
    line = append(root, HELD_OUT, 1, id="h98", text="what nobody has labelled")
    return Expected(HELD_OUT, line, "h98", f"no label with that id in @{HOLDOUT}")


@breaks
def label_without_question(root: Path) -> Expected:
    return Expected(HOLDOUT, append(root, HOLDOUT, 24, id="h99"), "h99", f"no question with that id in @{HELD_OUT}")


@breaks
def caption_of_nothing(root: Path) -> Expected:
    line = append(root, CAPTIONS, 2, image="images/0098.png")
    return Expected(CAPTIONS, line, None, "images/0098.png: not in the corpus")


@breaks
def caption_twice(root: Path) -> Expected:
    return Expected(CAPTIONS, append(root, CAPTIONS, 2), None, "images/0003.png: line 2 has a caption of it too")


@breaks
def white_space_as_evidence(root: Path) -> Expected:
    place = (root / "corpus/docs/crumbplan-api-limits.md").read_bytes().decode("utf-8").index("\n")
    edit(root, LABELS, 30, evidence=span("docs/crumbplan-api-limits.md", place, place + 1))
    return Expected(LABELS, 30, "d30", f"docs/crumbplan-api-limits.md[{place}:{place + 1}]: white space alone")


@breaks
def no_picture(root: Path) -> Expected:
    (root / "corpus/images/0012.png").write_bytes(b"none")
    return Expected("corpus/images/0012.png", None, None, "")


@breaks
def no_text(root: Path) -> Expected:
    (root / "corpus/docs/kneada-80-care-zh.md").write_bytes(b"\xff")
    return Expected("corpus/docs/kneada-80-care-zh.md", None, None, "not UTF-8 at byte 0")


@breaks
def neither_image_nor_document(root: Path) -> Expected:
    (root / "corpus/notes.txt").touch()
    return Expected("corpus/notes.txt", None, None, "neither .png nor .md")


@breaks
def card(root: Path) -> Expected:
    (root / "dataset.yaml").write_text("name: x\nlanguages: []\nindependent_draws: 1\ngroup_by: null\n")
    return Expected("dataset.yaml", None, None, "independent_draws: expected bool, got 1")


def copy(target: Path) -> Path:
    """The small dataset, with a ledger, which is no set of labels."""
    shutil.copytree(ROOT / SMALL, target)
    (target / "evaluation-only/holdout-ledger.jsonl").write_text("{}\n")
    return target


def check_finds(root: Path, expected: Iterable[Expected]) -> None:
    """Exactly the expected, in the order of files and lines."""
    found = check_dataset(root).findings
    places = [(str(root / one.path), one.line, one.id, one.suspicious) for one in expected]
    assert sorted(map(str, places)) == sorted(str((one.path, one.line, one.id, one.suspicious)) for one in found)
    told = [str(one) for one in found]
    for one in expected:
        text = one.text.replace("@", f"{root}/")
        assert [line for line in told if line.startswith(f"{root}/{one.path}") and text in line], (one, told)
    assert [(one.path, one.line or 0) for one in found] == sorted((one.path, one.line or 0) for one in found)


@FEW
@example(set(BREAKS))
@given(st.sets(st.sampled_from(sorted(BREAKS)), min_size=1, max_size=3))
def test_what_was_broken_is_found_with_its_file_and_line_and_nothing_else(names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = copy(Path(folder) / "small")
        check_finds(root, [BREAKS[name](root) for name in sorted(names)])


def row(id: str, category: str, **given: object) -> dict[str, object]:
    empty = dict.fromkeys(("split", "expected_image", "expected_value", "unanswerable_kind", "unanswerable_reason"))
    return {"id": id, "category": category, "contract": False, "evidence": [], **empty, **given}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")


def write_images(root: Path, captions: Iterable[str]) -> None:
    """One image more than captions."""
    stream = BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "PNG")
    rows = [{"image": f"images/{number}.png", "caption": caption} for number, caption in enumerate(captions)]
    (root / "corpus/images").mkdir(parents=True)
    for number in range(len(rows) + 1):
        (root / f"corpus/images/{number}.png").write_bytes(stream.getvalue())
    write(root / CAPTIONS, rows)


ATTRIBUTES = ("voltage", "torque", "payload", "bandwidth", "latency", "diameter", "yield")


def write_part(root: Path, name: str, facts: Iterable[tuple[str, str, list[Any] | None]], heldout: str) -> None:
    """Questions for (subject, attribute, [value, evidence] or None where the corpus has none), and for two images."""
    asked = [
        {"id": f"{name}{number}", "text": f"{what} of {subject}"} for number, (subject, what, _) in enumerate(facts)
    ]
    labels = [
        row(f"{name}{number}", "field", expected_value=found[0], evidence=found[1])
        if found
        else row(f"{name}{number}", "refusal", unanswerable_kind="hard_negative", unanswerable_reason="Not given.")
        for number, (_, _, found) in enumerate(facts)
    ]
    asked += [{"id": f"{name}{one}", "text": f"{name} picture {one}"} for one in ("x", "y")]
    labels.append(row(f"{name}x", "image", split="train", expected_image="images/0.png"))
    labels.append(row(f"{name}y", "image", split="heldout", expected_image=heldout))
    write(root / f"queries/{name}.jsonl", asked)
    write(root / f"evaluation-only/{name}.jsonl", labels)


def write_dataset(root: Path, products: dict[str, dict[str, int]], parts: list[str]) -> None:
    """A document for each product; every fact, given or lacking, is asked for in one part."""
    write_images(root, ["red", "green", "blue", "grey"])
    (root / "dataset.yaml").write_text("name: x\nlanguages: [en]\nindependent_draws: true\ngroup_by: null\n")
    (root / "corpus/docs").mkdir()
    facts: list[tuple[str, str, list[Any] | None]] = []
    for number, (name, values) in enumerate(products.items()):
        text = f"# {name}\n\n" + "".join(f"- {what.title()}: {value} units\n" for what, value in values.items())
        (root / f"corpus/docs/{number}.md").write_text(text, encoding="utf-8")
        for what in ATTRIBUTES:
            place = text.find(f"{values.get(what)} units", text.find(what.title()))
            value = f"{values.get(what)} units"
            found = [value, span(f"docs/{number}.md", place, place + len(value))] if what in values else None
            facts.append((name, what, found))
    for number, part in enumerate(parts):
        write_part(root, part, facts[number :: len(parts)], "images/4.png")


PRODUCTS = st.dictionaries(
    st.integers(100, 999).map("Quor {}".format),
    st.dictionaries(st.sampled_from(ATTRIBUTES), st.integers(1000, 9999), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


@settings(FEW, max_examples=20)
@given(PRODUCTS, st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_clean_dataset_has_no_finding_and_a_given_field_called_missing_has_one(
    products: dict[str, dict[str, int]], holdouts: int, chosen: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_dataset(root, products, ["dev", *(f"holdout-{number}" for number in range(holdouts))])
        assert check_dataset(root).findings == ()
        path = chosen.choice(sorted((root / "evaluation-only").iterdir()))
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        given_ones = [number for number, one in enumerate(rows) if one["category"] == "field"]
        for number in given_ones[:1]:
            (place,) = rows[number]["evidence"][0]
            rows[number] = row(rows[number]["id"], "refusal", unanswerable_kind="missing", unanswerable_reason="None.")
            write(path, rows)
            text = (root / "corpus" / place["path"]).read_text()
            expected = f"missing, but {place['path']}:{text[: place['start']].count(chr(10)) + 1} gives"
            check_finds(root, [Expected(str(path.relative_to(root)), number + 1, rows[number]["id"], expected, True)])


@pytest.mark.parametrize(
    ("text", "given_there"),
    [
        ("What is the torque of the Quor 300?", True),
        ("TORQUE, quor 300", True),
        ("torque of the Quor 301", False),
        ("torque of the zorblax", False),
        ("torque of the Quor 300 payload", False),
        ("yield of the Quor 300", False),
        ("Quor 300", False),
    ],
)
def test_a_field_is_given_where_the_question_names_it_and_its_subject(
    text: str, given_there: bool, tmp_path: Path
) -> None:
    write_dataset(tmp_path, {"Quor 300": {"torque": 5000}, "Quor 500": {"payload": 70}}, ["dev", "holdout"])
    edit(tmp_path, ASKED, 1, text=text)
    write(tmp_path / LABELS, [row("dev0", "refusal", unanswerable_kind="missing", unanswerable_reason="None.")])
    suspicious = [one for one in check_dataset(tmp_path).findings if one.suspicious]
    assert [(one.path, one.line, one.id) for one in suspicious] == [(str(tmp_path / LABELS), 1, "dev0")] * given_there


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = 0
    try:
        cli.main(["check", *map(str, arguments)])
    except SystemExit as end:
        status = int(str(end.code))
    return (status, *capsys.readouterr())


def test_the_command_prints_every_finding_and_fails_for_errors_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy(tmp_path / "small")
    monkeypatch.chdir(tmp_path)
    counts = (
        "small: 100 questions and 100 labels in dev, holdout; 10 captions, 24 originals; no errors, {} suspicious\n"
    )
    assert run(capsys, "small") == (0, counts.format(0), "")
    BREAKS["contract asked in both"](root)
    line = "small/queries/holdout.jsonl:1: suspicious: c01: asks the same as d01 (small/queries/dev.jsonl:1)\n"
    assert run(capsys, "small") == (0, line + counts.format(1), "")
    edit(root, LABELS, 6, contract=True)
    error = "small/evaluation-only/dev.jsonl:6: error: d06: contract: only a question of a holdout is one\n"
    told = "BadInputError: small: 1 error, 1 suspicious; mend and check again\n"
    assert run(capsys, "small") == (1, error + line, told)
    (tmp_path / "params.yaml").write_text("index: {max_pixels: 100, chunk_tokens: 9, chunk_overlap: 0}\n")
    assert run(capsys, "small")[1].count("error: ") == 1 + 12


def test_files_that_are_not_there_are_named_once(tmp_path: Path) -> None:
    root = copy(tmp_path / "small")
    (root / HOLDOUT).unlink()
    (root / CAPTIONS).unlink()
    (root / "evaluation-only/second.jsonl").write_bytes((root / LABELS).read_bytes())
    missing = [Expected(name, None, None, "no such file") for name in (HOLDOUT, "queries/second.jsonl")]
    missing.append(Expected(CAPTIONS, None, None, "no such file", suspicious=True))
    shared = [one for one in check_dataset(root).findings if "overlaps that of" in one.text]
    assert len(shared) >= 19 and {Path(one.path).name for one in shared} == {"second.jsonl"}
    (root / "evaluation-only/second.jsonl").write_bytes(b"")
    check_finds(root, missing)
    shutil.rmtree(root / "corpus")
    check_finds(root, [*missing, Expected("corpus", None, None, "no such folder")])


ROW = (ROOT / SMALL / LABELS).read_bytes().splitlines()[14]
HOSTILE = [
    *(
        b"\xef\xbb\xbf" + ROW,
        b"\xff\xfe",
        b"[" * 5_000,
        b"{}",
        b"null",
        b"\0",
        ROW[:-9],
        ROW + b"}",
        b'{"id": "a"' * 9,
    ),
    ROW.replace(b"357", b"-5").replace(b"364", b"9" * 18),
    ROW.replace(b"357", b"9" * 30),
    ROW.replace(b"docs/deck-oven-d5.md", b"docs/../../../../etc/passwd"),
    ROW.replace(b'"d15"', json.dumps("d15\nx:1: error: forged \x1b[31m\u202e").encode()),
    ROW.replace(b'"GK-5120"', b'"\\ud800"'),
    ROW.replace(b"[[{", b"[[], [{"),
]


@pytest.mark.parametrize("name", [ASKED, LABELS, CAPTIONS, "dataset.yaml", "corpus/docs/deck-oven-d5.md"])
def test_whatever_stands_in_a_file_is_a_finding_of_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "x"
    write_dataset(root, {"Quor 300": {"torque": 5000}}, ["dev", "holdout"])
    (root / name).parent.mkdir(exist_ok=True)
    for data in HOSTILE:
        (root / name).write_bytes(data)
        status, out, _ = run(capsys, root)
        assert status == (0 if name.endswith(".md") and not {0, 0xFF} & set(data) else 1)
        lines = out.splitlines()
        assert all(re.match(rf"{re.escape(str(root))}[^:]*(:\d+)?: ", line) and line.isprintable() for line in lines)
    (root / name).unlink()
    os.mkfifo(root / name)
    assert "no plain file" in run(capsys, root)[1] or "neither a file nor a folder" in run(capsys, root)[1]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="none: no such folder"):
        check_dataset(tmp_path / "none")


@settings(FEW, max_examples=50)
@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert normalised(f"  {text.upper() if text.isascii() else text}  ？！") == once
