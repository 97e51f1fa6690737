"""What is known of the files that were copied from a bucket: a small database beside the copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kbsite.errors import MachineError
from kbsite.object_storage.provider import Entry

_TABLE = """
CREATE TABLE IF NOT EXISTS copied (
  key TEXT PRIMARY KEY, size INTEGER, version TEXT, changed INTEGER
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """A file as it was copied."""

    size: int
    version: str
    """The version of the object."""
    changed: int
    """When the file was written here, nanoseconds since 1970."""

    def is_of(self, entry: Entry) -> bool:
        """Whether an object is still what was copied."""
        return (self.size, self.version) == (entry.size, entry.version)

    def stands(self, path: Path) -> bool:
        """Whether the file is still what it was when it was copied."""
        try:
            status = path.lstat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == (self.size, self.changed)


class Copies:
    """All that was copied, by key; what is written down outlives a kill.

    One that cannot be read is begun anew: files are fetched again then, and nothing is lost.
    MachineError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._open(path)
        except sqlite3.DatabaseError:
            with _telling(path):
                path.unlink()
                # What it says was to be done to the old one is not done to the new one.
                path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
                self._open(path)

    def _open(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            self.held = self._read()
        except sqlite3.DatabaseError:
            self._connection.close()
            raise

    def _read(self) -> dict[str, Copy]:
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_TABLE)
        rows = self._connection.execute("SELECT key, size, version, changed FROM copied")
        return {key: Copy(*rest) for key, *rest in rows}

    def replace(self, gone: Iterable[str], new: Mapping[str, Copy]) -> None:
        """Forget some files and take down others, all at once."""
        old = [(key,) for key in gone]
        rows = [(key, c.size, c.version, c.changed) for key, c in new.items()]
        with _telling(self._path):
            self._connection.execute("BEGIN")
            self._connection.executemany("DELETE FROM copied WHERE key = ?", old)
            self._connection.executemany("INSERT OR REPLACE INTO copied VALUES (?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        for (key,) in old:
            self.held.pop(key, None)
        self.held.update(new)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Raises MachineError where the database at a path cannot be written, as on a full disk."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise MachineError(f"{path}: cannot be written: {why}") from error
