"""A run's own files as one archive, with their manifest: runs/<id>/bundle.tar.zst."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbsite.store.files import Stored

EXTRA = "kbsite[bundles]"
LEVEL = 10
"""Of zstd: a tenth larger than the smallest, in a tenth of the time."""


def available() -> bool:
    """Whether what compresses the archive is installed."""
    return find_spec("zstandard") is not None


def bundle(name: str, files: Sequence[Stored]) -> bytes:
    """The files below a folder of this name; the same bytes for the same files, whatever their age.

    ImportError where the extra is not installed; OSError where a file cannot be read.
    """
    import tarfile

    from zstandard import ZstdCompressor

    out = io.BytesIO()
    packing = ZstdCompressor(level=LEVEL).stream_writer(out, closefd=False)
    with packing, tarfile.open(fileobj=packing, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for file in files:
            # As long as it is read: whoever still writes a run must not break an archive.
            data = file.read()
            entry = tarfile.TarInfo(f"{name}/{file.name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()
