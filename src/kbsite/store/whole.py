"""Files written so that nobody ever sees half of one; standard library only, as bench needs it."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path


def write_bytes(path: Path, data: bytes, *, lasting: bool = False, fleeting: bool = False) -> None:
    """Write a file whole: beside its place first, then moved there.

    One that is `lasting` survives a power cut, which takes a while: what nobody can make anew. One
    that is `fleeting` may be gone where this process is killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
        if fleeting:
            # What takes the place of another file is brought to the disk at once, by ext4 at least.
            path.unlink(missing_ok=True)
        partial.replace(path)
    except BaseException as error:
        # Nobody knows the other name, and who reads an error looks for this one.
        if isinstance(error, OSError) and error.filename in (None, str(partial)):
            error.filename = str(path)
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _partial(path: Path) -> Path:
    # Of one length for every name, and no name that a file of the folder could have itself.
    short = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(f".{short}.partial")


_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")


def is_left_over(path: Path) -> bool:
    """Whether a file is what a process left that was killed while it wrote another one."""
    return _PARTIAL.fullmatch(path.name) is not None
