"""Text that tries to steer whoever reads it: a sentence that speaks to a machine or overrides rules, and commands.

"Ignore the amber lamp" overrides nothing and "follow the instructions on the label" commands no machine: only cues of
two kinds in one sentence make an instruction. The cue words are in the vocabulary file, section `instruction`.
"""

import re

from stages.corpus.terms import Vocabulary, all_terms

_SENTENCE = re.compile(r"[.!?。！？\n]+\s*|[;；]\s*")
_PAIRS = (("override", "target"), ("machine", "command"), ("machine", "override"), ("machine", "target"))


def instructs(text: str, cues: Vocabulary) -> bool:
    """True when some sentence of `text` carries a pair of cues that only an instruction to the reader has."""
    for sentence in _SENTENCE.split(text):
        found = {term.text.removeprefix("instruction/") for term in all_terms(sentence, cues)}
        if any(found.issuperset(pair) for pair in _PAIRS):
            return True
    return False
