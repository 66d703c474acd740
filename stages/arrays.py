"""Numeric stores on disk: numpy arrays as .npz, an HNSW index. Read only where the bytes are the expected ones.

Nothing is unpickled, nothing is decompressed, and no size is taken on trust.
"""

import errno
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from stages.atomic import replaced
from stages.errors import BadInputError
from stages.files import hash_file, read_bytes, write_bytes
from stages.hashing import sha256
from stages.params import NeighboursParams
from stages.retrieval.hnsw import hnsw_finding

Propose = Callable[[Any, int], Any]
"""From (vector, k) to about k near rows, in any order."""

ENCRYPTED = 1
UNIX = 3
NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(\|[iu]1|<[if]8)', 'fortran_order': False, "
    rb"'shape': \((\d{1,12}),(?: (\d{1,12}))?\), \} *\n",
    re.DOTALL,
)


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> str:
    """Write numpy arrays as .npz, without pickle, the same bytes whenever and wherever; returns the file's sha256."""
    import numpy as np

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            # np.savez leaves parts of the header to zipfile, which fills them in otherwise from one Python to the next
            member, data = zipfile.ZipInfo(f"{name}.npy"), io.BytesIO()
            member.create_system = UNIX
            np.lib.format.write_array(data, np.asarray(array), allow_pickle=False)
            archive.writestr(member, data.getvalue())
    write_bytes(path, stream.getvalue())
    return sha256(stream.getvalue())


def read_arrays(path: str | Path, expected: str) -> dict[str, Any]:
    """Read an .npz that `write_arrays` wrote, arrays read-only; BadInputError when its sha256 is not the expected one.

    Takes what numpy writes of our kinds of numbers and nothing else: no compression, no objects, no size without the
    bytes. So nothing is executed, and the arrays are no larger than the file.
    """
    data = read_bytes(path)
    if sha256(data) != expected:
        raise BadInputError(f"{path}: sha256 {sha256(data)}, expected {expected}; run `dvc repro -f --no-run-cache`")
    try:
        return {name.removesuffix(".npy"): _array(name, member) for name, member in _members(data)}
    except (BadInputError, zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
        raise BadInputError(f"{path}: no .npz of this project ({error}); run `dvc repro -f --no-run-cache`") from error


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = archive.infolist()
        if sum(one.file_size for one in found) > len(data) or len({one.filename for one in found}) < len(found):
            raise BadInputError("members that are larger than the file, or stand there twice")
        for one in found:
            if one.compress_type != zipfile.ZIP_STORED or one.flag_bits & ENCRYPTED:
                raise BadInputError(f"{one.filename}: compressed or encrypted")
            yield one.filename, archive.read(one)


def _array(name: str, data: bytes) -> Any:
    """The array in a .npy file; its header is matched as numpy writes it, not evaluated."""
    import numpy as np

    head = NPY.match(data)
    if head is None:
        raise BadInputError(f"{name}: no array of whole or floating numbers as numpy writes it")
    kind, shape = np.dtype(head[1].decode()), tuple(int(length) for length in head.groups()[1:] if length)
    if len(data) - head.end() != kind.itemsize * prod(shape):
        raise BadInputError(f"{name}: {len(data) - head.end()} bytes for {kind} of shape {shape}")
    return np.frombuffer(data, kind, offset=head.end()).reshape(shape)


def write_hnsw(path: str | Path, vectors: Any, settings: NeighboursParams) -> str:
    """Build an HNSW index by inner product in one thread with a seed, and write it; returns the file's sha256."""
    index = _hnsw(vectors, settings)
    with replaced(path) as temporary:
        index.save_index(str(temporary))
        # the library takes no notice of a disk that is full
        if temporary.stat().st_size != index.index_file_size():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return hash_file(path)


def make_hnsw(vectors: Any, settings: NeighboursParams) -> Propose:
    """The index that `write_hnsw` would write, without a file."""
    return _proposer(_hnsw(vectors, settings), settings.ef_search, "an HNSW index over changed vectors")


def _hnsw(vectors: Any, settings: NeighboursParams) -> Any:
    import hnswlib
    import numpy as np

    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(len(vectors), M=settings.m, ef_construction=settings.ef_construction, random_seed=settings.seed)
    index.add_items(vectors.astype(np.float32), np.arange(len(vectors)), num_threads=1)
    return index


def read_hnsw(path: str | Path, expected: str, vectors: Any, ef: int) -> Propose:
    """Load an index that `write_hnsw` wrote.

    BadInputError when the file's sha256 is not the expected one, or it is no index over these vectors: the library
    would trust any bytes.
    """
    import hnswlib
    import numpy as np

    data = read_bytes(path)
    if sha256(data) != expected:
        raise BadInputError(f"{path}: not the index that vectors.json names; run `dvc repro embed_corpus`")
    if found := hnsw_finding(data, vectors.astype(np.float32)):
        raise BadInputError(f"{path}: {found}; run `dvc repro -f --no-run-cache embed_corpus`")
    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.load_index(str(path))
    return _proposer(index, ef, str(path))


def _proposer(index: Any, ef: int, name: str) -> Propose:
    import numpy as np

    def propose(vector: Any, k: int) -> Any:
        index.set_ef(max(ef, k))
        try:
            return index.knn_query(vector.astype(np.float32), k=k, num_threads=1)[0][0].astype(np.int64)
        except RuntimeError as error:  # fewer than k can be reached
            raise BadInputError(f"{name}: {error}; run `dvc repro -f --no-run-cache embed_corpus`") from error

    return propose
