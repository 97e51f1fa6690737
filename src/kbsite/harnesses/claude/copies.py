"""Rows that a session copied from another one, when it was forked from that.

A copy has its row's uuid, time and message, and the id of the session that it was copied into. What
a fork says that all of it cost includes what its parent had cost when it was forked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.claude.tokens import less
from kbsite.harnesses.lines import dump
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Topic


class Written(NamedTuple):
    """What is known of a row, by its uuid."""

    file: str
    session: str
    content: int


class Family(Struct):
    """What the sessions of one transcript hold together."""

    rows: dict[str, Written] = field(default_factory=dict)
    costs: dict[str, Mapping[str, object]] = field(default_factory=dict)
    """What a session had cost, as it told it behind the row with this uuid."""


class Member(Struct):
    """One session's file among those of a transcript; alone, where there are no others."""

    family: Family | None = None
    last: str = ""
    """The uuid of the row before."""
    told: str = ""
    """The session that copies were last told to come from."""
    base: Mapping[str, object] | None = None
    """What the copied session had cost when it was copied."""

    def copied(self, row: Row) -> str:
        """The session that a row was copied from; empty where it is the file's own."""
        if self.family is None or not (uuid := row.text("uuid")):
            return ""
        self.last = uuid
        content = hash(dump([row.value.get(key) for key in ("type", "message", "attachment")]))
        own = Written(row.place.file, row.text("sessionId"), content)
        first = self.family.rows.setdefault(uuid, own)
        if first.file == own.file or first.content != content:
            return ""
        self.base = self.family.costs.get(uuid, self.base)
        return first.session or first.file

    def copy(self, row: Row, session: str) -> Iterator[Event]:
        """What is shown of a copy, and before the first where all of them come from."""
        if session != self.told:
            self.told = session
            where = f"Copied from session {session}, where these rows are shown and counted."
            yield row.notice(Topic.NOTE, where)
        yield row.trace(f"copied/{row.text('type')}")

    def own(self, cost: Row) -> Row:
        """A row that says what a session cost, without what the copied one had cost before."""
        if self.family is None:
            return cost
        self.family.costs[self.last] = cost.value
        return replace(cost, value=less(cost.value, self.base)) if self.base else cost
