"""How long a text is: a deterministic approximation of tokens that needs no model."""

import re

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
TOKEN = re.compile(rf"[{CJK}]|[^\W{CJK}]+|[^\w\s]")


def tokens(text: str) -> list[str]:
    """The tokens of `text` in order: a Latin word or number, one CJK character, or one other non-space character."""
    return TOKEN.findall(text)


def count_tokens(text: str) -> int:
    """Number of tokens of `text`; additive over parts that do not cut a word."""
    return sum(1 for _ in TOKEN.finditer(text))
