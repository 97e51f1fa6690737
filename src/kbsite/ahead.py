"""Transcripts that are read before the pages of their runs are made, by whoever looks runs over."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec
from msgspec import Struct, field

from kbsite.fold.aside import Place
from kbsite.model.event import Event
from kbsite.model.transcript import Transcript
from kbsite.store.runs import StoredRun
from kbsite.transcripts import transcript


class Ahead(Struct):
    """What was read of runs, or why it could not be; each is taken once.

    What copies of this process read they pack into a file without a name, which they all have: told
    by a pipe it would go through this process, and each that is made later would hold all of it.
    """

    folder: Path | None = None
    """Where the file lies; where temporary files do if that is not said."""
    held: dict[str, Transcript | Exception | None] = field(default_factory=dict)
    """By id of run."""
    packs: dict[str, Place] = field(default_factory=dict)
    """Likewise where in the file is what copies of this process read."""
    _file: IO[bytes] | None = None

    def open(self) -> None:
        """Have the file, for copies that are made from now on; none where there can be none."""
        with suppress(OSError):
            # Whoever reads asks for a place: copies of an open file share where they are in it.
            self._file = self._file or TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115

    def close(self) -> None:
        """Leave nothing behind of what was packed."""
        self.packs.clear()
        if self._file:
            self._file.close()
        self._file = None

    def read(self, stored: StoredRun, told: Iterable[Event] | None = None) -> None:
        """Read the transcript of a run; `told` is what its files say, if that is known."""
        try:
            self.held[stored.run.id] = transcript(stored.run.harness, stored.transcripts, told)
        except Exception as error:  # noqa: BLE001 - raised where the page is made, and told there
            self.held[stored.run.id] = error

    def pack(self, run_id: str) -> Place | None:
        """Pack what was read of a run; where it is, for the process that this one is a copy of.

        To pack and unpack a transcript takes a seventh of reading it. None for what has to be read
        again: errors, what there is no room for, and what cannot be packed (halves of characters,
        numbers of more than eight bytes, nesting too deep, and whatever else is no plain data).
        """
        held = self.held.pop(run_id)
        if self._file and not isinstance(held, Exception):
            with suppress(OSError, ValueError, OverflowError, RecursionError, TypeError):
                return _appended(self._file.fileno(), msgspec.msgpack.encode(held))
        return None

    def add(self, run_id: str, place: Place | None) -> None:
        """Know where a copy of this process packed a run, unless this one has read it by itself."""
        if place and run_id not in self.held:
            self.packs[run_id] = place

    def take(self, stored: StoredRun) -> Transcript | None:
        """The transcript of a run, None if it has none to show; raises why it cannot be read."""
        run_id = stored.run.id
        packed = self._packed(run_id)
        if run_id not in self.held:
            # What was packed and is no event of a kind that there is, is read again.
            with suppress(msgspec.DecodeError, RecursionError):
                return _unpacks().decode(packed)
            self.read(stored)
        held = self.held.pop(run_id)
        if isinstance(held, Exception):
            raise held
        return held

    def _packed(self, run_id: str) -> bytes:
        """What a copy packed of a run; nothing where that is not, or no longer, known."""
        at, size = self.packs.pop(run_id, (0, 0))
        with suppress(OSError):
            return os.pread(self._file.fileno(), size, at) if self._file else b""
        return b""


@cache
def _unpacks() -> msgspec.msgpack.Decoder[Transcript | None]:
    return msgspec.msgpack.Decoder(Transcript | None)


def _appended(descriptor: int, data: bytes) -> Place:
    """Write something behind all that is in a file that others write to as well; where it is.

    OSError where there is no room for it: then nothing of it stays.
    """
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    try:
        at = end = os.fstat(descriptor).st_size
        left = memoryview(data)
        try:
            while left:
                written = os.pwrite(descriptor, left, end)
                left, end = left[written:], end + written
        except OSError:
            os.ftruncate(descriptor, at)
            raise
        return at, len(data)
    finally:
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
