"""What a setting changes for a process: in the folder where it runs, as JSON (tests/settings.py)."""

import hashlib
import json
import math
import os
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info


def ordinary() -> str:
    """Hash of arithmetic as everybody writes it: products in float32 and float64, sums, exp, log."""
    random = np.random.default_rng(0)
    one, other = random.standard_normal((2, 400, 400))
    single = one.astype(np.float32) @ other.astype(np.float32)
    elements = [np.exp(one), np.log(np.abs(one)), np.tanh(other)]
    scalars = [(math.exp(value), math.log(abs(value)), math.sin(value), abs(value) ** 0.3) for value in one.flat]
    results = [one @ other, single, np.linalg.norm(one, axis=1), *elements, np.array(scalars)]
    return hashlib.sha256(b"".join(part.tobytes() for part in results)).hexdigest()[:8]


def umask() -> int:
    """The umask, which can only be read by setting it."""
    before = os.umask(0)
    os.umask(before)
    return before


def main() -> None:
    folder = Path().absolute()
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
    seen = {
        "kernel": blas[0]["architecture"],
        "threads": blas[0]["num_threads"],
        "numpy": " ".join(name for name in ("X86_V2", "X86_V3", "X86_V4") if features.get(name)),
        "seed": os.environ.get("PYTHONHASHSEED", "random"),
        "zone": time.tzname[0],
        "encoding": sys.stdout.encoding,
        "umask": f"{umask():03o}",
        "user": os.getuid(),
        "folder": folder.name,
        "first": next((folder / "stages").iterdir()).name,
        "changed": time.strftime("%Y", time.gmtime((folder / "dvc.yaml").stat().st_mtime)),
        "ordinary": ordinary(),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
