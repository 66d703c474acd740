"""The datasets are what the numbers rely on. A failure names ids and files, never the text of a question."""

import hashlib
import json
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from stages.corpus.png import decode
from stages.records import UNANSWERABLE_KINDS
from tests.project import ROOT

COURSE = ROOT / "data/course"
DATASETS = (COURSE, ROOT / "tests/data/small")
HOLDOUTS = ("holdout", "holdout-2")
PARTS = [(COURSE, split) for split in ("dev", *HOLDOUTS)] + [(DATASETS[1], split) for split in ("dev", "holdout")]
CONTRACT = "1d9c035f27be93c8108dfd7b6aed1b05f53ac7637c2f24561f37855abf81c88d"
CJK = re.compile(r"[\u4e00-\u9fff]+")
ORDINARY = {"API", "Deployment", "Mini", "Onboarding", "UV", "Welcome"}
PICTURE = ("colour", "shape", "size", "position", "count")

Rows = list[dict[str, Any]]


def rows(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def questions(split: str) -> dict[str, str]:
    return {row["id"]: row["text"] for row in rows(COURSE / f"queries/{split}.jsonl")}


def labels(split: str) -> Rows:
    return rows(COURSE / f"evaluation-only/{split}.jsonl")


def contract() -> Rows:
    return [row for row in labels("holdout") if row["contract"]]


def spans(row: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(one["path"], one["start"], one["end"]) for group in row["evidence"] for one in group]


def ids(found: Iterable[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in found]


def documents(dataset: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode("utf-8") for path in sorted((dataset / "corpus/docs").glob("*.md"))}


def vocabulary(section: str, language: str) -> set[str]:
    words = yaml.safe_load((ROOT / "stages/corpus/vocabulary.yaml").read_bytes())[section]
    return {str(word).casefold() for concept in words.values() for word in concept[language]}


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len(list((COURSE / "corpus/images").glob("*.png"))) == 24
    texts = documents(COURSE)
    assert len(texts) >= 40
    chinese = [name for name, text in texts.items() if len("".join(CJK.findall(text))) > len(text) / 4]
    assert len(chinese) >= len(texts) / 5


@pytest.mark.parametrize(("dataset", "split"), PARTS, ids=lambda part: getattr(part, "name", part))
def test_every_question_has_one_label(dataset: Path, split: str) -> None:
    asked = ids(rows(dataset / f"queries/{split}.jsonl"))
    assert asked == ids(rows(dataset / f"evaluation-only/{split}.jsonl"))
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(("split", "least"), [("dev", 200), ("holdout", 39 + 160)])
def test_a_split_has_enough_of_every_sort(split: str, least: int) -> None:
    found, texts = labels(split), questions(split)
    assert len(found) >= least
    kinds = Counter(row["unanswerable_kind"] for row in found if row["category"] == "refusal")
    assert kinds.keys() == set(UNANSWERABLE_KINDS)
    assert kinds.total() >= 80 and min(kinds.values()) >= 8
    assert sum(bool(CJK.search(text)) for text in texts.values()) >= len(texts) / 5


def test_the_contract_has_its_proportions() -> None:
    fixed = contract()
    assert Counter(row["category"] for row in fixed) == {"image": 24, "field": 9, "refusal": 6}
    images = {row["expected_image"]: row["split"] for row in fixed if row["category"] == "image"}
    assert set(images) == {f"images/{number:04}.png" for number in range(1, 25)}
    assert Counter(images.values()) == {"train": 20, "heldout": 4}
    fields = {row["id"]: {path for path, _, _ in spans(row)} for row in fixed if row["category"] == "field"}
    topics = Counter(path for paths in fields.values() for path in paths).most_common(3)
    assert [count for _, count in topics] == [3, 3, 3]
    assert all(paths & dict(topics).keys() for paths in fields.values())
    assert not [row for row in labels("dev") if row["contract"]]


def test_the_contract_is_fixed_for_good() -> None:
    """These rows are never edited: fresh questions go to a new holdout."""
    texts = questions("holdout")
    fixed = sorted(({**row, "text": texts[row["id"]]} for row in contract()), key=lambda row: str(row["id"]))
    canonical = json.dumps(fixed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(canonical.encode("utf-8")).hexdigest() == CONTRACT


@pytest.mark.parametrize(("dataset", "split"), PARTS, ids=lambda part: getattr(part, "name", part))
def test_labels_fit_their_category(dataset: Path, split: str) -> None:
    texts = {f"docs/{name}": text for name, text in documents(dataset).items()}
    wrong = []
    for row in rows(dataset / f"evaluation-only/{split}.jsonl"):
        quotes = [texts[path][start:end] for path, start, end in spans(row)]
        wrong += ids([row]) * (not all(quote.strip() for quote in quotes))
        wrong += ids([row]) * (bool(quotes) != (row["category"] in ("field", "passage")))
        wrong += ids([row]) * (row["category"] == "field" and set(quotes) != {row["expected_value"]})
        wrong += ids([row]) * ((row["category"] == "image") != (row["expected_image"] is not None))
        refusal = row["category"] == "refusal"
        wrong += ids([row]) * any(refusal != bool(row[f"unanswerable_{key}"]) for key in ("kind", "reason"))
    assert wrong == []


@pytest.mark.parametrize("name", HOLDOUTS)
def test_dev_and_holdout_ask_for_different_facts(name: str) -> None:
    dev, holdout = ([(*span, row["id"]) for row in labels(split) for span in spans(row)] for split in ("dev", name))
    shared = [
        (a, b) for path, start, end, a in dev for other, low, high, b in holdout
        if path == other and start < high and low < end
    ]  # fmt: skip
    assert shared == []


@pytest.mark.parametrize("name", HOLDOUTS)
def test_dev_and_holdout_share_no_text_beside_the_contract(name: str) -> None:
    dev, fixed = {text.casefold(): one for one, text in questions("dev").items()}, set(ids(contract()))
    holdout = {one: text.casefold() for one, text in questions(name).items() if one not in fixed}
    assert [(dev[text], one) for one, text in holdout.items() if text in dev] == []


def test_only_the_20_are_captioned_and_asked_for_in_dev() -> None:
    held_out = {row["expected_image"] for row in contract() if row["split"] == "heldout"}
    captioned = [row["image"] for row in rows(COURSE / "training/captions.jsonl")]
    assert len(held_out) == 4 and len(captioned) == len(set(captioned)) == 20
    assert not held_out & set(captioned)
    asked = [row for name in HOLDOUTS for row in labels(name)]
    wrong = [row for row in asked if (row["expected_image"] in held_out) != (row["split"] == "heldout")]
    assert ids(wrong) == []
    assert ids(row for row in labels("dev") if row["expected_image"] in held_out) == []


def content(path: Path) -> bytes:
    """What a file holds: of an image its pixels, which Pillow packs otherwise from one version to the next."""
    return decode(path.read_bytes(), 2**20).rgb.tobytes() if path.suffix == ".png" else path.read_bytes()


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda path: path.name)
def test_images_and_captions_are_what_the_generator_writes(dataset: Path, tmp_path: Path) -> None:
    drawn = tmp_path / dataset.name
    subprocess.run([sys.executable, ROOT / "data/draw_images.py", drawn], check=True)
    for pattern in ("corpus/images/*", "training/*"):
        made, kept = ({path.name: content(path) for path in one.glob(pattern)} for one in (drawn, dataset))
        assert made.keys() == kept.keys()
        assert [name for name in made if made[name] != kept[name]] == []


def test_no_two_images_are_near_copies() -> None:
    paths = sorted((COURSE / "corpus/images").glob("*.png"))
    pixels = {path.name: np.asarray(Image.open(path).convert("RGB")).astype(np.int64) for path in paths}
    assert {one.shape for one in pixels.values()} == {(256, 256, 3)}
    far = {(a, b): float((np.abs(pixels[a] - pixels[b]).max(axis=2) > 32).mean()) for a, b in combinations(pixels, 2)}
    assert [pair for pair, share in far.items() if share < 0.03] == []


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda path: path.name)
def test_file_names_tell_no_attribute(dataset: Path) -> None:
    attributes = vocabulary("colour", "en") | vocabulary("shape", "en") | {"small", "large"}
    names = [path.relative_to(dataset / "corpus").as_posix() for path in (dataset / "corpus").rglob("*.*")]
    assert [name for name in names if attributes & set(re.split(r"[^a-z]+", name.lower()))] == []
    assert all(re.fullmatch(r"images/\d{4}\.png", name) for name in names if not name.startswith("docs/"))


def corpus_names(texts: Sequence[str]) -> set[str]:
    """Words of headings, field names and table cells."""
    places = re.compile(r"^#+ (.+)$|^[-*]? *\**([^:：|\n]{1,40})[:：]|^\|(.+)\|$", re.MULTILINE)
    found = " ".join(part for text in texts for match in places.finditer(text) for part in match.groups() if part)
    return {word.casefold() for word in re.findall(r"[A-Za-z][\w'-]*|[\u4e00-\u9fff]{2,}", found)}


def one_of(words: Iterable[str]) -> re.Pattern[str]:
    """The longest word first; English ones stand alone, Chinese ones anywhere. `words` are lower case."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(re.escape(word) if CJK.match(word) else rf"\b{re.escape(word)}\b" for word in longest))


class Templates:
    """A question without its names (N), numbers (0) and the attributes of its picture (A); runs of one sort are one."""

    def __init__(self) -> None:
        stop = vocabulary("stop", "en") | vocabulary("stop", "zh")
        picture = {word for section in PICTURE for language in ("en", "zh") for word in vocabulary(section, language)}
        self.ordinary = stop | picture
        fields = vocabulary("attribute", "en") | vocabulary("attribute", "zh")
        self.attributes = one_of(picture)
        self.names = one_of((corpus_names(list(documents(COURSE).values())) | fields) - self.ordinary)

    def of(self, text: str) -> str:
        text = unicodedata.normalize("NFKC", text)
        text = re.sub(r"\b[A-Z][\w-]*", lambda word: word[0] if word[0].casefold() in self.ordinary else "\0N", text)
        text = self.attributes.sub("\0A", text.lower().replace("\0n", "\0N"))
        text = self.names.sub("\0N", re.sub(r"[a-z_-]*\d[\w.-]*", "\x000", text))
        text = " ".join(re.sub(r"\0(.)", r" \1 ", re.sub(r"[^\w\0]+", " ", text)).split())
        return re.sub(r"\b([AN0])(?: \1\b)+", r"\1", text)


@pytest.mark.parametrize("split", ["dev", "holdout"])
def test_no_template_has_more_than_a_tenth(split: str) -> None:
    templates = Templates()
    counted = Counter(templates.of(text) for text in questions(split).values())
    assert counted.most_common(1)[0][1] <= counted.total() / 10


def test_masking_leaves_the_template() -> None:
    templates = Templates()
    assert templates.of("Small RED circle!") == templates.of("the large blue star").removeprefix("the ") == "A"
    assert templates.of("What is the rated flow of the Harrow 300?") == "what is the N of the N 0"
    assert templates.of("大的红色正方形是用什么颜料画的") == "A 是用什么颜料画的"


def sources() -> dict[str, str]:
    found = [path for suffix in ("*.py", "*.j2") for path in sorted((ROOT / "stages").rglob(suffix))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_no_name_of_a_corpus_stands_in_the_sources() -> None:
    """A name: a capitalised word of a document's title that no document writes in lower case."""
    texts = [text for dataset in DATASETS for text in documents(dataset).values()]
    titles = [title for text in texts for title in re.findall(r"^# (.+)$", text, re.MULTILINE)[:1]]
    lower = set(re.findall(r"\b[a-z][a-z'-]*", " ".join(texts)))
    capitalised = {word for title in titles for word in re.findall(r"\b[A-Z][A-Za-z-]+", title)}
    names = {word for word in capitalised if word.lower() not in lower} - ORDINARY
    assert len(names) > 20
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b", re.IGNORECASE)
    assert [(path, word) for path, text in sources().items() for word in pattern.findall(text)] == []


def test_no_chinese_but_vocabulary_stands_in_the_sources() -> None:
    known = set[str]().union(*(vocabulary(section, "zh") for section in (*PICTURE, "attribute", "stop", "instruction")))
    assert [(path, run) for path, text in sources().items() for run in CJK.findall(text) if run not in known] == []


def test_no_id_and_no_value_of_a_dataset_stands_in_the_sources() -> None:
    code, found = "\n".join(sources().values()), []
    for row in (one for dataset, split in PARTS for one in rows(dataset / f"evaluation-only/{split}.jsonl")):
        words = [word for word in (row["id"], row["expected_value"] or "") if len(word) > 2 and word in code]
        found += [row["id"] for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", code)]
    assert found == []
