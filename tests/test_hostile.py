"""Whatever stands in a file, its reader gives what the file is for or refuses it by name, and executes nothing."""

import ast
import json
import os
import pickle
import posixpath
import re
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stages import embed_corpus, freeze_threshold, score_dev, sweep_thresholds, train_encoder, write_report
from stages.arrays import read_arrays, read_hnsw
from stages.errors import BadInputError, FrostlineError, StaleThresholdError
from stages.files import hash_file
from stages.originals import list_originals, read_original
from stages.params import load_source
from stages.project import read_project
from stages.results import read_figures
from stages.retrieval.hnsw import HEAD
from stages.settings import read_params, read_yaml
from stages.stage.declared import declared_stages
from stages.wellformed import path_finding
from tests.hostile import CATALOGUE, HNSW, INDEX, METRICS, VECTORS, Reader, bombs, readers, write_inputs
from tests.project import LEDGER, ROOT, SMALL, Project

pytestmark = pytest.mark.pipeline

LABELS, CAPTIONS = f"{SMALL}/evaluation-only/dev.jsonl", f"{SMALL}/training/captions.jsonl"
UNREAD = re.compile(
    r"artifacts/(encoder/curve\.csv|sweep/.+\.(image|text)\.csv|sweep/neural\.frontier\.csv"
    r"|perturbation/(cases|curves)\.csv|perturbation/originals/.+\.png)"
)
"""For people and DVC's plots; of the altered originals the report reads one image, by its hash."""
READERS = list(readers())
LARGE = (HNSW, "vectors/checkpoint.npz")
TOKENS = [
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"0", b"1.5", b"9" * 30, b"null", b"true", b"{}", b"[]"),
    *(b'""', b'"\\ud800"', b"\x00", b"\xef\xbb\xbf", b"\xff", b"\n", b"\r", b"\t", b",", b'"', b"#", b"&a [*a]"),
    *(b'"../../etc/passwd"', b"2001-99-99", b"!!binary aGk=", b"!!set {a, b}", b"? [a]\n: b\n", b"1:1:1", b"---\n"),
]
ODD: list[Any] = [
    *(None, True, -1, 0, 1.5, 10**18, -(10**18), 1e308, 5e-324, float("nan"), float("inf"), "", "x" * 1000, "\u2028"),
    *("../../etc/passwd", "/etc/passwd", "images/../x.png", "a\\b.md", "a\0.md", "docs/none.md", [], {}, [[]]),
]


@pytest.fixture(scope="module")
def world(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished project without git, with an input for every reader. Each test leaves it as it was."""
    root = tmp_path_factory.mktemp("hostile") / "project"
    shutil.copytree(finished.root, root, ignore=shutil.ignore_patterns(".git", ".dvc"))
    write_inputs(root)
    return root


def test_every_reader_is_listed(world: Path) -> None:
    """Whatever dvc.yaml lists as data, but for the vectors, of which there are smaller ones."""
    declared = declared_stages(read_yaml(world / "dvc.yaml"), load_source(read_params(world / "params.yaml")))
    names = {name for one in declared.values() for name in (*one.deps, *one.outs) if not name.startswith("stages/")}
    found = {item for name in names for item in [world / name, *(world / name).rglob("*")] if item.is_file()}
    whole = {reader.path for reader in READERS}
    listed = {path.removeprefix("vectors/") for path in whole}
    missing = {
        path
        for path in (item.relative_to(world).as_posix() for item in found)
        if path not in whole and path.split("/")[-1] not in listed and not UNREAD.fullmatch(path)
        and f"{SMALL}/corpus/" not in path and path != "artifacts/report/index.html"
    }  # fmt: skip
    assert missing == set() and {"params.yaml", "dvc.yaml", LEDGER, CATALOGUE} <= whole


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from slots(item)


def parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


@st.composite
def edited(draw: st.DrawFn, data: bytes) -> bytes:
    """JSON, or one of its lines, with another value, a key or item less, one twice, or the items in another order."""
    lines = [data] if isinstance(parsed(data), dict) else data.split(b"\n")
    number = draw(st.integers(0, len(lines) - 1))
    value = parsed(lines[number])
    found = list(slots(value))
    if not found:
        return data
    holder, key = found[draw(st.integers(0, len(found) - 1))]
    what = draw(st.sampled_from(("value", "less", "twice", "order")))
    if what == "value":
        holder[key] = draw(st.sampled_from(ODD))
    elif what == "less":
        del holder[key]
    elif isinstance(holder, list):
        holder[:] = [*holder, holder[key]] if what == "twice" else draw(st.permutations(holder))
    else:
        holder[f"{key}{key}" if what == "twice" else key] = draw(st.sampled_from(ODD))
    lines[number] = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> bytes:
    """Truncated, or with something in the place of some bytes: a token, other bytes, themselves twice, nothing."""
    start = draw(st.integers(0, len(data)))
    end = min(len(data), start + draw(st.integers(0, 40)))
    put = draw(st.one_of(st.sampled_from([*TOKENS, None]), st.binary(max_size=4), st.just(data[start:end] * 2)))
    return data[:start] if put is None else data[:start] + put + data[end:]


def hostile(data: bytes, others: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    return st.one_of(
        edited(data), edited(data), cut(data), cut(data), st.sampled_from([*others, b"", b"\n", b"{}", b"0"])
    )


@pytest.mark.parametrize("reader", READERS, ids=lambda one: one.path)
def test_a_damaged_file_is_read_or_refused_by_name(reader: Reader, world: Path) -> None:
    """Truncated, edited or swapped: the same kind of value as before, or one of our errors, which names the file."""
    path = world / reader.path
    data, kind = path.read_bytes(), type(reader.read(world))

    @settings(derandomize=True, database=None, deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
    @given(hostile(data, [(world / one.path).read_bytes() for one in READERS if one.path not in LARGE]))
    def check(damaged: bytes) -> None:
        path.write_bytes(damaged)
        try:
            assert type(reader.read(world)) is kind
        except FrostlineError as error:
            assert path.stem in str(error)

    try:
        check()
    finally:
        path.write_bytes(data)


def test_bombs_are_refused_and_nothing_is_executed(world: Path) -> None:
    """Pickles, tags, bombs of YAML and zip, 100 and 100,000 levels, 1 GB without a line's end, pipes, folders, devices.

    Markdown may say anything.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", world], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    wrong = {name: found for name, found in told["found"].items() if found != "refused"}
    assert {name for name, found in wrong.items() if not (name.startswith(CATALOGUE) and found == "taken")} == set()
    assert not told["executed"] and told["megabytes"] < 700, told["megabytes"]


def test_the_bombs_go_off(tmp_path: Path) -> None:
    """What is refused would run, where somebody unpickled it or loaded it without care."""
    made = bombs(tmp_path / "executed")
    pickle.loads(made["pickle"])
    assert (tmp_path / "executed").exists()
    (tmp_path / "executed").unlink()
    yaml.load(made["tag"], yaml.UnsafeLoader)
    assert (tmp_path / "executed").exists()


Edit = Callable[[Any], object]


def stage(module: ModuleType, **paths: str) -> Callable[[], object]:
    """A stage's main, called in the project's folder with some of its paths changed."""

    def run() -> object:
        project = read_project(".")
        words = project.stages[module.__name__.removeprefix("stages.")].words[3:]
        given_paths = {name[2:].replace("-", "_"): path for name, path in zip(words[::2], words[1::2], strict=True)}
        return module.main(project.params, Namespace(**given_paths | paths))

    return run


def entry(kind: str, **changes: object) -> Edit:
    """Change the first entry of a kind in an index."""
    return lambda index: next(one for one in index["entries"] if one["kind"] == kind).update(changes)


def original(**changes: object) -> Edit:
    return lambda index: index["originals"][0].update(changes)


def record(**changes: object) -> Edit:
    return lambda scored: next(one for one in scored["records"] if one["citations"])["citations"][0].update(changes)


def ranked(scored: Any) -> None:
    """Name an entry that no index has, last in every list that holds one."""
    for one in scored["records"]:
        for found in (*one["rank_lists"].values(), one["candidates"], one["reranked"]):
            found.append(["docs/none.md#c0001", 0.0])


def last_first(scored: Any) -> None:
    found = next(one for one in scored["records"] if len(one["candidates"]) > 1)["candidates"]
    found.reverse()


def figure(*place: str, value: object) -> Edit:
    def edit(figures: Any) -> None:
        for name in place[:-1]:
            figures = figures[name]
        figures[place[-1]] = value

    return edit


RECORDS, SWEPT, THRESHOLD = (f"artifacts/{name}/lexical.json" for name in ("dev", "sweep", "threshold"))
JUDGED, SWEEP = "artifacts/judged/lexical.jsonl", "artifacts/sweep/lexical.csv"
UNSOUND: dict[str, tuple[str, Edit, Callable[[], object], str]] = {
    "a span that leaves its document": (
        INDEX,
        entry("chunk", end=10**6),
        stage(score_dev),
        r"docs/.+: start: expected 0 <= start < end within",
    ),
    "a span of another length than its text": (INDEX, entry("chunk", start=1), stage(score_dev), "not as long as"),
    "a negative span": (INDEX, entry("field", value_start=-1), stage(score_dev), "value: a field, and nothing else"),
    "an original outside the corpus": (
        INDEX,
        original(path="../../etc/passwd.md"),
        stage(train_encoder),
        r"originals: expected a path below corpus/",
    ),
    "an entry of no original": (INDEX, entry("image", path="images/9.png"), stage(score_dev), "no image images/9.png"),
    "an entry of other bytes": (
        INDEX,
        entry("chunk", sha256="0"),
        stage(embed_corpus),
        "no document .+ with that sha",
    ),
    "a field in no chunk": (INDEX, entry("field", chunk="docs/none.md#c1"), stage(sweep_thresholds), "chunk: a field"),
    "an index of another snapshot": (
        INDEX,
        figure("snapshot", value="0"),
        stage(write_report),
        "snapshot: not the hash",
    ),
    "a citation outside the corpus": (
        RECORDS,
        record(path="../../../etc/passwd"),
        stage(sweep_thresholds),
        "citations: expected a path",
    ),
    "a citation of a negative span": (
        RECORDS,
        record(start=-9),
        stage(sweep_thresholds),
        "citations: expected a quote as long",
    ),
    "a rank list that names no entry": (
        RECORDS,
        ranked,
        stage(sweep_thresholds),
        r"not in the index: docs/none\.md#c0001",
    ),
    "a rank list out of order": (RECORDS, last_first, stage(sweep_thresholds), "candidates: not by falling"),
    "records of another system": (
        RECORDS,
        figure("system", value="hybrid"),
        stage(sweep_thresholds),
        "the records of hybrid",
    ),
    "a sweep of another system": (
        SWEPT,
        figure("system", value="hybrid"),
        stage(freeze_threshold),
        "the sweep of hybrid",
    ),
    "questions of another system": (
        "artifacts/holdout/lexical/queries.json",
        figure("system", value="hybrid"),
        stage(write_report),
        "questions of",
    ),
    "a threshold for half of the kinds": (
        "artifacts/threshold/neural.json",
        figure("by_kind", value={"image": 0.5}),
        stage(write_report),
        "by_kind: expected",
    ),
    "a threshold that refuses all and has one": (
        THRESHOLD,
        figure("refuse_all", value=True),
        stage(write_report),
        "refuse_all: true where",
    ),
    "a figure that is none": (
        METRICS,
        figure("lexical", "gate", "answer_f1", value="high"),
        stage(write_report),
        "gate.answer_f1: expected a number",
    ),
    "a figure that is missing": (
        METRICS,
        figure("lexical", "answers", value={}),
        lambda: read_figures(METRICS),
        "lexical.answers.correct: missing",
    ),
    "a dimension of other vectors": (
        "artifacts/vectors/vectors.json",
        figure("dimension", value=2),
        stage(score_dev),
        "vectors.json: no int8 vectors",
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_cannot_be_is_refused_where_it_is_read(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is JSON of the declared kind; the stage that reads it names the file and what is wrong in it."""
    path, edit, run, told = UNSOUND[name]
    monkeypatch.chdir(world)
    data = Path(path).read_bytes()
    value = json.loads(data)
    edit(value)
    Path(path).write_text(json.dumps(value), encoding="utf-8")
    try:
        with pytest.raises(BadInputError, match=told) as raised:
            run()
    finally:
        Path(path).write_bytes(data)
    assert path in str(raised.value) or "not in the index" in told


REPLACED: dict[str, tuple[str, str, str, Callable[[], object], str]] = {
    "an image outside the corpus": (
        LABELS,
        '"images/',
        '"../images/',
        stage(sweep_thresholds),
        "expected_image: expected",
    ),
    "evidence outside the corpus": (
        LABELS,
        '"docs/',
        '"docs/../../docs/',
        stage(sweep_thresholds),
        "evidence: expected a",
    ),
    "a caption outside the corpus": (CAPTIONS, '"images/', '"/images/', stage(train_encoder), "image: expected a path"),
    "a caption of no image": (CAPTIONS, '"images/', '"images/no', stage(train_encoder), r"image: no images/no\d+\.png"),
    "a key twice": (LABELS, '"id"', '"id": "a", "id"', stage(sweep_thresholds), r":1: keys that stand there twice: id"),
    "questions of records": (
        JUDGED,
        '"signal":0',
        '"signal":1',
        stage(freeze_threshold),
        "judged",
    ),
    "a sweep that is no number": (
        "artifacts/sweep/lexical.csv",
        "0.",
        "nan0.",
        stage(write_report),
        "could not convert",
    ),
    "a sweep that is not finite": (SWEEP, ",0,", ",nan,", stage(write_report), "finite number"),
}


@pytest.mark.parametrize("name", REPLACED)
def test_rows_that_cannot_be_are_refused(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, old, new, run, told = REPLACED[name]
    monkeypatch.chdir(world)
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new), encoding="utf-8")
    try:
        with pytest.raises(BadInputError, match=told) as raised:
            run()
    finally:
        Path(path).write_text(text, encoding="utf-8")
    assert path in str(raised.value)


def test_a_sweep_out_of_order_is_refused(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    path = Path(SWEEP)
    text = path.read_text(encoding="utf-8")
    head, first, second, *rest = text.splitlines(keepends=True)
    for rows in ([second, first, *rest], [first, first, second, *rest], [first, second, *rest[:-1]], [*rest, rest[-1]]):
        path.write_text("".join([head, *rows]), encoding="utf-8")
        with pytest.raises(BadInputError, match=r"sweep/lexical\.csv: thresholds do not rise"):
            stage(write_report)()
    path.write_text(text, encoding="utf-8")


def test_a_threshold_whose_seal_does_not_fit_is_not_shown(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    path = Path(THRESHOLD)
    data = path.read_bytes()
    path.write_text(json.dumps(json.loads(data) | {"threshold": 0.123}), encoding="utf-8")
    with pytest.raises(StaleThresholdError, match="seal: frozen"):
        stage(write_report)()
    path.write_bytes(data)


@settings(derandomize=True, database=None, max_examples=300)
@given(st.text(st.sampled_from("ab./\\\0\n\ud800:~- "), max_size=12).map(lambda name: f"{name}.md"))
def test_a_path_that_keeps_the_rule_stays_below_the_corpus(path: str) -> None:
    if path_finding(path) is None:
        assert posixpath.normpath(posixpath.join("/corpus", path)) == f"/corpus/{path}"
        assert not re.search(r"[\\\0\n\ud800]|(^|/)\.", path)
    else:
        assert re.search(r"[\\\0\n\ud800]|(^|/)(\.|/|$)", path)


def test_no_link_leads_out_of_the_corpus(tmp_path: Path) -> None:
    """Neither as a file nor as a folder; what is neither file nor folder is named too."""
    corpus, outside = tmp_path / "corpus", tmp_path / "outside"
    for folder in (corpus / "docs", outside):
        folder.mkdir(parents=True)
    (outside / "secret.md").write_text("# Secret\n", encoding="utf-8")
    (corpus / "docs/a.md").write_text("# A\n", encoding="utf-8")
    assert list_originals(corpus) == ["docs/a.md"] and read_original(corpus, "docs/a.md") == b"# A\n"
    (corpus / "docs/b.md").symlink_to(outside / "secret.md")
    (corpus / "more").symlink_to(outside)
    os.mkfifo(corpus / "docs/c.md")
    (corpus / "notes.md").mkdir()
    (corpus / "docs/a\\b.md").write_text("# A\n", encoding="utf-8")
    with pytest.raises(BadInputError) as raised:
        list_originals(corpus)
    told = str(raised.value)
    assert told.count("a link out of the corpus; ") == 2 and "neither a file nor a folder" in told
    assert "notes.md: a folder with the name of a file" in told
    assert "rename it or its folder: expected a path below corpus/" in told and told.count("\n") == 4
    for path in ("docs/b.md", "more/secret.md", "../outside/secret.md", "docs/c.md"):
        with pytest.raises(BadInputError, match=r"link|expected a path|no plain file"):
            read_original(corpus, path)


def test_an_index_over_a_wild_link_is_not_loaded(world: Path) -> None:
    """hnswlib would follow it; the bytes are those that vectors.json names."""
    data, vectors = (world / HNSW).read_bytes(), read_arrays(world / VECTORS, hash_file(world / VECTORS))["vectors"]
    for place, value in ((HEAD.size + 4, 2**31), (HEAD.size, 2**16), (8, 2**40), (52, 10**6), (len(data) - 4, 2**20)):
        wild = data[:place] + value.to_bytes(8, "little")[: min(8, len(data) - place)] + data[place + 8 :]
        (world / HNSW).write_bytes(wild)
        with pytest.raises(BadInputError, match=r"hnsw\.bin"):
            read_hnsw(world / HNSW, hash_file(world / HNSW), vectors, 10)
    (world / HNSW).write_bytes(data)


def test_a_file_of_1_gb_is_refused_by_a_stage(damaged: Project) -> None:
    """Under the audit hook, which hashes what is opened."""
    path = f"{SMALL}/queries/dev.jsonl"
    with (damaged.root / path).open("r+b") as stream:
        stream.truncate(2**30)
    assert damaged.run_stage("score_dev", status=1).startswith(f"BadInputError: {path}: {2**30} bytes; at most ")


def test_calibrate_takes_a_pipe_for_what_it_reads_once(tmp_path: Path) -> None:
    """The threshold and the questions of SQuAD; scores are read twice, and say so."""
    for name, ids in (("dev", "abcd"), ("holdout", "wxyz")):
        rows = "".join(f"{one}\t0.{place}\t{place % 2}\n" for place, one in enumerate(ids))
        (tmp_path / f"{name}.tsv").write_text(f"id\tscore\tanswerable\n{rows}", encoding="utf-8")
    frostline = f"{shlex.quote(sys.executable)} -m stages.cli calibrate --model m"

    def run(command: str) -> subprocess.CompletedProcess[str]:
        where = os.environ | {"PYTHONPATH": str(ROOT)}
        words = ["bash", "-c", command]
        return subprocess.run(words, cwd=tmp_path, env=where, capture_output=True, text=True, timeout=60)

    assert run(f"{frostline} dev.tsv --out frozen").returncode == 0
    done = run(f"{frostline} --apply <(cat frozen/threshold.json) holdout.tsv")
    assert done.returncode == 0 and "holdout" in done.stdout, done.stderr
    (tmp_path / "pipe.tsv").symlink_to("/dev/stdin")
    assert "no plain file; it is read twice" in run(f"cat dev.tsv | {frostline} pipe.tsv").stderr


FORBIDDEN = {"pickle", "marshal", "shelve", "dill", "joblib", "code", "codeop", "runpy"}
CALLS = {"eval", "exec", "compile", "__import__"}
SAFE = {"CSafeLoader", "SafeLoader", "loader"}


def unsafe(tree: ast.AST) -> Iterator[str]:
    """What could execute something that was read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            yield from (f"{node.lineno}: {name}" for name in names if name.split(".")[0] in FORBIDDEN)
        elif isinstance(node, ast.Call):
            name, options = ast.unparse(node.func), {one.arg: ast.unparse(one.value) for one in node.keywords}
            loads = name in ("np.load", "numpy.load") and options.get("allow_pickle") != "False"
            loader = re.fullmatch(r"yaml\.(load|load_all|compose|parse|scan)", name)
            given_loader = options.get("Loader") or (ast.unparse(node.args[1]) if len(node.args) > 1 else "")
            wild = loader and given_loader.split(".")[-1] not in SAFE
            shell = name in ("os.system", "os.popen") or options.get("shell", "False") != "False"
            bare = name == "Environment" and options.get("autoescape") != "True"
            if name in CALLS or loads or wild or shell or bare or name in ("yaml.unsafe_load", "yaml.full_load"):
                yield f"{node.lineno}: {ast.unparse(node)[:60]}"


def test_no_source_could_execute_what_it_reads() -> None:
    found = {path: list(unsafe(ast.parse(path.read_bytes()))) for path in (ROOT / "stages").rglob("*.py")}
    assert {path.name: told for path, told in found.items() if told} == {}
    assert "|safe" not in (ROOT / "stages/report/report.html.j2").read_text(encoding="utf-8").replace(" ", "")
    careless = "import pickle\neval(x)\nyaml.load(x)\nnp.load(x)\nos.system(x)\nrun(x, shell=True)\nEnvironment()\n"
    assert len(list(unsafe(ast.parse(careless)))) == 7
