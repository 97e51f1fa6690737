"""Transcripts that are read before the pages of their runs are made, by whoever looks runs over."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec
from msgspec import Struct, field

from kbsite.model.event import Event
from kbsite.model.transcript import Transcript
from kbsite.store.runs import StoredRun
from kbsite.transcripts import transcript


class Ahead(Struct):
    """What was read of runs, or why it could not be; each is taken once.

    What copies of this process packed lies in a file without a name: each that is made later would
    hold all of it in memory.
    """

    folder: Path | None = None
    """Where the file lies; where temporary files do if that is not said."""
    held: dict[str, Transcript | Exception | None] = field(default_factory=dict)
    """By id of run."""
    packs: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Likewise where in the file is what copies of this process read, and how many bytes it is."""
    _file: IO[bytes] | None = None
    _size: int = 0

    def close(self) -> None:
        """Leave nothing behind of what was packed."""
        self.packs.clear()
        if self._file:
            self._file.close()
        self._file, self._size = None, 0

    def read(self, stored: StoredRun, told: Iterable[Event] | None = None) -> None:
        """Read the transcript of a run; `told` is what its files say, if that is known."""
        try:
            self.held[stored.run.id] = transcript(stored.run.harness, stored.transcripts, told)
        except Exception as error:  # noqa: BLE001 - raised where the page is made, and told there
            self.held[stored.run.id] = error

    def packed(self, run_id: str) -> bytes:
        """What was read of a run, for the process that this one is a copy of.

        To pack and unpack a transcript takes a seventh of reading it. Empty for what has to be read
        again: errors, and what cannot be packed (halves of characters, numbers of more than eight
        bytes, nesting too deep, and whatever else is no plain data).
        """
        held = self.held.pop(run_id)
        if not isinstance(held, Exception):
            with suppress(ValueError, OverflowError, RecursionError, TypeError):
                return msgspec.msgpack.encode(held)
        return b""

    def add(self, run_id: str, packed: bytes) -> None:
        """Keep what a copy of this process packed, unless this one has read it by itself."""
        if not packed or run_id in self.held:
            return
        # What there is no room for is read again.
        with suppress(OSError):
            if self._file is None:
                self._file = TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
            at, size = self._size, self._file.write(packed)
            self._size += size
            if size == len(packed):
                self.packs[run_id] = at, size

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
            # Copies have one file, and would have one place in it.
            return os.pread(self._file.fileno(), size, at) if self._file else b""
        return b""


@cache
def _unpacks() -> msgspec.msgpack.Decoder[Transcript | None]:
    return msgspec.msgpack.Decoder(Transcript | None)
