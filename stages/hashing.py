"""Identity: bytes by sha256, values by the sha256 of their canonical JSON."""

import hashlib

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
