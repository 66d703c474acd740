"""What a stage ran on: never hashed and not in git; what to compare first when another machine has other bytes."""

import platform
import re
from importlib import metadata

NAME = re.compile(r"[\w.-]+")


def environment() -> dict[str, object]:
    """Versions of Python, of the system and of our dependencies."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "packages": dict(sorted(_packages())),
    }


def _packages() -> list[tuple[str, str]]:
    """Name and version of every dependency that is installed; none where the project itself is not."""
    try:
        required = metadata.requires("frostline") or []
    except metadata.PackageNotFoundError:
        return []
    names = [found[0] for text in required if ";" not in text and (found := NAME.match(text))]
    return [(name, metadata.version(name)) for name in names]
