"""Files beside an agent's logs that nobody may publish: keys, databases, what names a machine."""

from __future__ import annotations

import re

from kbsite.store.files import Stored

_SQLITE = b"SQLite format 3\0"
_PRIVATE = (
    (re.compile(r"home/(.*/)?\.claude/sessions/.*\.key"), "a key"),
    (re.compile(r"home/(.*/)?shell-snapshots/.*"), "a snapshot of the shell"),
    (re.compile(r"home/(.*/)?(\.credentials\.json|auth\.json|credentials(/.*)?)"), "credentials"),
    (re.compile(r"home/(.*/)?device_id"), "names a machine"),
    (re.compile(r"home/(.*/)?[^/]*\.(db|sqlite3?)(-wal|-shm)?"), "a database"),
)


def private(file: Stored) -> str | None:
    """Why a file, named as within transcript/, must not be published; None if it may be."""
    for pattern, reason in _PRIVATE:
        if pattern.fullmatch(file.name):
            return reason
    with file.stream() as stream:
        return "a database" if stream.read(len(_SQLITE)) == _SQLITE else None
