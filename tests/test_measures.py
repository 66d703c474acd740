"""The measures against the worked examples of their source, and against ir_measures and scikit-learn."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, Qrel, ScoredDoc, Success
from sklearn.metrics import precision_recall_fscore_support

from stages.errors import BadInputError
from stages.measures.answers import Outcome, answer_counts, citation_counts, correct_if_accepted, refusal_reasons
from stages.measures.context import context_counts, context_metrics, is_traceable, overlap, visible_groups
from stages.measures.evaluate import Judged, aggregate, judge, judge_all, outcome
from stages.measures.ranking import first_relevant_rank, hit_at, mrr_at, ranking_metrics
from stages.measures.rate import number, rate
from stages.measures.refusal import Confusion, confusion, refusal_metrics
from stages.measures.relevance import Indexed
from stages.records import Candidate, Citation, Context, Decision, Entry, Label, Record, Span
from stages.wellformed import label_findings

WEIGHT = Fraction(2)
TEXT = "alpha beta gamma delta epsilon"
IMAGE = Entry("i1", "image", "images/1.png", "aa", "v1", "red circle")
FIRST = Entry("c1", "chunk", "docs/a.md", "bb", "v1", "alpha beta gamma", ("A",), 0, 16)
SECOND = Entry("c2", "chunk", "docs/a.md", "bb", "v1", "beta gamma delta epsilon", ("A",), 6, 30)
OTHER = Entry("c3", "chunk", "docs/b.md", "cc", "v1", "gamma zeta", ("B",), 0, 10)
FIELD = Entry("f1", "field", "docs/a.md", "bb", "v1", "name", ("A",), 11, 22, "gamma", 11, 16, "c2")
ENTRIES = {entry.id: entry for entry in (IMAGE, FIRST, SECOND, OTHER, FIELD)}
INDEXED = Indexed(ENTRIES)


def make_label(**changes: Any) -> Label:
    """Ask for the passages "beta gamma" (both chunks hold it) and "delta" (the second alone)."""
    evidence = ((Span("docs/a.md", 6, 16),), (Span("docs/a.md", 17, 22),))
    return replace(Label("q", "passage", None, False, None, None, evidence, None, None), **changes)


def make_record(selected: tuple[str, ...] = ("c1", "c2"), **changes: Any) -> Record:
    """A record whose pool is c3, c1, c2 before reranking and c1, c2, c3 after it."""
    pool = [Candidate(name, score) for name, score in (("c3", 3.0), ("c1", 2.0), ("c2", 1.0))]
    context = Context(selected, (), (), "characters", sum(len(ENTRIES[name].text) for name in selected), 100)
    whole = Citation("docs/a.md", "bb", 6, 30, TEXT[6:])
    ranked = (pool[1], pool[2], pool[0])
    record = Record("q", "beta?", {}, tuple(pool), ranked, "text", 0.5, True, None, None, "x", (whole,), context)
    return replace(record, **changes)


def image_label(**changes: Any) -> Label:
    return make_label(**{"category": "image", "expected_image": "images/1.png", "evidence": (), **changes})


def refusal_label(kind: str | None, name: str = "q") -> Label:
    return make_label(
        id=name, category="refusal", evidence=(), unanswerable_kind=kind, unanswerable_reason="Not there."
    )


def make_outcome(category: str, correct: bool, **changes: Any) -> Outcome:
    return Outcome(category, False, None, False, None, correct, True, True)._replace(**changes)


ANSWERED = Decision(0.4, True, "answered", None)
REFUSED = Decision(0.6, False, "refused", "below_threshold")


def value(metrics: dict[str, Any]) -> float | None:
    """The one rate of {name: rate, name_of: …}."""
    (found,) = (item for name, item in metrics.items() if not name.endswith("_of"))
    assert found is None or isinstance(found, float)
    return found


# Rates and ranks


def test_a_rate_travels_with_its_n() -> None:
    assert rate("x", 1, 3) == {"x": 1 / 3, "x_of": [1, 3]}
    assert rate("x", Fraction(3, 2), 3) == {"x": 0.5, "x_of": [1.5, 3]}
    assert rate("x", 0, 0) == {"x": None, "x_of": [0, 0]}
    assert repr(number(Fraction(4, 2))) == "2" and number(Fraction("0.3")) == 0.3 and number(7) == 7


def test_the_worked_example_of_one_two_none() -> None:
    ranks = [1, 2, None]
    assert ranking_metrics(ranks) == {
        **{"hit_at_1": 1 / 3, "hit_at_1_of": [1, 3]},
        **{"hit_at_5": 2 / 3, "hit_at_5_of": [2, 3]},
        **{"mrr_at_5": 0.5, "mrr_at_5_of": [1.5, 3], "n": 3},
    }


def test_the_worked_example_of_one_five_none() -> None:
    ranks = [1, 5, None]
    assert (value(hit_at(ranks, 1)), value(hit_at(ranks, 5)), value(mrr_at(ranks, 5))) == (1 / 3, 2 / 3, 0.4)
    assert value(mrr_at([1, 6, None], 5)) == 1 / 3


def test_the_first_relevant_rank_counts_from_one() -> None:
    assert first_relevant_rank(["a", "b", "c"], {"c", "b"}) == 2
    assert first_relevant_rank(["a"], {"b"}) is None
    assert first_relevant_rank([], {"b"}) is None


def random_runs(dice: random.Random) -> tuple[dict[str, list[Candidate]], dict[str, set[str]]]:
    """Draw runs of up to 12 ids with few distinct scores, ranked by (-score, id), and their relevant ids."""
    names = [f"d{n:02}" for n in range(12)]
    runs, relevant = {}, {}
    for question in (f"q{n}" for n in range(dice.randint(1, 8))):
        found = [Candidate(name, float(dice.randint(0, 3))) for name in dice.sample(names, dice.randint(1, 12))]
        runs[question] = sorted(found, key=lambda one: (-one.score, one.id))
        relevant[question] = set(dice.sample(names, dice.randint(1, 4)))
    return runs, relevant


def test_agrees_with_ir_measures_on_random_runs_with_ties() -> None:
    dice = random.Random(11)
    for _ in range(150):
        runs, relevant = random_runs(dice)
        qrels = [Qrel(question, name, 1) for question, names in relevant.items() for name in names]
        docs = [ScoredDoc(q, one.id, -float(place)) for q, run in runs.items() for place, one in enumerate(run)]
        ranks = [first_relevant_rank((one.id for one in run), relevant[question]) for question, run in runs.items()]
        theirs = ir_measures.calc_aggregate([Success @ 1, Success @ 5, RR @ 5], qrels, docs)
        ours = [value(hit_at(ranks, 1)), value(hit_at(ranks, 5)), value(mrr_at(ranks, 5))]
        assert ours == pytest.approx([theirs[Success @ 1], theirs[Success @ 5], theirs[RR @ 5]], abs=1e-12)


def test_ir_measures_would_break_ties_the_other_way_round() -> None:
    run = [Candidate("a", 1.0), Candidate("b", 1.0)]
    docs = [ScoredDoc("q", one.id, one.score) for one in run]
    first = first_relevant_rank((one.id for one in run), {"a"})
    assert value(hit_at([first], 1)) == 1.0
    assert ir_measures.calc_aggregate([Success @ 1], [Qrel("q", "a", 1)], docs)[Success @ 1] == 0.0
    assert ir_measures.calc_aggregate([Success @ 1], [Qrel("q", "b", 1)], docs)[Success @ 1] == 1.0


# Refusal


def test_the_confusion_table() -> None:
    assert confusion([True, True, False, False], [True, False, True, False]) == Confusion(tp=1, fp=1, fn=1, tn=1)
    assert confusion([True] * 3, [True] * 3) == Confusion(tp=3, fp=0, fn=0, tn=0)
    with pytest.raises(ValueError):
        confusion([True], [])


def test_the_rates_of_a_confusion_by_hand() -> None:
    metrics = refusal_metrics(Confusion(tp=6, fp=2, fn=4, tn=8), WEIGHT)
    assert metrics == {
        **{"tp": 6, "fp": 2, "fn": 4, "tn": 8, "weighted_error": 8, "accepts_all": False, "refuses_all": False},
        **{"answer_precision": 6 / 8, "answer_precision_of": [6, 8]},
        **{"answer_recall": 0.6, "answer_recall_of": [6, 10]},
        **{"refusal_precision": 8 / 12, "refusal_precision_of": [8, 12]},
        **{"refusal_recall": 0.8, "refusal_recall_of": [8, 10]},
        **{"answer_f1": 12 / 18, "answer_f1_of": [12, 18], "refusal_f1": 16 / 22, "refusal_f1_of": [16, 22]},
    }


def test_weighted_errors_are_exact() -> None:
    assert refusal_metrics(Confusion(0, 3, 0, 0), Fraction("0.1"))["weighted_error"] == 0.3
    assert repr(refusal_metrics(Confusion(0, 10, 1, 0), Fraction("0.1"))["weighted_error"]) == "2"


def test_a_gate_that_does_not_discriminate_is_flagged() -> None:
    flags = {}
    for counts in (Confusion(3, 2, 0, 0), Confusion(0, 0, 3, 2), Confusion(1, 0, 0, 1), Confusion(0, 0, 0, 0)):
        metrics = refusal_metrics(counts, WEIGHT)
        flags[counts] = (metrics["accepts_all"], metrics["refuses_all"])
    assert list(flags.values()) == [(True, False), (False, True), (False, False), (False, False)]
    assert refusal_metrics(Confusion(0, 0, 0, 0), WEIGHT)["answer_f1"] is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_agrees_with_scikit_learn(rows: list[tuple[bool, bool]]) -> None:
    answerable, accepted = [row[0] for row in rows], [row[1] for row in rows]
    ours = refusal_metrics(confusion(answerable, accepted), WEIGHT)
    for side, label in (("answer", True), ("refusal", False)):
        theirs = precision_recall_fscore_support(
            answerable, accepted, labels=[label], average=None, zero_division=float("nan")
        )
        for name, their in zip(("precision", "recall", "f1"), theirs[:3], strict=True):
            mine = ours[f"{side}_{name}"]
            assert (float("nan") if mine is None else mine) == pytest.approx(float(their[0]), nan_ok=True)


# Relevance and context


def test_relevant_is_what_holds_a_whole_alternative_or_is_the_image() -> None:
    twin = replace(IMAGE, id="images/2.png", path="images/2.png", twins=("images/1.png",))
    indexed = Indexed(ENTRIES | {"i1": replace(IMAGE, twins=("images/2.png",)), twin.id: twin})
    assert indexed.holders(make_label()) == (("c1", "c2"), ("c2", "f1"))
    assert indexed.holders(make_label(evidence=((Span("docs/a.md", 5, 17),),))) == ((),)
    assert indexed.holders(make_label(evidence=((Span("docs/b.md", 0, 10), Span("docs/a.md", 0, 3)),))) == (
        ("c1", "c3"),
    )
    assert INDEXED.holders(image_label()) == (("i1",),) and indexed.holders(image_label()) == (("i1", "images/2.png"),)
    assert indexed.holders(refusal_label("missing")) == ()


def test_a_group_is_visible_when_one_alternative_lies_whole_in_one_entry() -> None:
    assert visible_groups(make_label(), [FIRST]) == [True, False]
    assert visible_groups(make_label(), [FIRST, SECOND]) == [True, True]
    across = make_label(evidence=((Span("docs/a.md", 0, 30), Span("docs/b.md", 0, 5)),))
    assert visible_groups(across, [FIRST, SECOND]) == [False]
    assert visible_groups(across, [OTHER]) == [True]
    image = image_label()
    assert visible_groups(image, [FIRST, IMAGE]) == [True] and visible_groups(image, [FIRST]) == [False]


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [("abcd", "cdef", 2), ("abcd", "xcd", 0), ("aaa", "aaaa", 3), ("abab", "abac", 2), ("", "a", 0), ("ab", "b", 1)],
)
def test_overlap_is_the_longest_suffix_that_is_a_prefix(first: str, second: str, length: int) -> None:
    assert overlap(list(first), list(second)) == length


@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), max_size=12))
def test_overlap_agrees_with_trying_every_length(first: list[str], second: list[str]) -> None:
    shared = [n for n in range(min(len(first), len(second)) + 1) if first[len(first) - n :] == second[:n]]
    assert overlap(first, second) == max(shared)


def test_provenance_is_what_a_citation_needs() -> None:
    assert all(map(is_traceable, ENTRIES.values()))
    broken = [
        replace(FIRST, headings=()),
        replace(FIRST, start=None),
        replace(FIRST, sha256=""),
        replace(IMAGE, path=""),
    ]
    assert not any(map(is_traceable, broken))


def test_the_context_of_one_question_by_hand() -> None:
    counts = context_counts(make_record(("c2", "c3", "c1")).context, make_label(), ENTRIES)
    assert (counts.groups, counts.visible, counts.selected, counts.relevant, counts.traceable) == (2, 2, 3, 2, 3)
    assert (counts.tokens, counts.repeated) == (9, 2), "beta gamma ends c1 and begins c2; c3 is another file"
    assert (counts.used, counts.budget, counts.whole) == (50, 100, True)


def test_context_metrics_sum_up_questions() -> None:
    seen = context_counts(make_record(("c1", "c3")).context, make_label(), ENTRIES)
    unanswerable = context_counts(make_record(("c3",)).context, refusal_label("missing"), ENTRIES)
    cut = replace(unanswerable, used=9, whole=False)
    metrics = context_metrics([seen, cut], [True, False])
    assert metrics == {
        **{"recall": 0.5, "recall_of": [1, 2], "precision": 0.5, "precision_of": [1, 2], "precision_unit": "chunks"},
        **{"redundancy": 0.0, "redundancy_of": [0, 7]},
        **{"budget_utilization": 0.175, "budget_utilization_of": [35, 200]},
        **{"provenance_complete": 1.0, "provenance_complete_of": [3, 3], "truncated": 1, "n": 2},
    }


def test_a_context_that_was_cut_is_found_in_either_unit() -> None:
    honest = make_record(("c1", "c3")).context
    assert context_counts(honest, make_label(), ENTRIES).whole
    assert not context_counts(replace(honest, used=honest.used - 1), make_label(), ENTRIES).whole
    assert not context_counts(replace(honest, unit="tokens"), make_label(), ENTRIES).whole


# Answers


def test_an_image_is_right_when_it_is_the_expected_one() -> None:
    label = image_label()
    assert correct_if_accepted(make_record(image="images/1.png"), label, [])
    assert not correct_if_accepted(make_record(image="images/2.png"), label, [])
    assert not correct_if_accepted(make_record(image=None), replace(label, expected_image=None), [])


def test_a_field_is_right_character_by_character() -> None:
    label = make_label(category="field", expected_value="3 kg")
    assert correct_if_accepted(make_record(answer="3 kg"), label, [])
    assert not correct_if_accepted(make_record(answer="3 kg "), label, [])
    assert not correct_if_accepted(make_record(answer=None), replace(label, expected_value=None), [])


def test_a_passage_is_right_when_it_is_in_the_context_and_cited() -> None:
    assert correct_if_accepted(make_record(), make_label(), [FIRST, SECOND])
    assert not correct_if_accepted(make_record(), make_label(), [FIRST]), "delta is not in the context"
    short = (Citation("docs/a.md", "bb", 6, 16, "beta gamma"),)
    assert not correct_if_accepted(make_record(citations=short), make_label(), [FIRST, SECOND]), "delta is not cited"
    assert not correct_if_accepted(make_record(), make_label(evidence=()), [FIRST, SECOND])


def test_no_answer_is_right_for_an_unanswerable_question() -> None:
    assert not correct_if_accepted(make_record(image="images/1.png"), refusal_label("missing"), [])


def test_the_worked_example_of_thirty_of_thirty_nine() -> None:
    images = [make_outcome("image", True, heldout=n < 4) for n in range(24)]
    fields = [make_outcome("field", False) for _ in range(9)]
    refusals = [make_outcome("refusal", True, kind="conflict", refused=True, reason="conflict") for _ in range(6)]
    assert answer_counts([*images, *fields, *refusals]) == {
        **{"correct": 30, "total": 39, "heldout": {"correct": 4, "total": 4}},
        **{"image": {"correct": 24, "total": 24}, "field": {"correct": 0, "total": 9}},
        **{"passage": {"correct": 0, "total": 0}, "refusal": {"correct": 6, "total": 6}},
    }
    assert round(30 / 39, 4) == 0.7692


def test_a_refusal_is_right_whatever_its_reason_and_the_reason_is_counted_apart() -> None:
    asked = [
        make_outcome("refusal", True, kind="missing", refused=True, reason="no_such_subject"),
        make_outcome("refusal", True, kind="missing", refused=True, reason="below_threshold"),
        make_outcome("refusal", True, kind="conflict", refused=True, reason="conflict"),
        make_outcome("refusal", False, kind="conflict", refused=False),
        make_outcome("image", False, refused=True, reason="no_such_subject"),
    ]
    reasons = refusal_reasons(asked)
    assert (reasons["total"], reasons["refused"], reasons["reason_fits"]) == (4, 3, 2)
    assert reasons["by_kind"]["missing"] == {"total": 2, "refused": 2, "reason_fits": 1}
    assert reasons["by_kind"]["conflict"] == {"total": 2, "refused": 1, "reason_fits": 1}
    assert reasons["by_kind"]["injection"] == {"total": 0, "refused": 0, "reason_fits": 0}


def test_citations_are_counted_over_what_was_answered() -> None:
    asked = [
        make_outcome("field", True),
        make_outcome("field", True, verified=False),
        make_outcome("field", True, cited=False),
        make_outcome("field", True, refused=True),
    ]
    assert citation_counts(asked) == {"answered": 3, "with_citation": 2, "verified": 1}


# One system


def test_a_record_is_judged_without_any_threshold() -> None:
    row = judge(make_record(), make_label(contract=True), INDEXED, verified=True)
    assert (row.rank_before, row.rank_after, row.correct_if_accepted) == (2, 1, True)
    assert (row.id, row.contract, row.kind, row.answerable, row.signal, row.cited) == ("q", True, None, True, 0.5, True)
    assert outcome(row, ANSWERED).correct and not outcome(row, REFUSED).correct


def test_a_refusal_is_right_for_an_unanswerable_question() -> None:
    row = judge(make_record(), refusal_label("missing"), INDEXED, verified=True)
    assert (row.rank_before, row.rank_after, row.kind) == (None, None, "missing")
    assert outcome(row, REFUSED).correct and not outcome(row, ANSWERED).correct


def four_questions() -> tuple[list[Record], list[Decision], list[Label]]:
    """An answered passage, a refused image of the contract, a false accept and a right refusal."""
    records = [
        make_record(id="q1"),
        make_record(("i1",), id="q2", support=False, refusal="no_such_subject", citations=()),
        make_record(id="q3"),
        make_record(id="q4", support=False, refusal="conflict"),
    ]
    decisions = [ANSWERED, REFUSED, ANSWERED, Decision(0.4, True, "refused", "conflict")]
    image = image_label(id="q2", split="heldout", contract=True)
    labels = [make_label(id="q1"), image, refusal_label("partial", "q3"), refusal_label("conflict", "q4")]
    return records, decisions, labels


def test_the_metrics_of_one_system() -> None:
    records, decisions, labels = four_questions()
    metrics = aggregate(
        judge_all(records, labels[::-1], INDEXED, {f"q{n}": True for n in range(1, 5)}), decisions, WEIGHT
    )
    sides = {side: tuple(metrics[side][name] for name in Confusion._fields) for side in ("gate", "support", "decision")}
    assert sides == {"gate": (1, 2, 1, 0), "support": (1, 1, 1, 1), "decision": (1, 1, 1, 1)}
    assert (metrics["gate"]["weighted_error"], metrics["decision"]["weighted_error"]) == (5, 3)
    assert (metrics["answers"]["correct"], metrics["answers"]["total"]) == (2, 4)
    assert metrics["answers"]["reasons"]["by_kind"]["conflict"] == {"total": 1, "refused": 1, "reason_fits": 1}
    assert metrics["contract"]["heldout"] == metrics["contract"]["image"] == {"correct": 0, "total": 1}
    assert metrics["contract"]["retrieval"]["n"] == 1 and metrics["contract"]["retrieval"]["hit_at_5"] == 0.0
    assert metrics["retrieval"]["before_rerank"]["mrr_at_5_of"] == [0.5, 2]
    assert metrics["retrieval"]["after_rerank"]["mrr_at_5_of"] == [1, 2]
    assert metrics["context"]["recall_of"] == [3, 3] and metrics["context"]["n"] == 4
    assert metrics["citations"] == {"answered": 2, "with_citation": 2, "verified": 2}


def test_a_dataset_without_contract_or_questions_has_zeros_and_null_rates() -> None:
    metrics = aggregate([], [], WEIGHT)
    assert (metrics["contract"]["correct"], metrics["contract"]["total"]) == (0, 0)
    assert metrics["contract"]["retrieval"]["mrr_at_5"] is None and metrics["contract"]["retrieval"]["n"] == 0
    assert metrics["gate"]["answer_f1"] is None and metrics["gate"]["weighted_error"] == 0
    assert metrics["context"]["recall"] is None and metrics["context"]["truncated"] == 0


def test_judged_rows_survive_json_and_give_the_same_numbers() -> None:
    import msgspec

    records, decisions, labels = four_questions()
    judged = judge_all(records, labels, INDEXED, {f"q{n}": True for n in range(1, 5)})
    again = msgspec.json.decode(msgspec.json.encode(judged), type=list[Judged])
    assert again == judged and aggregate(again, decisions, WEIGHT) == aggregate(judged, decisions, WEIGHT)


def test_records_and_labels_are_joined_strictly_and_everything_is_listed() -> None:
    records = [make_record(id="q1"), make_record(id="q1"), make_record(id="q9")]
    labels = [make_label(id="q1"), make_label(id="q2"), make_label(id="q2"), refusal_label("missing", "q3")]
    nowhere = ((Span("docs/nowhere.md", 0, 4),),)
    labels += [make_label(id="q4", evidence=nowhere), make_label(id="q5", expected_image="images/none.png")]
    with pytest.raises(BadInputError) as caught:
        judge_all(records, labels, INDEXED, {"q1": True})
    assert str(caught.value).splitlines() == [
        "records: q1: stands there 2 times",
        "labels: q2: stands there 2 times",
        "records: q2: missing",
        "records: q3: missing",
        "records: q4: missing",
        "records: q5: missing",
        "labels: q9: missing",
        "verified: q9: missing",
        "labels: q4: no place docs/nowhere.md[0:4] in the corpus",
        "labels: q5: no image images/none.png in the corpus",
    ]


def test_a_label_that_contradicts_itself_is_told_everything() -> None:
    fields = make_label(id="q", evidence=(), expected_value=None, category="field")
    assert len(label_findings(fields)) == 2
    assert len(label_findings(refusal_label("odd", "q"))) == 1
    assert len(label_findings(replace(refusal_label("missing", "q"), unanswerable_reason=" "))) == 1
    assert len(label_findings(replace(refusal_label("missing", "q"), expected_image="images/a.png"))) == 1
    assert not label_findings(refusal_label("missing", "q"))


def test_a_record_of_another_index_is_refused() -> None:
    stranger = (Candidate("c8", 1.0), Candidate("c9", 1.0))
    with pytest.raises(BadInputError, match="q: not in the index: c8, c9"):
        judge(make_record(candidates=stranger), make_label(), INDEXED, verified=True)


def test_every_record_needs_its_decision() -> None:
    records, decisions, labels = four_questions()
    with pytest.raises(ValueError):
        aggregate(judge_all(records, labels, INDEXED, {f"q{n}": True for n in range(1, 5)}), decisions[1:], WEIGHT)
