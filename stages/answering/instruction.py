"""Text that tries to steer whoever reads it.

"Ignore the amber lamp" overrides nothing and "follow the instructions on the label" commands no machine: only cues of
two kinds in one sentence make an instruction. A question that asks to make something up needs no second cue. The cue
words are in the vocabulary file, section `instruction`.
"""

import re
from functools import lru_cache

from stages.corpus.terms import Vocabulary, all_terms

_SENTENCE = re.compile(r"[.!?](?:\s+|$)|[。！？]\s*|\n+")
_PAIRS = (
    ("override", "target"),
    ("machine", "command"),
    ("machine", "override"),
    ("machine", "target"),
    ("machine", "fabricate"),
)
_ALONE = "fabricate"


def _cues(sentence: str, cues: Vocabulary) -> set[str]:
    return {term.text.removeprefix("instruction/") for term in all_terms(sentence, cues)}


@lru_cache(maxsize=1 << 16)
def instructs(text: str, cues: Vocabulary) -> bool:
    """True when some sentence of `text` carries a pair of cues that only an instruction to the reader has."""
    found = [_cues(sentence, cues) for sentence in _SENTENCE.split(text)]
    return any(one.issuperset(pair) for one in found for pair in _PAIRS)


def question_instructs(text: str, cues: Vocabulary) -> bool:
    """True when a question gives orders to the system, or asks it to make something up."""
    return instructs(text, cues) or _ALONE in _cues(text, cues)
