"""Transcripts that are read before the pages of their runs are made, by whoever looks runs over."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct, field

from kbsite.model.event import Event
from kbsite.model.transcript import Transcript
from kbsite.store.runs import StoredRun
from kbsite.transcripts import transcript


class Ahead(Struct):
    """What was read of runs, or why it could not be; each is taken once."""

    held: dict[str, Transcript | Exception | bytes | None] = field(default_factory=dict)
    """By id of run; bytes are what a copy of this process packed."""

    def read(self, stored: StoredRun, told: Iterable[Event] | None = None) -> None:
        """Read the transcript of a run; `told` is what its files say, if that is known."""
        try:
            self.held[stored.run.id] = transcript(stored.run.harness, stored.transcripts, told)
        except Exception as error:  # noqa: BLE001 - raised where the page is made, and told there
            self.held[stored.run.id] = error

    def packed(self, run_id: str) -> bytes:
        """What was read of a run, for the process that this one is a copy of.

        To pack and unpack a transcript takes two fifths of reading it. Empty for what has to be
        read again: nesting may be too deep to be packed, and errors need not come back as they are.
        """
        held = self.held.pop(run_id)
        if not isinstance(held, Exception):
            with suppress(RecursionError):
                return pickle.dumps(held, pickle.HIGHEST_PROTOCOL)
        return b""

    def add(self, run_id: str, packed: bytes) -> None:
        """Keep what a copy of this process packed, unless this one has read it by itself."""
        if packed:
            self.held.setdefault(run_id, packed)

    def take(self, stored: StoredRun) -> Transcript | None:
        """The transcript of a run, None if it has none to show; raises why it cannot be read."""
        if stored.run.id not in self.held:
            self.read(stored)
        held = self.held.pop(stored.run.id)
        if isinstance(held, bytes):
            unpacked: Transcript | None = pickle.loads(held)  # noqa: S301 - a copy of this wrote it
            return unpacked
        if isinstance(held, Exception):
            raise held
        return held
