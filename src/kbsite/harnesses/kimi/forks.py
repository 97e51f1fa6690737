"""Rows that a session copied from another one, as a fork does: they are told and counted once."""

from __future__ import annotations

from collections.abc import Iterator, Set

from msgspec import Struct, field

from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Topic

_COPIED = (
    "Copied from another session, where these rows are shown and counted: what follows them there "
    "is no part of this one."
)


class Copies(Struct):
    """The rows of one file, and which of them another file told."""

    told: Set[int] | None = None
    """The rows of other files, by their digests; None where no file can be a copy."""
    own: set[int] = field(default_factory=set)
    """Its own rows that have a time, by their digests."""
    within: bool = False
    """Whether the last row was a copy."""

    def holds(self, row: Row, moment: str) -> bool:
        """Whether another file told a row whose time stands under this key.

        Rows of two agents are no copies, however alike they are.
        """
        copied = False
        if self.told is not None and moment in row.value:
            digest = hash((row.agent, row.raw))
            copied = digest in self.told
            self.own.add(digest)
        self.within = self.within and copied
        return copied

    def events(self, row: Row) -> Iterator[Event]:
        """What is shown of a row that another file told."""
        if not self.within:
            yield row.notice(Topic.NOTE, _COPIED)
        self.within = True
        yield row.trace("copied")
