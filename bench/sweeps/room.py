"""Room on the disk of a board: without it nothing is started, and with it a sweep goes on."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path

LEAST_BYTES = 1 << 30
"""So much has to be free before anything is started: what runs already needs it."""

_NOTHING_BYTES = 4 << 20
_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)


def free(board: Path) -> int:
    """Bytes that are free where a board's folder lies."""
    return shutil.disk_usage(board).free


def is_of_room(error: OSError | sqlite3.Error, board: Path) -> bool:
    """Whether something could not be written because a disk is full, and could be later."""
    if isinstance(error, OSError):
        return error.errno in _OF_ROOM
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # SQLite has no word of its own for all that fails on a full disk.
    return code == sqlite3.SQLITE_FULL or (
        code == sqlite3.SQLITE_IOERR and free(board) < _NOTHING_BYTES
    )


def short(board: Path) -> str:
    """What is wrong with the room of a board, in a sentence; empty if nothing is."""
    left = free(board)
    if left >= LEAST_BYTES:
        return ""
    return (
        f"{left / (1 << 20):.0f} MiB are free on the disk of {board}: nothing is started until "
        f"{LEAST_BYTES / (1 << 20):.0f} MiB are; what runs goes on"
    )
