"""Where matches of an automaton may stand: Hyperscan looks at each byte, RE2 only at those parts.

RE2 makes its states when it meets them, which takes a process 0.17 s within its first megabytes.
Hyperscan's are made once on a machine and kept in the user's cache folder. It tells where a match
ends, not where it begins, so that a part begins as early as a match that ends there can.
The only module that knows Hyperscan. Where that is missing, or nothing can be kept, RE2 looks at
all, and finds the same.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from kbsite.redaction.reach import Reach, ending, reach
from kbsite.user_cache import cache_folder
from kbsite.whole import write_bytes

Numbers = tuple[int, ...]
"""Some of the patterns, in their order."""

Parts = Sequence[tuple[int, int, Numbers | None]]
"""Where parts of some bytes begin and end, in order, and the patterns of which a match ends there:
None where it may be any. No part touches another."""

_LEAST: Final = 1024
_MOST: Final = 256
"""Ends of matches that are asked for: _LEAST, and one for so many bytes. RE2 is as fast then."""

_LARGEST: Final = 8 << 20
"""Bytes of what is kept; it takes half a megabyte."""


class _Kept(Struct, frozen=True, array_like=True):
    database: bytes
    reaches: tuple[Reach, ...]


class Prefilter:
    """Tells where matches of some patterns may stand."""

    def __init__(self, database: Any, reaches: Sequence[Reach]) -> None:
        self._database, self._reaches = database, reaches
        # Hyperscan works with what a thread has for itself.
        self._own = threading.local()

    def parts(self, data: bytes, start: int, end: int) -> Parts:
        """The parts of some bytes that hold all matches between two places: mostly none.

        A match that lies between those places lies within one of them as a whole.
        """
        ends = self._ends(data, start, end)
        if ends is None:
            return [(start, end, None)]
        found: list[tuple[int, int, set[int]]] = []
        before: dict[int, tuple[int, int]] = {}
        # Hyperscan promises no order.
        for at, number in sorted(ends):
            until = start + at
            told = self._reaches[number]
            if told.width:
                first = max(start, until - told.width)
            else:
                first = _begins(data, before.get(number, (start, start)), until, told.of)
                before[number] = first, until
            numbers = {number}
            while found and first < found[-1][1]:
                begun, _, others = found.pop()
                first, numbers = min(first, begun), numbers | others
            found.append((first, until, numbers))
        return [(first, until, tuple(sorted(numbers))) for first, until, numbers in found]

    def _ends(self, data: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
        """Where matches end, and by which pattern; None where there are very many."""
        ends: list[tuple[int, int]] = []
        most = _LEAST + (end - start) // _MOST

        def note(number: int, _start: int, at: int, _flags: int, _context: object) -> bool:
            ends.append((at, number))
            return len(ends) > most  # which stops it

        scratch = getattr(self._own, "scratch", None)
        try:
            if scratch is None:
                scratch = self._own.scratch = _hyperscan().Scratch(self._database)
            self._database.scan(data[start:end], match_event_handler=note, scratch=scratch)
        except Exception:  # noqa: BLE001 - that it was stopped too
            return None
        return ends


def _begins(data: bytes, before: tuple[int, int], end: int, of: bytes) -> int:
    """Where a match that ends there may begin, as bytes that it is not made of stand before it.

    `before` says where one of the same pattern before it may have begun, and where it ended.
    """
    first, until = before
    size = 256
    while True:
        window = data[max(until, end - size) : end]
        rest = len(window.rstrip(of))
        if rest:
            return end - len(window) + rest
        if size >= end - until:
            return first
        size *= 2


def prefilter(patterns: Sequence[bytes]) -> Prefilter | None:
    """What tells where matches of these may stand; None where only RE2 can.

    It is made when it is first asked for on a machine, in a fifth of a second, and kept.
    """
    try:
        file = _place(patterns)
        kept = _read(file)
        return (kept and _loaded(kept)) or _loaded(_keep(file, _compiled(patterns)))
    except Exception:  # noqa: BLE001 - whatever is missing, RE2 finds the same
        return None


def _loaded(kept: _Kept) -> Prefilter | None:
    """None where it is not what was written, or of another machine."""
    hyperscan = _hyperscan()
    try:
        database = hyperscan.loadb(kept.database, mode=hyperscan.HS_MODE_BLOCK)
    except hyperscan.error:
        return None
    return Prefilter(database, kept.reaches)


def _hyperscan() -> Any:
    import hyperscan

    return hyperscan


def _place(patterns: Sequence[bytes]) -> Path:
    """Where what is made of these is kept, by this program and this release of Hyperscan."""
    told = hashlib.sha256(_hyperscan().__version__.encode())
    for module in ("prefilter.py", "reach.py"):
        told.update(Path(__file__).with_name(module).read_bytes())
    for pattern in patterns:
        told.update(b"%d:%b" % (len(pattern), pattern))
    return cache_folder() / "compiled" / told.hexdigest()[:32]


def _read(file: Path) -> _Kept | None:
    """What is kept; None where nothing is that only this user can have written."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - of a descriptor
            status = os.fstat(descriptor)
            mine = status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if not mine or not stat.S_ISREG(status.st_mode):
                return None
            return msgspec.msgpack.decode(stream.read(_LARGEST), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return None


def _keep(file: Path, kept: _Kept) -> _Kept:
    """Put it there, for nobody else to write, and give it back; OSError where that cannot be."""
    write_bytes(file, msgspec.msgpack.encode(kept), private=True)
    return kept


def _compiled(patterns: Sequence[bytes]) -> _Kept:
    hyperscan = _hyperscan()
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    number = len(patterns)
    database.compile(
        expressions=[ending(pattern) for pattern in patterns],
        ids=list(range(number)), elements=number, flags=[0] * number,
    )  # fmt: skip
    return _Kept(hyperscan.dumpb(database), tuple(map(reach, patterns)))
