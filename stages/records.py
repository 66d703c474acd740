"""The record types that carry everything between the rooms. All immutable; plain JSON on disk.

A path is relative to `corpus/` with forward slashes and is the id of that original. `start` and `end` count
Unicode characters of the file decoded as UTF-8, end exclusive.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeVar

T = TypeVar("T")

EntryKind = Literal["image", "chunk", "field"]
Category = Literal["image", "field", "passage", "refusal"]
Status = Literal["answered", "refused"]
TopKind = Literal["image", "text"]
TOP_KINDS: tuple[TopKind, ...] = ("image", "text")

CATEGORIES = ("image", "field", "passage", "refusal")
UNANSWERABLE_KINDS = ("missing", "hard_negative", "partial", "unknown_attribute", "conflict", "injection")
REASONS = (
    "no_candidate",
    "source_changed",
    "below_threshold",
    "instruction_in_source",
    "conflict",
    "unknown_attribute",
    "no_such_subject",
    "field_not_given",
    "partial",
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one original."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was: `size` in bytes, `sha256` over its bytes. An original's path is relative to the corpus."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """An original that cannot be used, and why."""

    path: str
    sha256: str
    size: int
    reason: str

    @property
    def file(self) -> File:
        """What it is, without the reason."""
        return File(self.path, self.sha256, self.size)


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a document shows an image: `words` are alt text and title, `headings` the heading path there."""

    path: str
    sha256: str
    start: int
    end: int
    words: str
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inscription:
    """What an image's own file says that it shows: the type of the chunk, its keyword, and the words on one line."""

    chunk: str
    keyword: str
    words: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What can be retrieved: an image, a chunk of a document, or one field of a document.

    text      image: its description in words; chunk: the source text of its span, verbatim; field: the field's name.
    headings  heading path from the document's title down; a table row's subject is its last element.
    start/end span in the original (a field: the whole line or row it stands in); None for an image.
    value     field only: the value verbatim, at value_start/value_end.
    chunk     field only: id of the chunk whose span holds the value.
    front_matter  field only: it stands in the front matter and is about the document as a whole.
    mentions  image only: where documents show it.
    inscriptions  image only: titles and descriptions in the file itself.
    twins     image only: other images with the same pixels, sorted; each is as right as this one.
    """

    id: str
    kind: EntryKind
    path: str
    sha256: str
    representation: str
    text: str
    headings: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None
    value: str | None = None
    value_start: int | None = None
    value_end: int | None = None
    chunk: str | None = None
    front_matter: bool = False
    mentions: tuple[Mention, ...] = ()
    inscriptions: tuple[Inscription, ...] = ()
    twins: tuple[str, ...] = ()


class Question(NamedTuple):
    """What the system may see of a question."""

    id: str
    text: str


class Candidate(NamedTuple):
    """One place in a rank list, best first; ties in score are ordered by id."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Citation:
    """A verifiable source: `quote` is what stands at start:end (None for an image, which is cited whole)."""

    path: str
    sha256: str
    start: int | None
    end: int | None
    quote: str | None


@dataclass(frozen=True, slots=True)
class Context:
    """What the answerer may see, in ranked order, as chunk ids. `used` and `budget` count `unit`."""

    selected: tuple[str, ...]
    dropped_budget: tuple[str, ...]
    dropped_duplicate: tuple[str, ...]
    unit: str
    used: int
    budget: int


@dataclass(frozen=True, slots=True)
class Record:
    """One question, seen by one system, before any threshold.

    rank_lists  by source (`lexical`, …): the lists that were fused; candidates is the pool before reranking,
                reranked the same pool after it.
    signal      on an absolute scale; None when there is no candidate. top: whether the best one is an image or text.
    support     True when the answer stands in an original that was read again; refusal is the reason otherwise.
    image/answer  what would be answered: an image path, or the verbatim value or passage.
    """

    id: str
    text: str
    rank_lists: dict[str, tuple[Candidate, ...]]
    candidates: tuple[Candidate, ...]
    reranked: tuple[Candidate, ...]
    top: TopKind | None
    signal: float | None
    support: bool
    refusal: str | None
    image: str | None
    answer: str | None
    citations: tuple[Citation, ...]
    context: Context


@dataclass(frozen=True, slots=True)
class Decision:
    """A record met by a frozen threshold: answered = gate and support; `reason` is the first of REASONS."""

    threshold: float | None
    gate: bool
    status: Status
    reason: str | None


@dataclass(frozen=True, slots=True)
class Label:
    """What is right. `evidence`: one alternative of every group is necessary."""

    id: str
    category: Category
    split: Literal["train", "heldout"] | None
    contract: bool
    expected_image: str | None
    expected_value: str | None
    evidence: tuple[tuple[Span, ...], ...]
    unanswerable_kind: str | None
    unanswerable_reason: str | None

    @property
    def answerable(self) -> bool:
        """True for a question that the frozen corpus answers."""
        return self.category != "refusal"


@dataclass(frozen=True, slots=True)
class Index:
    """`index.json`: what was indexed. `lexical` is the sha256 of lexical.npz.

    snapshot  hash of (path, sha256) of all originals, those that were rejected included.
    rejected  originals that were left out; rejected.json says why.
    """

    snapshot: str
    lexical: str
    originals: tuple[File, ...]
    rejected: tuple[File, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Caption:
    """What an image of the training set shows, in words."""

    image: str
    caption: str


@dataclass(frozen=True, slots=True)
class Vectors:
    """`vectors.json`: the encoder, and the sha256 of its checkpoint, of the index, and of both files of vectors."""

    model: str
    checkpoint: str
    dimension: int
    index: str
    vectors: str
    hnsw: str


@dataclass(frozen=True, slots=True)
class Scored:
    """Records of one system with the sha256 of what they were made from: the chain that a threshold is bound to.

    model, checkpoint, dimension, vectors  of the encoder and vectors.json; None for a system without one.
    """

    system: str
    model: str | None
    checkpoint: str | None
    dimension: int | None
    vectors: str | None
    snapshot: str
    index: str
    scoring: str
    questions: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """Holdout records met by a frozen threshold, named by its seal; one decision for each record, in order.

    system: hash of all params and sources that answered (`stages.calibration.ledger.system_hash`).
    """

    seal: str
    system: str
    scored: Scored
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A stage's part of the chain: what it ran on and what came out, paths relative to the project, in their order.

    command  how it was run.
    params  the sections of params.yaml that dvc.yaml hands to the stage; whole numbers written as such.
    read    everything it opened below the project, its sources among them.
    wrote   its outputs, this part left out.
    """

    stage: str
    command: tuple[str, ...]
    params: dict[str, object]
    read: tuple[File, ...]
    wrote: tuple[File, ...]


class Shown(Protocol):
    """What pure code is handed to tell how far it is, as `stages.stage.progress` does."""

    def __call__(self, items: Iterable[T], total: int | None, what: str) -> Iterable[T]:
        """Hand on `items`, `total` at most or nobody knows how many, whatever `what` says they are."""


def unseen(items: Iterable[T], total: int | None, what: str) -> Iterable[T]:
    """Tell nobody."""
    return items
