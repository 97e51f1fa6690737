"""What is known by name of long transcripts, in a file: in memory, names alone would fill it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import TypeVar, cast
from weakref import finalize

from kbsite.fold.packing import Packing

T = TypeVar("T")

Name = tuple[str, str]
"""An agent, and what something of it is called."""

_SETTINGS = """
PRAGMA temp_store = FILE;
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -1000;
CREATE TABLE held (agent BLOB, name BLOB, value BLOB, UNIQUE (agent, name));
"""
_PUT = (
    "INSERT INTO held VALUES (?1, ?2, ?3)"
    " ON CONFLICT (agent, name) DO UPDATE SET value = excluded.value"
)
_GET = "SELECT value FROM held WHERE agent = ? AND name = ?"
_DROP = "DELETE FROM held WHERE agent = ? AND name = ?"

_AT_ONCE = 1_000
"""Values that are written at once: one by one that takes up to twice as long."""


class Lookup(MutableMapping[Name, T]):
    """Values of one kind by agent and name, in a database without a name, as they came.

    It lies where SQLite puts what is to be gone when it is closed: in the folder that TMPDIR names,
    or on the disk. A value that was got is a copy: what is changed of it has to be put again.
    """

    def __init__(self, kind: type[T]) -> None:
        """OSError where there can be no such file."""
        self._packing = Packing(kind)
        self._recent: dict[Name, bytes] = {}
        """What was put last, packed: most of what is asked for is, and it is written at once."""
        self._beside: dict[Name, T] = {}
        """What the file has no room for, or cannot hold: numbers of more than eight bytes, say."""
        with _telling():
            # Nobody but its maker asks it; who lets it go may be another thread.
            self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            finalize(self, self._file.close)
            self._file.executescript(_SETTINGS)

    def __setitem__(self, name: Name, value: T) -> None:
        """Keep a value."""
        self._beside.pop(name, None)
        data = self._packing.packed(value)
        if data is None:
            self._recent.pop(name, None)
            self._beside[name] = value
            return
        self._recent[name] = data
        if len(self._recent) > _AT_ONCE:
            self._write()

    def _write(self) -> None:
        """Write what was put last; what there is no room for stays in memory."""
        rows = ((*_key(name), data) for name, data in self._recent.items())
        try:
            self._file.execute("BEGIN")
            self._file.executemany(_PUT, rows)
            self._file.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            self._beside.update((n, self._packing.unpacked(d)) for n, d in self._recent.items())
        self._recent.clear()

    def __getitem__(self, name: Name) -> T:
        """What is kept by that name; OSError where the file cannot be read."""
        recent = self._recent.get(name)
        if recent is not None:
            return self._packing.unpacked(recent)
        if name in self._beside:
            return self._beside[name]
        with _telling():
            found = self._file.execute(_GET, _key(name)).fetchone()
        if found is None:
            raise KeyError(name)
        return self._packing.unpacked(found[0])

    def __delitem__(self, name: Name) -> None:
        """Let a value go."""
        recent = self._recent.pop(name, None) is not None
        there = self._beside.pop(name, None) is not None or recent
        with _telling():
            gone = self._file.execute(_DROP, _key(name)).rowcount
        if not (there or gone):
            raise KeyError(name)

    def __iter__(self) -> Iterator[Name]:
        """All names, in the order in which they first came."""
        self._write()
        with _telling():
            for agent, name in self._file.execute("SELECT agent, name FROM held ORDER BY rowid"):
                known = _text(agent), _text(name)
                if known not in self._beside:
                    yield known
        yield from self._beside

    def __len__(self) -> int:
        """How many names there are."""
        return sum(1 for _ in self)


def by_name(kind: type[T], *, large: bool) -> MutableMapping[Name, T]:
    """An empty mapping: in memory, but for what large transcripts tell, if there is room for it."""
    if large:
        with suppress(OSError):
            return Lookup(kind)
    return {}


def _key(name: Name) -> tuple[bytes, bytes]:
    # Names come from transcripts, where halves of characters stand as well.
    agent, own = name
    return agent.encode("utf-8", "surrogatepass"), own.encode("utf-8", "surrogatepass")


def _text(name: object) -> str:
    return cast("bytes", name).decode("utf-8", "surrogatepass")


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        message = f"a file without a name that this process wrote: {error}"
        raise OSError(errno.EIO, message) from error
