"""A run's own files as one archive, with their manifest: runs/<id>/bundle.tar.zst."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbsite.store.files import Stored

LEVEL = 10
"""Of zstd: a tenth larger than the smallest, in a tenth of the time."""


def same(made: bytes, found: bytes) -> bool:
    """Whether a file holds what a bundle of ours holds and no more, whichever zstd packed it."""
    from zstandard import ZstdDecompressor, ZstdError

    from kbsite.store.zipped import WINDOW

    held = memoryview(ZstdDecompressor().decompressobj().decompress(made))
    unpacking = ZstdDecompressor(max_window_size=WINDOW).decompressobj()
    try:
        for at in range(0, len(found), _PIECE):
            got = unpacking.decompress(found[at : at + _PIECE])
            if held[: len(got)] != got:
                return False
            held = held[len(got) :]
    except (ZstdError, EOFError):
        return False
    return unpacking.eof and not unpacking.unused_data and not held


_PIECE = 1 << 10


def bundle(name: str, files: Sequence[Stored]) -> bytes:
    """The files below a folder of this name; the same bytes for the same files, whatever their age.

    OSError where a file cannot be read.
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
