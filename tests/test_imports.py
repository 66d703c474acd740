"""Collections of others as datasets, the pipeline on them, and results as TREC files."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, Success

from stages.cli import main
from stages.corpus.chunk import sentences
from stages.corpus.index import index_originals
from stages.corpus.markdown import parse, sections
from stages.exporting import qrels, run_rows
from stages.files import hashed, read_captions, read_labels, read_questions
from stages.imports.collection import Passage
from stages.imports.dataset import SPLITS
from stages.imports.page import page
from stages.imports.split import chosen, joined
from stages.measures.ranking import first_relevant_rank, ranking_metrics
from stages.params import IndexParams
from stages.records import Candidate, Label, Span
from stages.settings import read_vocabulary
from tests.project import ROOT, Project
from tests.test_report import make_query

MARKUP = (
    "#",
    "- ",
    "---",
    "***",
    "> ",
    "```",
    "~~~",
    "1. ",
    "2) ",
    "<div>",
    "<!-- ",
    "| a | b |",
    "|---|---|",
    "[a]: /b",
)
TEXTS = st.lists(
    st.sampled_from([*MARKUP, "\n", "\r\n", "\n\n", "    ", "\t", "\0", "===", "\ufeff", "\u2028", "词", "x. "])
    | st.text(),
    max_size=8,
).map("".join)


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_every_passage_is_one_paragraph_under_its_title(pairs: Sequence[tuple[str, str]]) -> None:
    made = [Passage(str(number), "d", title, text) for number, (title, text) in enumerate(pairs)]
    assert all(len(one.text) == len(text) for one, (_, text) in zip(made, pairs, strict=True))
    passages = [one for one in made if one.text.strip()]
    written = page(passages)
    document = parse(written.text)
    kinds = ["heading_open", "inline", "heading_close", "paragraph_open", "inline", "paragraph_close"]
    assert [token.type for token in document.tokens] == kinds * len(passages)
    cut = [section for section in sections(document) if section.end > section.start]
    for passage, section in zip(passages, cut, strict=True):
        assert section.headings == ((passage.title,) if passage.title else ())
        at = written.offsets[passage.id]
        text = passage.text.strip()
        assert written.text[section.body : section.end].strip() in (text, f"\\{text}")
        for start, end in sentences(passage.text):
            assert section.body < at + start < at + end < section.end
            assert written.text[at + start : at + end] == passage.text[start:end]


def spans_in(folder: Path, span: Span) -> str:
    return text_of(folder / "corpus" / span.path)[span.start : span.end]


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(path: Path, lines: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def squad(*articles: tuple[str, str]) -> dict[str, Any]:
    """Articles of a title and a text; of each the first word answers one question, and nothing another."""
    data = []
    for title, text in articles:
        word = text.split()[0]
        answers = [{"text": word, "answer_start": text.index(word)}] * 2
        qas = [
            {
                "id": f"{title}-yes",
                "question": f"What comes first in {title}?",
                "answers": answers,
                "is_impossible": False,
            },
            {
                "id": f"{title}-no",
                "question": f"And last in {title}?",
                "answers": [],
                "is_impossible": True,
                "plausible_answers": answers,
            },
        ]
        data.append({"title": title, "paragraphs": [{"context": text, "qas": qas}]})
    return {"version": "v2.0", "data": data}


def imported(tmp_path: Path, kind: str, source: Path, *options: str) -> Path:
    main(["import", kind, str(source), str(tmp_path / "made"), *options])
    return tmp_path / "made"


def test_squad_keeps_ids_answers_and_articles(tmp_path: Path) -> None:
    source = tmp_path / "squad.json"
    articles = [("A_B", "# Frost? yes"), ("C", "Ice, 1\nmore"), ("D", "1. Snow falls"), ("E", "Rain")]
    source.write_text(json.dumps(squad(*articles)), encoding="utf-8")
    made = imported(tmp_path, "squad2", source)
    labels = {split: read_labels(made / f"evaluation-only/{split}.jsonl") for split in SPLITS}
    for split, expected in labels.items():
        assert [one.id for one in read_questions(made / f"queries/{split}.jsonl")] == [one.id for one in expected]
    everything = [label for split in SPLITS for label in labels[split]]
    assert {label.id for label in everything} == {f"{title}-{end}" for title, _ in articles for end in ("yes", "no")}
    found = {one.id: [spans_in(made, span) for group in one.evidence for span in group] for one in everything}
    assert found == {f"{title}-no": [] for title, _ in articles} | {
        f"{title}-yes": [text.split()[0]] for title, text in articles
    }
    sides = [{label.id.split("-")[0] for label in labels[split]} for split in SPLITS]
    assert sides[0] and sides[1] and not sides[0] & sides[1]
    for row in rows(made / "passages.jsonl"):
        text = spans_in(made, Span(row["path"], row["start"], row["end"]))
        assert text in [text.replace("\n", " ") for _, text in articles]


def nomiracl(folder: Path, count: int = 8) -> Path:
    passages = [
        {"docid": f"{number}#{part}", "text": f"Town {number}: Sentence {part} about it. And more."}
        for number in range(count)
        for part in (0, 1)
    ]
    queries = [
        {
            "id": f"q{number}",
            "query": f"Where is {number}?",
            "label": ("answerable", "unanswerable")[number % 2],
            "docids": [f"{number}#0", f"{number}#1"],
        }
        for number in range(count)
    ]
    written(folder / "passages.jsonl", passages)
    written(folder / "queries.jsonl", queries)
    return folder


def test_evidence_is_in_one_chunk_however_long_the_passage(tmp_path: Path) -> None:
    source = nomiracl(tmp_path / "source")
    long = {"docid": "0#2", "text": "Town 0: " + "Many words stand here, one by one. " * 40}
    written(source / "passages.jsonl", [*rows(source / "passages.jsonl"), long])
    query = rows(source / "queries.jsonl")
    query[0]["docids"] = ["0#2"]
    written(source / "queries.jsonl", query)
    made = imported(tmp_path, "nomiracl", source)
    paths = sorted(path.relative_to(made / "corpus").as_posix() for path in (made / "corpus").rglob("*.md"))
    assert len(paths) == 8
    entries, _ = index_originals(
        [hashed(made / "corpus", path) for path in paths], read_vocabulary(), IndexParams(10**6, 30, 5)
    )
    spans = [
        span
        for split in SPLITS
        for one in read_labels(made / f"evaluation-only/{split}.jsonl")
        for group in one.evidence
        for span in group
    ]
    assert len(spans) == 40 + 2 * 2 * 3
    chunks = [entry for entry in entries if entry.kind == "chunk"]
    for span in spans:
        assert any(
            one.path == span.path and (one.start or 0) <= span.start and span.end <= (one.end or 0) for one in chunks
        )
    assert {entry.headings for entry in chunks} == {(f"Town {number}",) for number in range(8)}


def beir(folder: Path, count: int = 12) -> Path:
    written(
        folder / "corpus.jsonl",
        [
            {"_id": f"d{n}", "title": "" if n % 2 else f"T{n}", "text": f"Text {n}.", "metadata": {}}
            for n in range(count)
        ],
    )
    written(folder / "queries.jsonl", [{"_id": f"q{n}", "text": f"{n}?"} for n in range(count)])
    judged = "".join(f"q{n}\td{n}\t1\nq{n}\td{(n + 1) % count}\t0\n" for n in range(count - 1))
    (folder / "qrels").mkdir()
    (folder / "qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    return folder


def test_beir_questions_lose_their_documents_where_all_could_be_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = imported(tmp_path, "beir", beir(tmp_path / "source"))
    labels = [one for split in SPLITS for one in read_labels(made / f"evaluation-only/{split}.jsonl")]
    there = {row["id"] for row in rows(made / "passages.jsonl")}
    assert {one.id[1:] for one in labels} == {str(number) for number in range(11)}
    for one in labels:
        assert one.answerable == (f"d{one.id[1:]}" in there)
        assert one.answerable or one.unanswerable_kind == "missing"
    assert 2 <= sum(not one.answerable for one in labels) <= 5
    assert "left out 1 queries without judgement" in capsys.readouterr().out


def pictures(folder: Path, count: int = 20) -> Path:
    rows = [{"image": f"{n}.png", "name": f"name {n}", "keywords": [f"word {n}", "all"]} for n in range(count)]
    written(folder / "captions.jsonl", rows)
    (folder / "images").mkdir()
    for n in range(count):
        (folder / f"images/{n}.png").write_bytes(b"%d" % n)
    return folder


def test_pictures_that_are_asked_for_have_no_caption(tmp_path: Path) -> None:
    made = imported(tmp_path, "images", pictures(tmp_path / "source"))
    taught = {one.image: one.caption for one in read_captions(made / "training/captions.jsonl")}
    there = {f"images/{path.name}": path.read_bytes() for path in (made / "corpus/images").iterdir()}
    labels = [one for split in SPLITS for one in read_labels(made / f"evaluation-only/{split}.jsonl")]
    asked = {one.id: one.text for split in SPLITS for one in read_questions(made / f"queries/{split}.jsonl")}
    assert len(taught) == 12 and len(labels) == 8 and sum(not one.answerable for one in labels) == 2
    assert taught == {path: f"name {path[7:-4]}" for path in taught} and taught.keys() <= there.keys()
    for one in labels:
        path = f"images/{one.id}"
        assert path not in taught and asked[one.id] == f"word {one.id[:-4]} all"
        assert one.answerable == (path in there) and one.expected_image in (None, path)
    assert all(data == path[7:-4].encode() for path, data in there.items())


def test_what_two_ask_or_nobody_asks_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = squad(*((title, f"{title} stands here.") for title in "abcdefgh"))
    asked = [article["paragraphs"][0]["qas"][0] for article in made["data"]]
    for one, text in zip(asked, ("Who stands?", "who  stands", "WHO STANDS！", "?"), strict=False):
        one["question"] = text
    (tmp_path / "squad.json").write_text(json.dumps(made), encoding="utf-8")
    folder = imported(tmp_path, "squad2", tmp_path / "squad.json")
    told = capsys.readouterr().out
    assert "left out 1 questions without words; left out 3 questions that ask the same as another" in told
    main(["check", str(folder)])
    assert "12 questions and 12 labels" in capsys.readouterr().out


def test_pictures_with_the_same_keywords_are_not_asked_for(tmp_path: Path) -> None:
    source = pictures(tmp_path / "source")
    rows_of = rows(source / "captions.jsonl")
    written(
        source / "captions.jsonl",
        [one | {"keywords": ["same"]} if n % 4 == 0 else one for n, one in enumerate(rows_of)],
    )
    made = imported(tmp_path, "images", source)
    labels = [one for split in SPLITS for one in read_labels(made / f"evaluation-only/{split}.jsonl")]
    asked = [one.text for split in SPLITS for one in read_questions(made / f"queries/{split}.jsonl")]
    assert len(asked) == len(labels) == len({*asked}) and asked.count("same") == 0


@pytest.mark.parametrize("image", ["../captions.jsonl", "/etc/passwd", "a.jpg", "..png"])
def test_a_picture_that_leads_elsewhere_is_refused(
    image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = pictures(tmp_path / "source")
    written(
        source / "captions.jsonl", [*rows(source / "captions.jsonl"), {"image": image, "name": "a", "keywords": ["b"]}]
    )
    with pytest.raises(SystemExit):
        imported(tmp_path, "images", source)
    assert "captions.jsonl: expected a path below corpus/" in capsys.readouterr().err


def test_a_picture_that_is_a_link_out_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = pictures(tmp_path / "source")
    (tmp_path / "secret").write_text("secret")
    (source / "images/3.png").unlink()
    (source / "images/3.png").symlink_to(tmp_path / "secret")
    with pytest.raises(SystemExit):
        imported(tmp_path, "images", source)
    assert "images/3.png: a link out of" in capsys.readouterr().err and not (tmp_path / "made").exists()


def documents(folder: Path, texts: Sequence[str]) -> Path:
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_bytes(text.encode("utf-8"))
    return folder


def front(body: str = "Text.", **keys: str) -> str:
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in keys.items()) + f"---\n\n{body}\n"


PLAIN = [front(title=f"Title {number}", no=str(number), state="open", made="2020") for number in range(6)]
UNTITLED = [front(no=str(number), state="open") for number in range(10, 14)]


@pytest.mark.parametrize(
    ("text", "asked", "nameless"),
    [
        (front(title="Own", no="9", state="'on: off'"),
         {"title": "no 9", "no": "Own", "state": "Own", "made": "Own"}, 4),
        (front(title="Title 1", no="9"), {"title": "no 9", "state": "Title 1 (no 9)", "made": "Title 1 (no 9)"}, 6),
        (front("## Own\n\n## Other", state="on"), {"no": "Own", "state": "Own", "made": "Own"}, 4),
        (front("No heading.", no="9", rare="[a,\n  b]"),
         {"title": "no 9", "state": "no 9", "made": "no 9", "rare": "no 9"}, 5),
        (front(title="Own", no="9", state='on\nmade: 1\nmade: 2\n"\\ud800": 3\n" ": 4'),
         {"title": "no 9", "no": "Own", "state": "Own"}, 4),
        (front(state="on", made="2021"), {}, 8),
        ("# Own\n\nno: 9\n", {}, 4),
        ("\ufeff" + front(title="Own", no="9", made="1").replace("\n", "\r\n"),
         {"title": "no 9", "no": "Own", "state": "Own", "made": "Own"}, 4),
    ],
)  # fmt: skip
def test_a_document_is_asked_for_every_key_by_what_tells_it_apart(
    text: str, asked: Mapping[str, str], nameless: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = documents(tmp_path / "source", [*PLAIN, *UNTITLED, text])
    (tmp_path / "source/figure.svg").touch()
    made = imported(tmp_path, "documents", source)
    told = {one.id: one.text for split in SPLITS for one in read_questions(made / f"queries/{split}.jsonl")}
    own = {name.split("#")[1]: text for name, text in told.items() if name.startswith("10.md#")}
    assert own == {key: f"What is the {key} of {name}?" for key, name in asked.items()}
    labels = [one for split in SPLITS for one in read_labels(made / f"evaluation-only/{split}.jsonl")]
    assert {one.id for one in labels} == told.keys() and len(labels) == len(told) >= 6 * 4 + 2
    for one in labels:
        name, key = one.id.split("#")
        lacks = f"{key}: " not in (source / name).read_bytes().decode()
        assert one.answerable != lacks
        assert {spans_in(made, span) for group in one.evidence for span in group} == ({one.expected_value} - {None})
        if not lacks:
            assert f"{key}: {one.expected_value}" in (source / name).read_bytes().decode().replace("'", "")
    sides = [
        {label.id.split("#")[0] for label in read_labels(made / f"evaluation-only/{split}.jsonl")} for split in SPLITS
    ]
    assert not sides[0] & sides[1]
    main(["check", str(made)])
    printed = capsys.readouterr().out
    assert f"left out {nameless} questions for which nothing tells" in printed
    assert "left out 1 files that are no Markdown" in printed
    assert {path.name: path.read_bytes() for path in (made / "corpus/docs").iterdir()} == {
        path.name: path.read_bytes() for path in source.glob("*.md")
    }


def test_documents_that_cannot_be_read_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = documents(tmp_path / "source", [*PLAIN, "a\0b"])
    (source / "latin.md").write_bytes(b"\xe9")
    with pytest.raises(SystemExit):
        imported(tmp_path, "documents", source)
    told = capsys.readouterr().err
    assert "6.md: a NUL at character 1" in told and "latin.md: not UTF-8 at byte 0" in told


NOMIRACL = ROOT.parent / "shared/cases/nomiracl-en"


@pytest.mark.skipif(not NOMIRACL.exists(), reason="../shared/cases, the public inputs, is not here")
def test_a_folder_in_the_layout_of_beir_with_real_passages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Titles apart, metadata of any shape, judgements of several grades and of 0, in one file for each split."""
    source, queries = tmp_path / "source", rows(NOMIRACL / "queries.jsonl")
    split = [row["text"].partition(": ") for row in rows(NOMIRACL / "passages.jsonl")]
    ids = [row["docid"] for row in rows(NOMIRACL / "passages.jsonl")]
    written(
        source / "corpus.jsonl",
        [
            {"_id": name, "title": title, "text": text, "metadata": {"url": f"?q={name}", "n": [1]}}
            for name, (title, _, text) in zip(ids, split, strict=True)
        ],
    )
    written(source / "queries.jsonl", [{"_id": one["id"], "text": one["query"], "metadata": {}} for one in queries])
    (source / "qrels").mkdir()
    for name, part in (("dev", queries[::2]), ("test", queries[1::2])):
        judged = [
            f"{one['id']}\t{document}\t{max(0, 3 - place) if one['label'] == 'answerable' else 0}\r\n"
            for one in part
            for place, document in enumerate(one["docids"])
        ]
        text = "query-id\tcorpus-id\tscore\r\n" + "".join(judged)
        (source / f"qrels/{name}.tsv").write_text(text, encoding="utf-8", newline="")
    made = imported(tmp_path, "beir", source)
    labels = {one.id: one for part in SPLITS for one in read_labels(made / f"evaluation-only/{part}.jsonl")}
    assert {name: one.answerable for name, one in labels.items()} == {
        one["id"]: one["label"] == "answerable" for one in queries
    }
    places = {row["id"]: row for row in rows(made / "passages.jsonl")}
    assert places.keys() == set(ids)
    for one in (query for query in queries if query["label"] == "answerable"):
        homes = [places[name] for name in one["docids"][:3]]
        for span in labels[one["id"]].evidence[0]:
            assert any(
                home["path"] == span.path and home["start"] <= span.start < span.end <= home["end"] for home in homes
            )
    main(["check", str(made)])
    assert "500 questions and 500 labels" in capsys.readouterr().out


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=4), max_size=12))
def test_what_shares_a_name_is_one_group(sets: list[list[int]]) -> None:
    group_of = joined(sets)
    assert group_of.keys() == {name for one in sets for name in one}
    assert all(len({group_of[name] for name in one}) == 1 for one in sets)
    linked = {name: {name} for name in group_of}
    for _ in sets:
        for one in sets:
            whole = set().union(*(linked[name] for name in one))
            linked |= dict.fromkeys(whole, whole)
    assert all((group_of[a] == group_of[b]) == (b in linked[a]) for a in group_of for b in group_of)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.integers(1, 9), max_size=20), st.integers(), st.floats(0.05, 0.95))
def test_a_share_is_missed_by_one_group_at_most(sizes: dict[str, int], seed: int, share: float) -> None:
    found = chosen(sizes, seed, share)
    assert found == chosen(dict(reversed(sizes.items())), seed, share)
    assert abs(sum(sizes[name] for name in found) - share * sum(sizes.values())) <= max(sizes.values(), default=0)


BAD = {
    "squad2": (
        json.dumps(squad(("a", "b c"))).replace('"b"', '"c"'),
        "question a-yes: its answer 'c' does not stand at 0 of paragraph 1 of 'a'",
    ),
    "not squad": ('{"data": [{"title": 1}]}', "Expected `str`, got `int` - at `$.data[0].title`"),
    "no text": ('{"data": [{"title": "a", "paragraphs": [{"context": "\\n", "qas": []}]}]}', "passage 1.1: no text"),
    "blank": (
        json.dumps(squad(("a", "b c"))).replace('"text": "b", "answer_start": 0', '"text": " ", "answer_start": 1'),
        "question a-yes: its answer is white space alone",
    ),
    "escape": (
        json.dumps(squad(("\033[2J", "b"), ("\033[2J", "c"))),
        r"question \x1b[2J-yes: stands there 2 times",
    ),
    "long": (json.dumps(squad(*((f"{n}" * 2**20, "b") for n in range(4)))), "of queries/dev.jsonl would have "),
    "one side": (json.dumps(squad(("a", "b"))), "holdout: 0 answerable and 0 unanswerable questions"),
    "surrogate": ('{"data": [{"title": "\\ud800", "paragraphs": []}]}', "surrogate"),
    "twice": (json.dumps(squad(("a", "b"), ("a", "c"))), "question a-yes: stands there 2 times"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_and_nothing_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, told = BAD[name]
    (tmp_path / "source.json").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        imported(tmp_path, "squad2", tmp_path / "source.json")
    assert ended.value.code == 1 and told in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.json"]


def test_bad_rows_and_lost_references_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = beir(tmp_path / "source")
    with (source / "qrels/test.tsv").open("a") as stream:
        stream.write(f"q1\td1\nq1\td2\tyes\nq1\td2\t{'9' * 5000}\n")
    with pytest.raises(SystemExit):
        imported(tmp_path, "beir", source)
    told = capsys.readouterr().err
    assert all(f"test.tsv:{line}:" in told for line in (24, 25, 26))
    (source / "qrels/test.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(SystemExit):
        imported(tmp_path, "beir", source)
    assert "test.tsv:1: a row in the place of the head" in capsys.readouterr().err
    (source / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nqx\td1\t1\nq1\tdx\t1\n")
    with pytest.raises(SystemExit):
        imported(tmp_path, "beir", source)
    told = capsys.readouterr().err
    assert "no query qx in queries.jsonl" in told and "no document dx" in told
    queries = nomiracl(tmp_path / "other") / "queries.jsonl"
    queries.write_text('{"id": "q"}\n\nnonsense\n' + queries.read_text())
    with pytest.raises(SystemExit):
        imported(tmp_path, "nomiracl", tmp_path / "other")
    told = capsys.readouterr().err
    assert "queries.jsonl:1:" in told and "queries.jsonl:3:" in told
    written(queries, [{"id": "q", "query": "?", "label": "answerable", "docids": ["0#0", "no", "none"]}])
    with pytest.raises(SystemExit):
        imported(tmp_path, "nomiracl", tmp_path / "other")
    told = capsys.readouterr().err
    assert "q: no no in passages.jsonl" in told and "q: no none in passages.jsonl" in told


def test_what_is_there_already_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/mine").write_text("mine")
    with pytest.raises(SystemExit):
        imported(tmp_path, "nomiracl", nomiracl(tmp_path / "source"))
    assert "already there" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["mine"]


def test_nothing_is_written_into_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nomiracl(tmp_path / "source")
    monkeypatch.chdir(ROOT)
    data = "tests/data/small"
    for command in (["import", "nomiracl", str(source), str(source / "made")], ["run", data, f"{data}/corpus/../made"]):
        with pytest.raises(SystemExit):
            main(command)
        assert "; name a folder elsewhere" in capsys.readouterr().err
        assert not Path(command[-1]).exists()


def test_what_a_killed_import_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".made.4194305.part/corpus").mkdir(parents=True)
    imported(tmp_path, "nomiracl", nomiracl(tmp_path / "source"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "source"]


@pytest.mark.pipeline
def test_the_pipeline_runs_on_an_imported_dataset_and_touches_nothing_here(tmp_path: Path, finished: Project) -> None:
    made = imported(tmp_path, "nomiracl", nomiracl(tmp_path / "my source"))
    here = finished.git("status", "--porcelain")
    folder = tmp_path / "the run"
    done = finished.python("-m", "stages.cli", "run", str(made), str(folder))
    assert (
        "lexical alone" in done.stdout
        and done.stdout.splitlines()[-1] == f"report: {folder}/artifacts/report/index.html"
    )
    assert finished.git("status", "--porcelain") == here
    trial = Project(folder)
    assert trial.python("-m", "stages.cli", "verify").stdout.startswith("verified: 9 stages")
    assert "up to date" in trial.dvc("status").stdout
    assert (made / "evaluation-only/holdout-ledger.jsonl").exists()
    assert "already there" in finished.python("-m", "stages.cli", "run", str(made), str(folder), status=1).stderr


def assert_equal_figures(qrels_file: Path, run_file: Path, ours: Mapping[str, Any]) -> None:
    qrels = list(ir_measures.read_trec_qrels(str(qrels_file)))  # type: ignore[no-untyped-call]
    run = list(ir_measures.read_trec_run(str(run_file)))  # type: ignore[no-untyped-call]
    found = ir_measures.calc_aggregate([Success @ 1, Success @ 5, RR @ 5], qrels, run)
    assert ours["n"] == len({one.query_id for one in qrels})
    for measure, name in ((Success @ 1, "hit_at_1"), (Success @ 5, "hit_at_5"), (RR @ 5, "mrr_at_5")):
        assert found[measure] == pytest.approx(ours[name], rel=1e-14)


@pytest.mark.pipeline
def test_trec_files_give_our_figures_to_the_last_digit(finished: Project, tmp_path: Path) -> None:
    finished.python("-m", "stages.cli", "export", "trec", "lexical", str(tmp_path / "trec"))
    figures = json.loads((finished.root / "artifacts/metrics.json").read_bytes())["lexical"]["retrieval"]
    for when in ("before", "after"):
        assert_equal_figures(
            tmp_path / "trec/qrels.txt", tmp_path / f"trec/{when}-rerank.txt", figures[f"{when}_rerank"]
        )


@pytest.mark.pipeline
def test_stale_results_are_not_exported(damaged: Project, tmp_path: Path) -> None:
    damaged.edit("params.yaml", "top_k: 5", "top_k: 4")
    damaged.python("-m", "stages.cli", "export", "trec", "lexical", str(tmp_path / "trec"), status=3)
    assert not (tmp_path / "trec").exists()


NAMES = st.sampled_from([f"docs/{letter}{space}.md#c1" for letter in "abcdef" for space in ("", " ", "%20", "\u3000")])
RANKINGS = st.lists(
    st.tuples(st.lists(NAMES, unique=True, max_size=7), st.sets(NAMES, max_size=3)), min_size=1, max_size=9
)


@settings(max_examples=25, deadline=None)
@given(RANKINGS)
def test_ties_missed_questions_and_odd_names_count_the_same(rankings: Sequence[tuple[list[str], set[str]]]) -> None:
    label = Label("q", "passage", None, False, None, None, ((Span("docs/a.md", 0, 1),),), None, None)
    refusal = Label("r", "refusal", None, False, None, None, (), "missing", "None.")
    asked = [
        make_query(
            f"q {place}",
            candidates=tuple(Candidate(name, 0.5) for name in names),
            relevant=tuple(relevant),
            label=label,
        )
        for place, (names, relevant) in enumerate(rankings)
    ]
    ranks = [first_relevant_rank(names, relevant) for names, relevant in rankings]
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "qrels", Path(folder) / "run"
        files[0].write_text("\n".join(qrels([*asked, make_query("r", relevant=(), label=refusal)])))
        files[1].write_text("\n".join(run_rows([(one.id, one.candidates) for one in asked], "tag")))
        assert_equal_figures(*files, ranking_metrics(ranks))
