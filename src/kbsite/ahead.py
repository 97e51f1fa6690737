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

_Read = Transcript | Exception | None


class Ahead(Struct):
    """What was read of runs, or why it could not be; each is taken once."""

    held: dict[str, _Read | bytes] = field(default_factory=dict)
    """By id of run; bytes are as a copy of this process packed them."""

    def read(self, stored: StoredRun, told: Iterable[Event] | None = None) -> None:
        """Read the transcript of a run; `told` is what its files say, if that is known."""
        try:
            self.held[stored.run.id] = transcript(stored.run.harness, stored.transcripts, told)
        except Exception as error:  # noqa: BLE001 - raised where the page is made, and told there
            self.held[stored.run.id] = error

    def packed(self, run_id: str) -> bytes:
        """What was read of a run, for the process that this one is a copy of; nothing if it fails.

        To pack and unpack a transcript takes a third of reading it. What cannot be packed is read
        again: nesting of any depth may stand in a run.
        """
        with suppress(pickle.PicklingError, RecursionError, TypeError, AttributeError):
            return pickle.dumps(self.held.pop(run_id), pickle.HIGHEST_PROTOCOL)
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
            held = _unpacked(held)
        if isinstance(held, Exception):
            raise held
        return held


def _unpacked(packed: bytes) -> _Read:
    held: _Read = pickle.loads(packed)  # noqa: S301 - a copy of this very process wrote it
    return held
