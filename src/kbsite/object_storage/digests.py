"""What the files of a site hold, without reading again those that did not change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kbsite.errors import MachineError
from kbsite.store.files import Stored
from kbsite.store.writing import write_bytes


@dataclass(frozen=True, slots=True)
class Digests:
    """A file as it was read."""

    size: int
    changed: int
    """When it was last written, nanoseconds since 1970."""
    sha256: str
    md5: str
    """What buckets call a file by; proves nothing, and is not used to."""


def digests(files: Iterable[Stored], record: Path) -> dict[str, Digests]:
    """The digests of files by name, those of `record` where size and time are the same.

    MachineError where one cannot be read. The record is written anew if it is another one then.
    """
    try:
        known = msgspec.json.decode(record.read_bytes(), type=dict[str, Digests])
    except (OSError, msgspec.DecodeError):
        # Nothing is lost without it: all files are read.
        known = {}
    held = {file.name: _digests(file, known.get(file.name)) for file in files}
    if held != known:
        write_bytes(record, msgspec.json.encode(held))
    return held


def _digests(file: Stored, known: Digests | None) -> Digests:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    try:
        status = file.path.stat()
        if known and (known.size, known.changed) == (status.st_size, status.st_mtime_ns):
            return known
        with file.path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                sha256.update(piece)
                md5.update(piece)
    except OSError as error:
        message = f"cannot be read any more: {error.strerror}; publish the site again"
        raise MachineError(f"{file.at}: {message}") from error
    return Digests(status.st_size, status.st_mtime_ns, sha256.hexdigest(), md5.hexdigest())
