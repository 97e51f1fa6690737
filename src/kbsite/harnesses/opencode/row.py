"""The row that events come from: a line of stdout; a session, message or part of an export."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kbsite.model.event import Notice, Role, Source, Topic


class Row(Struct):
    """Where the events of one row stand, and what they have in common."""

    file: str
    line: int
    agent: str = ""
    at: datetime | None = None
    """When the row was written, for what has no time of its own."""
    role: Role = Role.ASSISTANT
    model: str = ""
    part: int = 0
    """The part number that the next event gets."""

    def source(self) -> Source:
        """The place of the row's next event."""
        self.part += 1
        return Source(self.file, self.line, self.part - 1)

    def notice(
        self,
        topic: Topic,
        told: str,
        raw: str = "",
        *,
        at: datetime | None = None,
        restores: bool = False,
    ) -> Notice:
        """What opencode tells in this row, at a time of its own if it has one."""
        return Notice(
            source=self.source(), at=at or self.at, agent=self.agent,
            topic=topic, text=told, raw=raw, restores=restores,
        )  # fmt: skip
