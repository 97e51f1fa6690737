"""Forks: sessions that begin with copies of another one's rows (`--fork-session`, `/branch`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from kbsite.harnesses.claude import session
from kbsite.harnesses.claude.copies import Family
from kbsite.harnesses.form import Held
from kbsite.harnesses.lines import records, timestamp
from kbsite.model.event import Event, Malformed

_HEAD = 50
"""So many rows of a file are looked at for the time at which it was begun."""
_LATE = "9"
"""After every time in ISO 8601."""


def together(files: Sequence[Held]) -> Iterator[Event]:
    """What all files of a transcript say; sessions in the order in which they were begun."""
    sessions = [file for file in files if session.is_main(file.name)]
    family = Family() if len(sessions) > 1 else None
    if family is not None:
        sessions.sort(key=_begun)
    elsewhere = session.with_files(file.name for file in files)
    begun = iter(sessions)
    for held in files:
        file = next(begun) if session.is_main(held.name) else held
        yield from session.parse(file.lines(), file.name, family, elsewhere)


def _begun(file: Held) -> tuple[str, bool]:
    """When a session was begun; where two are of one moment, the later one copied the other."""
    for record in records(islice(file.lines(), _HEAD), file.name):
        if isinstance(record, Malformed):
            continue
        at = timestamp(record.value.get("timestamp"))
        if at is not None:
            named = str(record.value.get("sessionId"))
            return at.isoformat(), "forkedFrom" in record.value or named not in file.name
    return _LATE, False
