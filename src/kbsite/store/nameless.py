"""Files without a name, for what memory has no room for."""

from __future__ import annotations

import os
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

_ON_DISK = "/var/tmp"  # noqa: S108 - nobody else finds a file there that has no name
"""Where large files of little use lie; what lies in /tmp is in memory on many systems."""


def nameless() -> IO[bytes]:
    """A file that is gone when it is closed; OSError where there is no room for one.

    It lies in the folder that TMPDIR names, or on the disk.
    """
    if "TMPDIR" not in os.environ:
        with suppress(OSError):
            return TemporaryFile(dir=_ON_DISK)
    return TemporaryFile()
