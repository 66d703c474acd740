"""What params.yaml may not say, and that all of it is said at once."""

from pathlib import Path

import pytest

from stages import settings
from stages.errors import BadInputError
from stages.params import (
    OBJECTIVES,
    CalibrateParams,
    IndexParams,
    RetrievalParams,
    load_section,
    load_source,
    load_systems,
)
from tests.project import ROOT


def test_every_finding_is_listed() -> None:
    raw = {"bm25_k1": "x", "bm25_b": 2, "pool": True, "top_k": 0, "rerank": 1, "extra": 1}
    with pytest.raises(BadInputError) as caught:
        load_section(RetrievalParams, "retrieval", raw)
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0].removeprefix("retrieval.") for line in lines] == [
        *("extra", "rrf_k", "bm25_k1", "bm25_b", "pool", "top_k", "rerank"),
    ]
    assert "got True" in lines[4]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "2", None, True, 10**400])
def test_a_weight_is_a_number_above_zero(weight: object) -> None:
    with pytest.raises(BadInputError, match="fp_weight"):
        load_section(CalibrateParams, "calibrate", {"fp_weight": weight, "by_kind": []})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("alpha", value) for value in (0, 1, -0.1, float("nan"), "0.05", True)),
        *(("delta", value) for value in (0, 0.51, None)),
        *(("min_answers", value) for value in (0, 2.5, True)),
        *(("objective", value) for value in ("min_false_accept", None, 1)),
    ],
)
def test_a_goal_out_of_range_is_shown(key: str, value: object) -> None:
    with pytest.raises(BadInputError, match=rf"^calibrate\.{key}: expected .*, got {value!r}$"):
        load_section(CalibrateParams, "calibrate", {"fp_weight": 2, "by_kind": [], key: value})


def test_a_certified_objective_takes_no_thresholds_by_kind() -> None:
    for objective in OBJECTIVES[1:]:
        raw = {"fp_weight": 2, "by_kind": [], "objective": objective}
        assert load_section(CalibrateParams, "calibrate", raw).certified
        with pytest.raises(BadInputError, match=rf"by_kind: {objective} certifies one .*'neural'.*; set it to \[\]"):
            load_section(CalibrateParams, "calibrate", raw | {"by_kind": ["neural"]})


def test_params_yaml_writes_out_every_default() -> None:
    raw = settings.read_params(ROOT / "params.yaml")["calibrate"]
    written, short = (
        load_section(CalibrateParams, "calibrate", raw),
        {key: raw[key] for key in ("fp_weight", "by_kind")},
    )
    assert written == load_section(CalibrateParams, "calibrate", short) and list(raw) == list(vars(written))


def test_sections_agree_with_themselves_and_name_systems_that_exist(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="chunk_overlap"):
        IndexParams(max_pixels=1, chunk_tokens=10, chunk_overlap=10)
    with pytest.raises(BadInputError, match="oracle"):
        load_section(CalibrateParams, "calibrate", {"fp_weight": 2, "by_kind": ["oracle"]})
    with pytest.raises(BadInputError, match="distinct"):
        load_systems({"systems": ["lexical", "lexical"]})
    (tmp_path / "params.yaml").write_text("retreival: {}\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="retreival"):
        settings.read_params(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_text("context:\n  budget: 1\n  budget: 2\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"params\.yaml:3: 'budget' stands there twice"):
        settings.read_params(tmp_path / "params.yaml")


@pytest.mark.parametrize("name", ["", 'x"y', "x$(touch z)", "x`touch z`", "x\\y", "x\ny", "-x"])
def test_the_name_of_a_dataset_is_nothing_for_a_shell(name: str) -> None:
    """dvc.yaml has it between double quotes."""
    with pytest.raises(BadInputError, match=r"params\.yaml: dataset: "):
        load_source({"dataset": name, "holdout": "holdout"})
    assert load_source({"dataset": "my dätä/a'b", "holdout": "holdout"}).dataset == "my dätä/a'b"
