"""Identity: bytes by sha256, values by the sha256 of their canonical JSON."""

import hashlib
from typing import Any

import msgspec


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: object) -> bytes:
    """One line: sorted keys, no spaces, UTF-8. Equal values give equal bytes; this is what hashes and seals cover."""
    return msgspec.json.encode(value, order="sorted")


def hash_of(value: object) -> str:
    """Sha256 of the canonical JSON of `value`."""
    return sha256(canonical_json(value))


def plain_numbers(value: Any) -> Any:
    """JSON-like `value` with whole floats as integers: 2 and 2.0 are one parameter and give the same bytes."""
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
