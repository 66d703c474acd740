"""Damaged images and ablations in the pipeline: what is unchanged gives dev's own figures, and every case is told."""

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from stages import artifacts, files, results
from stages.ablating import Base, ask_ablated
from stages.answering.answer import Answerer
from stages.assemble import read_answerer, read_checkpoint
from stages.calibration.gate import Gate
from stages.damaging import refuse_another
from stages.encoder.checkpoint import Checkpoint
from stages.errors import BadInputError
from stages.measures.ablation import Ablated, Compared
from stages.measures.damage import OUTCOMES, Case, Perturbed
from stages.originals import read_index
from stages.params import CalibrateParams, IndexParams, load_section, of_params
from stages.perturb_images import image_questions, on_dev
from stages.perturbation.changes import altered
from stages.project import Project as Read
from stages.project import read_project
from stages.rebuild import with_images
from stages.records import Caption
from stages.settings import read_params, read_vocabulary, read_yaml
from stages.trial import narrowed
from stages.variant import varied
from stages.variations import STRENGTHS, SWITCHES, Ablation, PerturbationParams, load_ablations
from tests.project import ROOT, SMALL, Project

pytestmark = pytest.mark.pipeline

SYSTEMS = ("lexical", "neural", "hybrid")
RESULTS, CASES, CURVES = (f"artifacts/perturbation/{name}" for name in ("results.json", "cases.csv", "curves.csv"))


@pytest.fixture(scope="module")
def read(finished: Project) -> Read:
    """The finished project's params and paths."""
    return read_project(finished.root)


@pytest.fixture(scope="module")
def base(read: Read) -> Answerer:
    """The finished project's answerer."""
    return read_answerer(read.params, read.paths, read_index(read.paths.index), SYSTEMS)


def table(project: Project, path: str) -> list[dict[str, str]]:
    with (project.root / path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_clean_images_give_the_figures_of_dev(finished: Project) -> None:
    figures = json.loads((finished.root / "artifacts/dev_metrics.json").read_bytes())
    found = files.read_json(finished.root / RESULTS, Perturbed)
    clean = {one.system: one for one in found.effects if one.change == "clean"}
    assert clean.keys() == set(SYSTEMS)
    for system, one in clean.items():
        assert {"correct": one.answered_right, "total": one.n} == figures[system]["answers"]["image"]
        judged = [
            row for row in results.read_judged(finished.root / "artifacts/judged", system) if row.category == "image"
        ]
        assert one.hit_at_1_of == (sum(row.rank_after == 1 for row in judged), len(judged))
    for row in table(finished, CURVES):
        if int(row["strength"]) == STRENGTHS[row["change"]].none:
            assert int(row["answered_right"]) == clean[row["system"]].answered_right


def test_every_question_under_every_condition_is_told(finished: Project) -> None:
    found, rows = files.read_json(finished.root / RESULTS, Perturbed), table(finished, CASES)
    counted = Counter((row["change"], row["strength"], row["system"], row["outcome"]) for row in rows)
    assert len(rows) == sum(one.n for one in found.effects) == 14 * 3 * 5
    for one in found.effects:
        place = (one.change, "" if one.strength is None else str(one.strength), one.system)
        assert [counted[*place, name] for name in OUTCOMES] == [one.answered_right, one.answered_wrong, one.refused]
        assert sum(one.reasons.values()) == one.refused
    assert len(found.mistaken) == sum(row["outcome"] == "answered_wrong" for row in rows) > 0
    page = (finished.root / "artifacts/report/index.html").read_text(encoding="utf-8").partition("Damaged images")[2]
    for case in found.mistaken:
        assert re.search(rf"<code>{case.id}</code>: {re.escape(case.got or '')} \(", page), case
    assert len(re.findall('<img src="data:image/png;base64,', page)) == 5 and "http" not in page.replace(
        "http://www.w3.org/2000/svg", ""
    )


def test_altered_images_are_originals_with_their_own_hash(finished: Project) -> None:
    folder = finished.root / "artifacts/perturbation/originals"
    listed = json.loads((folder / "originals.json").read_bytes())
    images = sorted(path.name for path in (finished.root / SMALL / "corpus/images").iterdir())
    assert listed.keys() == {"clean", "hue-30", "hue-240", "noise-32", "rotation-90"}
    for name, rows in listed.items():
        assert [row["path"] for row in rows] == [f"images/{image}" for image in images]
        for row in rows:
            assert files.hash_file(folder / name / row["path"]) == row["sha256"]
            same = (folder / name / row["path"]).read_bytes() == (
                finished.root / SMALL / "corpus" / row["path"]
            ).read_bytes()
            assert same == (name == "clean")


def test_damage_that_nobody_indexed_is_refused_as_such(read: Read, base: Answerer) -> None:
    """Entries and vectors are those of the altered images, and support compares their hashes."""
    before = {one.path: base.read(one.path) for one in base.library.entries.values() if one.kind == "image"}
    after = {path: altered(data, "brightness", 75, 0, 10**7) for path, data in before.items()}
    encoder = read_checkpoint(read.paths.checkpoint)
    assert not any(getattr(encoder, name).flags.writeable for name in ("image", "text", "image_mean"))
    indexing = of_params(IndexParams, "index", read.params)
    damaged = with_images(base, after, read_vocabulary(), indexing, encoder)
    stale = replace(damaged, read=base.read)
    for system in SYSTEMS:
        records = [(damaged.answer(one, system), stale.answer(one, system)) for one, _ in image_questions(read.paths)]
        assert all(one.refusal != "source_changed" for one, _ in records)
        assert any(one.image for one, _ in records)
        assert all(other.refusal == "source_changed" for one, other in records if one.image)
    assert damaged.neighbours and base.neighbours
    moved = (damaged.neighbours.vectors != base.neighbours.vectors).any(axis=1)
    assert {base.library.ids[row] for row in moved.nonzero()[0]} == set(after)


def test_another_dev_is_refused(read: Read) -> None:
    records = artifacts.read_scored(read.paths.records, "lexical").records
    ids = {question.id for question, _ in image_questions(read.paths)}
    asked = [one for one in records if one.id in ids]
    dev = json.loads(files.read_bytes(read.paths.dev_metrics))
    before, right = on_dev(read.paths, "lexical", dev), dev["lexical"]["answers"]["image"]["correct"]
    cases = [
        Case("clean", None, "lexical", one.id, OUTCOMES[0 if place < right else 2], None, None, None, None, None)
        for place, one in enumerate(asked)
    ]
    refuse_another("lexical", asked, cases, before)
    with pytest.raises(BadInputError, match=r"lexical\.json: d01: another record"):
        refuse_another("lexical", [replace(asked[0], signal=0.123), *asked[1:]], cases, before)
    with pytest.raises(BadInputError, match=r"dev_metrics\.json: lexical\.answers\.image: .* but .* when asked again"):
        refuse_another("lexical", asked, cases[:-1], before)


def compared(project: Project) -> dict[tuple[str, str], Compared]:
    found = files.read_json(project.root / "artifacts/ablation/results.json", Ablated).compared
    return {(one.name, one.system): one for one in found}


def test_without_gate_or_support_is_what_the_records_say(finished: Project) -> None:
    figures, found = json.loads((finished.root / "artifacts/dev_metrics.json").read_bytes()), compared(finished)
    for system in SYSTEMS:
        for name, alone in (("no_gate", "support"), ("no_support", "gate")):
            after, expected = found[name, system].after, figures[system][alone]
            assert (after.fp, after.fn) == (expected["fp"], expected["fn"])
            assert (found[name, system].before.fp, found[name, system].before.fn) == (
                figures[system]["decision"]["fp"],
                figures[system]["decision"]["fn"],
            )
    flips = [flip for one in found.values() for flip in one.flips]
    assert flips and all(flip.before != flip.after for flip in flips)
    assert all(one.note is None for one in found.values())


def test_an_ablation_that_changes_nothing_flips_nothing(read: Read, base: Answerer) -> None:
    """Also where the index and the vectors are made again on the way."""
    gates = {system: Gate(artifacts.read_frozen(read.paths.threshold, system)) for system in SYSTEMS}
    dev = Base(
        [],
        files.read_questions(read.paths.dev_questions),
        files.read_labels(read.paths.dev_labels),
        {system: results.read_judged(read.paths.judged, system) for system in SYSTEMS},
    )
    weight = of_params(CalibrateParams, "calibrate", read.params).weight
    params = read.params | {"switch": SWITCHES}
    for factor in ("index.max_pixels", "neighbours.exact", "retrieval.rerank", "switch.descriptions"):
        section, _, key = factor.partition(".")
        nothing = Ablation("nothing", factor, params[section][key], params[section][key], params)
        for one in ask_ablated(nothing, read.paths, base, gates, dev, weight):
            assert one.flips == () and one.before == one.after and one.note is None, factor


def test_the_encoder_is_kept_from_captions_of_what_looks_alike(read: Read, base: Answerer, monkeypatch: Any) -> None:
    """Colour and shape are those of one without a caption; the size is another."""
    asked: list[Caption] = []

    def learn(captions: list[Caption], *_: object) -> tuple[Checkpoint, None]:
        asked.extend(captions)
        return read_checkpoint(read.paths.checkpoint), None

    monkeypatch.setattr("stages.variant.learn", learn)
    captions = files.read_captions(Path(read.paths.corpus).parent / "training/captions.jsonl")
    unseen = {one.path for one in base.library.entries.values() if one.kind == "image"} - {
        one.image for one in captions
    }
    params = read.params | {"switch": SWITCHES | {"captions_alike": False}}
    made = varied(Ablation("x", "switch.captions_alike", True, False, params), read.paths, captions, base)
    assert made.neighbours and base.neighbours and (made.neighbours.vectors == base.neighbours.vectors).all()
    left_out = [one for one in captions if one not in asked]
    looks = {path: base.library.entries[path].text.split(",")[0].split()[1:] for path in unseen}
    assert len(unseen) == len(left_out) == 2 and len(asked) == len(captions) - 2
    for one in left_out:
        assert base.library.entries[one.image].text.split(",")[0].split()[1:] in looks.values()


def test_an_ablation_that_cannot_be_run_says_why(read: Read, base: Answerer) -> None:
    gates = {"neural": Gate(artifacts.read_frozen(read.paths.threshold, "neural"))}
    dev = Base([], [], [], {"neural": []})
    params = read.params | {"switch": SWITCHES | {"captions_alike": False}}
    (one,) = ask_ablated(
        Ablation("x", "switch.captions_alike", True, False, params), read.paths, base, gates, dev, Fraction(1)
    )
    assert one.note and one.note.startswith("no caption would be left") and one.flips == ()


def test_the_stages_say_so_where_there_is_nothing_to_damage(damaged: Project) -> None:
    """No question about an image: no condition, and the report without the section."""
    for name in ("queries", "evaluation-only"):
        path = damaged.root / SMALL / name / "dev.jsonl"
        labels = (damaged.root / SMALL / "evaluation-only/dev.jsonl").read_text(encoding="utf-8").splitlines()
        images = {json.loads(line)["id"] for line in labels if '"category": "image"' in line}
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(row for row in rows if json.loads(row)["id"] not in images), encoding="utf-8")
    done = damaged.dvc("repro", "perturb_images")
    assert "nothing to damage" in done.stdout
    found = files.read_json(damaged.root / RESULTS, Perturbed)
    assert (found.effects, found.mistaken, found.shown) == ((), (), ())


BAD: dict[str, tuple[Any, str]] = {
    "two factors": (
        {"both": {"retrieval.rerank": False, "context.budget": 5}},
        r"params\.yaml: ablations\.both: changes 2 factors, retrieval\.rerank, context\.budget; one at a time",
    ),
    "no factor": ({"none": {}}, r"ablations\.none: expected one factor"),
    "a section that is none": ({"x": {"systems.lexical": False}}, r"ablations\.x: systems\.lexical: no factor"),
    "the encoder": ({"x": {"encoder.epochs": 1}}, r"ablations\.x: encoder\.epochs: no factor"),
    "a key that is none": ({"x": {"retrieval.rank": 1}}, r"ablations\.x: retrieval\.rank: not in the base run"),
    "a mistyped value": ({"x": {"retrieval.rerank": 0}}, r"ablations\.x: retrieval\.rerank: expected bool, got 0"),
    "no mapping": ([], r"ablations: expected a mapping"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_ablation_changes_one_known_factor(name: str) -> None:
    value, told = BAD[name]
    with pytest.raises(BadInputError, match=told):
        load_ablations(read_params(ROOT / "params.yaml") | {"ablations": value})


def test_each_ablation_is_the_base_run_but_for_its_factor() -> None:
    raw = read_params(ROOT / "params.yaml")
    for one in load_ablations(raw):
        section, _, key = one.factor.partition(".")
        was, now = {**raw, "switch": SWITCHES}, one.params
        assert {name for name in was if was[name] != now[name]} == {section} and one.base != one.value
        assert {name for name in was[section] if was[section][name] != now[section][name]} == {key}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"wobble": [1]}, "wobble: unknown change"),
        ({"blur": []}, "blur: expected a list of distinct strengths"),
        ({"blur": [1, 1]}, "blur: expected a list of distinct strengths"),
        ({"blur": [0]}, "blur: .* other than 0, which changes nothing; got 0"),
        ({"blur": [1.5]}, "blur: expected a whole number .* got 1.5"),
        ({"blur": [True]}, "blur: expected a whole number .* got True"),
        ({"rotation": [7]}, "rotation: .* multiple of 5; got 7"),
        ({"crop": [50]}, "crop: expected a whole number from 0 to 49"),
    ],
)
def test_a_strength_is_in_its_range_and_changes_something(changes: Any, told: str) -> None:
    with pytest.raises(BadInputError, match=rf"perturbation\.changes\.{told}"):
        load_section(PerturbationParams, "perturbation", {"seed": 0, "changes": changes})


def test_no_stage_but_those_of_the_holdout_asks_it() -> None:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_bytes())["stages"]
    for name in ("perturb_images", "ablate"):
        assert "holdout" not in json.dumps(stages[name])


def test_without_an_encoder_nobody_needs_captions() -> None:
    pipeline = narrowed(read_yaml(ROOT / "dvc.yaml"), ["lexical"])
    assert not [one for one in pipeline["stages"]["ablate"]["deps"] if "training" in one or "checkpoint" in one]
    assert (
        pipeline["stages"]["perturb_images"]["outs"] == read_yaml(ROOT / "dvc.yaml")["stages"]["perturb_images"]["outs"]
    )
