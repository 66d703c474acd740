"""The system broken on purpose in every way that has a name, and the attribution names exactly that one."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.answering.answer import Answerer
from stages.answering.context import build_context
from stages.calibration.gate import settle
from stages.corpus.index import index_originals
from stages.hashing import sha256
from stages.measures.attribution import cause
from stages.measures.evaluate import aggregate, judge, judge_all
from stages.measures.evidence import CAUSES, DETAILS, Cause, CauseName, cause_text
from stages.measures.rate import number
from stages.measures.relevance import Holders, Indexed
from stages.params import ContextParams
from stages.records import (
    REASONS,
    UNANSWERABLE_KINDS,
    Candidate,
    Category,
    Citation,
    Entry,
    File,
    Label,
    Question,
    Record,
    Span,
)
from stages.retrieval.neighbours import Neighbours, Vectors
from tests.test_answering import CHUNKING, FILES, SECTIONS, make_answerer

STUFFED = b"# Handling\n\nWeight of the Corvo 300, weight, weight, Corvo 300: lift it with care.\n"
PLENTY = FILES | {"docs/z.md": STUFFED}
WEIGHT = "What is the weight of the Corvo 300?"
WIPE = "how do I wipe the lens with a soft cloth"
WIPED = "Wipe the lens with a soft cloth."


def span(data: dict[str, bytes], path: str, text: str) -> Span:
    start = data[path].decode().index(text)
    return Span(path, start, start + len(text))


def field_label(path: str, value: str, data: dict[str, bytes] = FILES) -> Label:
    return Label("q", "field", None, False, None, value, ((span(data, path, value),),), None, None)


def passage_label(path: str, *texts: str, data: dict[str, bytes] = FILES) -> Label:
    groups = tuple((span(data, path, text),) for text in texts)
    return Label("q", "passage", None, False, None, None, groups, None, None)


def refusal(kind: str) -> Label:
    return Label("q", "refusal", None, False, None, None, (), kind, "Not there.")


THREE_KG = field_label("docs/a.md", "3 kg")
SOFT_CLOTH = passage_label("docs/a.md", WIPED)


def why(
    answerer: Answerer,
    question: str,
    label: Label,
    *,
    system: str = "lexical",
    threshold: float | None = 0.3,
    rejected: Iterable[str] = (),
) -> Cause | None:
    record = answerer.answer(Question("q", question), system)
    row = judge(record, label, Indexed(answerer.library.entries, frozenset(rejected)), verified=True)
    return cause(row, settle(row, threshold))


def without(word: str, section: str) -> dict[str, dict[str, dict[str, list[str]]]]:
    """The vocabulary without a word."""
    sections = deepcopy({name: dict(words) for name, words in SECTIONS.items()})
    for phrases in sections[section].values():
        phrases["en"] = [phrase for phrase in phrases.get("en", []) if phrase != word]
    return sections


def constant(text: str) -> Vectors:
    """The one vector that every question has."""
    return np.array([127, 0], dtype=np.int8)


def nearest_to(answerer: Answerer, name: str) -> Answerer:
    """The same with vectors: one entry lies at every question, all others at right angles to it."""
    ids = answerer.library.ids
    vectors = np.array([[127, 0] if one == name else [0, 127] for one in ids], dtype=np.int8)
    rows = {one: row for row, one in enumerate(ids)}
    found = Neighbours(ids, rows, vectors, constant, lambda vector, k: np.arange(len(ids)))
    return replace(answerer, neighbours=found)


ANSWERER = make_answerer(PLENTY)
BEAM, TWELVE = "corvo 300 beam", field_label("docs/a.md", "12 degrees")
DISC, BLUE = "big azure disc", Label("q", "image", None, False, "images/2.png", None, (), None, None)
DRY, HEAVY = "how do I wipe the lens with a soft dry cloth", passage_label("docs/z.md", "lift it", data=PLENTY)
COPIED = FILES | {"docs/0.md": FILES["docs/a.md"].replace(b"Corvo 300 lamp", b"Corvo 200 lamp")}
PROSE = FILES | {"docs/a.md": FILES["docs/a.md"].replace(b"- Weight: 3 kg", b"The weight is 3 kg.")}
AZURE = without("azure", "colour")


def retrieving(answerer: Answerer = ANSWERER, **changes: object) -> Answerer:
    return replace(answerer, retrieval=replace(answerer.retrieval, **changes))  # type: ignore[arg-type]


def supporting(**changes: float) -> Answerer:
    return replace(ANSWERER, support=replace(ANSWERER.support, **changes))


def reading(change: Callable[[bytes], bytes]) -> Answerer:
    return replace(ANSWERER, read=lambda path: change(PLENTY[path]))


@pytest.mark.parametrize(
    ("question", "label"),
    [(WEIGHT, THREE_KG), (WIPE, SOFT_CLOTH), (BEAM, TWELVE), (DISC, BLUE), (DRY, SOFT_CLOTH)],
)
def test_what_is_right_has_no_cause(question: str, label: Label) -> None:
    assert why(ANSWERER, question, label) is None


@pytest.mark.parametrize(
    ("broken", "question", "label", "found"),
    [
        (make_answerer(FILES, chunking=replace(CHUNKING, chunk_tokens=4, chunk_overlap=0)), WIPE, SOFT_CLOTH,
         Cause("not_indexed", "no_entry")),
        (make_answerer(PROSE), WEIGHT, field_label("docs/a.md", "3 kg", PROSE), Cause("field_not_parsed")),
        (retrieving(pool=1), WEIGHT, THREE_KG, Cause("not_in_candidates", "lexical")),
        (retrieving(top_k=1, rerank=False), WEIGHT, THREE_KG, Cause("below_top_k", "candidates", 1)),
        (retrieving(top_k=1), WEIGHT, HEAVY, Cause("below_top_k", "reranker", 1)),
        (replace(ANSWERER, context=ContextParams("tokens", 1)), WIPE, SOFT_CLOTH, Cause("not_in_context", "budget")),
        (make_answerer(COPIED), WIPE, passage_label("docs/0.md", WIPED, data=COPIED),
         Cause("not_in_context", "duplicate")),
        (retrieving(rerank=False), WEIGHT, THREE_KG, Cause("wrong_candidate", "answered")),
        (reading(lambda data: data + b"\n"), WEIGHT, THREE_KG, Cause("source_changed")),
        (reading(lambda data: data + b"\n"), DISC, BLUE, Cause("source_changed")),
        (make_answerer(FILES, AZURE), DISC, BLUE, Cause("asked_not_parsed", "attribute")),
        (supporting(field_name=1.0), BEAM, TWELVE, Cause("asked_not_parsed", "field")),
        (supporting(passage_coverage=1.0), DRY, SOFT_CLOTH, Cause("support_refused", "unknown_attribute")),
    ],
)  # fmt: skip
def test_what_is_broken_is_named(broken: Answerer, question: str, label: Label, found: Cause) -> None:
    assert why(broken, question, label) == found


def test_an_original_that_was_rejected_is_named() -> None:
    unreadable = FILES | {"docs/a.md": b"\xff\xfe\x00"}
    read = [(File(path, sha256(data), len(data)), data) for path, data in unreadable.items()]
    rejected = [one.path for one in index_originals(read, SECTIONS, CHUNKING).rejected]
    answerer = make_answerer(unreadable)
    assert why(answerer, WEIGHT, THREE_KG, rejected=rejected) == Cause("not_indexed", "rejected")
    record, indexed = answerer.answer(Question("q", WEIGHT), "lexical"), Indexed(answerer.library.entries, rejected)
    (row,) = judge_all([record], [THREE_KG], indexed, {"q": True})
    assert row.lost == Cause("not_indexed", "rejected"), "the label is right, the corpus is broken"


@pytest.mark.parametrize(
    ("system", "near", "found"),
    [
        ("neural", "docs/b.md#f0001", Cause("not_in_candidates", "neural")),
        ("hybrid", "docs/b.md#f0001", Cause("not_in_candidates", "lexical+neural")),
        ("hybrid", "docs/a.md#c0002", Cause("not_in_candidates", "fusion")),
    ],
)
def test_the_list_that_lost_it_is_named(system: str, near: str, found: Cause) -> None:
    answerer = retrieving(
        nearest_to(make_answerer(PLENTY if found.detail == "lexical+neural" else FILES), near), pool=1
    )
    assert why(answerer, WEIGHT, THREE_KG, system=system) == found


def test_the_gate_says_by_how_much() -> None:
    assert why(ANSWERER, WEIGHT, THREE_KG, threshold=1.25) == Cause("gate_refused", None, 0.25)
    assert why(ANSWERER, WEIGHT, THREE_KG, threshold=None) == Cause("gate_refused", "refuse_all")
    assert cause_text(Cause("gate_refused", None, 0.25)) == "gate_refused (short by 0.25)"


def test_what_had_to_be_refused_is_named_by_its_kind() -> None:
    gone = make_answerer({path: data for path, data in FILES.items() if path != "docs/c.md"})
    assert why(gone, "seal interval of the Corvo 300", refusal("conflict")) == Cause(
        "answered_unanswerable", "conflict"
    )
    trusting = make_answerer(FILES, SECTIONS | {"instruction": {}})
    asked = "is the Corvo 300 fireproof"
    assert why(trusting, asked, refusal("injection")) == Cause("answered_unanswerable", "injection")
    assert why(ANSWERER, asked, refusal("injection")) is None


# Random records

IMAGE = Entry("i1", "image", "images/1.png", "aa", "v1", "red circle")
FIRST = Entry("c1", "chunk", "docs/a.md", "bb", "v1", "alpha beta gamma", ("A",), 0, 16)
SECOND = Entry("c2", "chunk", "docs/a.md", "bb", "v1", "beta gamma delta epsilon", ("A",), 6, 30)
COPY = Entry("c3", "chunk", "docs/b.md", "cc", "v1", "alpha beta gamma", ("B",), 0, 16)
FIELD = Entry("f1", "field", "docs/a.md", "bb", "v1", "name", ("A",), 11, 22, "gamma", 11, 16, "c2")
ENTRIES = {entry.id: entry for entry in (IMAGE, FIRST, SECOND, COPY, FIELD)}
INDEXED = Indexed(ENTRIES, frozenset({"docs/bad.md", "images/bad.png"}))
SPANS = [Span("docs/a.md", 6, 16), Span("docs/a.md", 17, 22), Span("docs/a.md", 0, 30), Span("docs/b.md", 0, 5)]
SPANS += [Span("docs/a.md", 11, 16), Span("docs/bad.md", 0, 4)]
SYSTEMS = (("lexical",), ("neural",), ("lexical", "neural"))
GROUP = st.lists(st.sampled_from(SPANS), min_size=1, max_size=2).map(tuple)
GROUPS = st.lists(GROUP, min_size=1, max_size=2).map(tuple)
CATEGORIES: tuple[Category, ...] = get_args(Category)


@st.composite
def ranked(draw: st.DrawFn) -> tuple[Candidate, ...]:
    ids = draw(st.permutations(sorted(ENTRIES)))[: draw(st.integers(0, len(ENTRIES)))]
    return tuple(Candidate(name, float(-place)) for place, name in enumerate(ids))


@st.composite
def labels(draw: st.DrawFn) -> Label:
    category = draw(st.sampled_from(CATEGORIES))
    if category == "refusal":
        return refusal(draw(st.sampled_from(UNANSWERABLE_KINDS)))
    if category == "image":
        return replace(BLUE, expected_image=draw(st.sampled_from(["images/1.png", "images/bad.png"])))
    value = draw(st.sampled_from(["gamma", "beta"])) if category == "field" else None
    return Label("q", category, None, False, None, value, draw(GROUPS), None, None)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record that the files could hold, likely or not."""
    pool = draw(ranked())
    reranked = tuple(draw(st.permutations(pool)))
    k = draw(st.integers(1, 6))
    support = draw(st.booleans())
    signal = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) if pool else None
    image = draw(st.sampled_from(["images/1.png", None])) if pool else None
    places = draw(st.lists(st.sampled_from([FIRST, SECOND, COPY]), max_size=2))
    return Record(
        id="q",
        text="beta?",
        rank_lists={name: draw(ranked()) for name in draw(st.sampled_from(SYSTEMS))},
        candidates=pool,
        reranked=reranked,
        top=None if signal is None else "image" if image else "text",
        signal=signal,
        support=support,
        refusal=None if support else draw(st.sampled_from(REASONS)),
        image=image,
        answer=draw(st.sampled_from(["gamma", "delta", None])),
        citations=tuple(Citation(one.path, one.sha256, one.start, one.end, one.text) for one in places),
        context=build_context(reranked[:k], ENTRIES, ContextParams("tokens", draw(st.sampled_from([1, 3, 5, 100])))),
    )


ASKED = st.lists(st.tuples(records(), labels(), st.sampled_from([0.25, 0.75, None])), max_size=12)


@given(ASKED, st.sampled_from([Fraction(2), Fraction("0.3"), Fraction(1, 3), Fraction(5)]))
def test_the_causes_sum_to_the_wrong_decisions_and_to_their_weighted_error(
    asked: list[tuple[Record, Label, float | None]], weight: Fraction
) -> None:
    judged = [judge(record, label, INDEXED, verified=True) for record, label, _ in asked]
    decisions = [settle(record, threshold) for record, _, threshold in asked]
    figures = aggregate(judged, decisions, weight)
    causes = figures["causes"].values()
    answers, decision = figures["answers"], figures["decision"]
    assert sum(one["questions"] for one in causes) == answers["total"] - answers["correct"]
    assert figures["causes"]["answered_unanswerable"]["questions"] == decision["fp"]
    refused = [one["weighted_error"] for name, one in figures["causes"].items() if name != "answered_unanswerable"]
    assert sum(refused) == decision["fn"]
    assert figures["causes"]["answered_unanswerable"]["weighted_error"] == number(weight * decision["fp"])
    assert number(sum(refused) + weight * decision["fp"]) == decision["weighted_error"]
    assert all(sum(one["details"].values()) <= one["questions"] for one in causes)


@given(records(), labels(), st.sampled_from([0.25, 0.75, None]))
def test_a_cause_is_the_first_step_that_the_evidence_did_not_pass(
    record: Record, label: Label, threshold: float | None
) -> None:
    row, decision = judge(record, label, INDEXED, verified=True), settle(record, threshold)
    found = cause(row, decision)
    right = row.correct_if_accepted if decision.status == "answered" else not label.answerable
    assert (found is None) == right
    if found is None or not label.answerable:
        return
    context, held = record.context, [ENTRIES[name] for group in row.holders for name in group]
    went_on = len(context.selected) + len(context.dropped_budget) + len(context.dropped_duplicate)
    passed = {
        "not_indexed": passes(label, ENTRIES),
        "field_not_parsed": label.category != "field" or label.expected_value in [one.value for one in held],
        "not_in_candidates": passes(label, [*context.selected, *(one.id for one in record.candidates)]),
        "below_top_k": passes(label, [*context.selected, *(one.id for one in record.reranked[:went_on])]),
        "not_in_context": passes(label, context.selected),
    }
    first = next((name for name, there in passed.items() if not there), None)
    later = ("asked_not_parsed", "support_refused", "gate_refused", "source_changed")
    if row.correct_if_accepted:
        assert found.name in later and (found.name == "gate_refused") == record.support
    elif first:
        assert found.name == first
        assert first != "not_in_candidates" or (found.detail == "fusion") == fused(record, row.holders)
        assert first != "below_top_k" or (found.detail, found.short) == fallen(record, row.holders, went_on)
    else:
        assert found.name in ("wrong_candidate", "source_changed")


def made(pool: str, reranked: str, k: int, **lists: str) -> Record:
    """A record over entries of the random ones, all of its ranks as words."""

    def candidates(words: str) -> tuple[Candidate, ...]:
        return tuple(Candidate(name, float(-place)) for place, name in enumerate(words.split()))

    ranked = candidates(reranked)
    context = build_context(ranked[:k], ENTRIES, ContextParams("tokens", 100))
    lists_of = {name: candidates(words) for name, words in lists.items()}
    return Record("q", "?", lists_of, candidates(pool), ranked, "text", 0.5, False, "partial", None, "x", (), context)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (made("i1", "i1", 1, lexical="c1", neural="c2 i1"), Cause("not_in_candidates", "fusion")),
        (made("i1", "i1", 1, lexical="c1", neural="i1"), Cause("not_in_candidates", "lexical+neural")),
        (made("c1 i1 c2", "i1 c1 c2", 1, lexical=""), Cause("below_top_k", "candidates", 2)),
        (made("c2 c1 i1", "i1 c2 c1", 1, lexical=""), Cause("below_top_k", "candidates", 2)),
        (made("c2 c1 i1", "i1 c2 c1", 2, lexical=""), Cause("below_top_k", "reranker", 1)),
    ],
)
def test_of_two_groups_the_one_that_was_lost_earlier_counts(record: Record, found: Cause) -> None:
    """The first chunk alone holds the first group, the second chunk alone the other."""
    both = Label("q", "passage", None, False, None, None, ((Span("docs/a.md", 0, 5),), (SPANS[1],)), None, None)
    assert judge(record, both, INDEXED, verified=True).lost == found


def test_what_a_field_brought_into_the_context_is_not_lost() -> None:
    """The chunk stands below k, or is no candidate; its field went on, and the context shows the whole chunk."""
    label = Label("q", "passage", None, False, None, None, ((Span("docs/a.md", 23, 30),),), None, None)
    for record in (made("f1 i1 c2", "f1 i1 c2", 1, lexical=""), made("f1", "f1", 1, lexical="f1")):
        assert judge(record, label, INDEXED, verified=True).lost == Cause("wrong_candidate")


def fused(record: Record, holders: Holders) -> bool:
    """Every group that pool and context lack stands in a list."""
    pool = {one.id for one in record.candidates} | set(record.context.selected)
    listed = {one.id for ranking in record.rank_lists.values() for one in ranking}
    return all(listed & set(group) for group in holders if not pool & set(group))


def fallen(record: Record, holders: Holders, k: int) -> tuple[str, int]:
    """Whether the reranker alone pushed the groups below k, and how far the lowest lies."""
    before, after = [one.id for one in record.candidates], [one.id for one in record.reranked]
    gone = [group for group in holders if not {*after[:k], *record.context.selected} & set(group)]
    reranker = all(set(before[:k]) & set(group) for group in gone)
    places = [min(after.index(name) for name in group if name in after) for group in gone]
    return "reranker" if reranker else "candidates", max(places) + 1 - k


def passes(label: Label, names: Iterable[str]) -> bool:
    """Every necessary group lies whole in one of these entries, looked for one by one."""
    there = [ENTRIES[name] for name in names]
    if label.expected_image:
        return any(one.path == label.expected_image for one in there)
    return all(
        any(
            one.path == place.path and one.start is not None and one.end is not None
            and one.start <= place.start and place.end <= one.end
            for one in there
            for place in group
        )
        for group in label.evidence
    )  # fmt: skip


def test_the_vocabulary_is_closed_and_in_order() -> None:
    assert get_args(CauseName) == tuple(CAUSES)
    assert DETAILS.keys() <= CAUSES.keys()
