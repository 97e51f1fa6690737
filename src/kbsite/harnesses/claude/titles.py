"""What a session is about, in rows that often repeat it: titles, and summaries."""

from __future__ import annotations

from msgspec import Struct, field

from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Topic


class Titles(Struct):
    """Those that were told."""

    seen: set[str] = field(default_factory=set)

    def told(self, row: Row, word: str, key: str) -> Event:
        """What a row says, unless one before it did."""
        title = row.text(key).strip()
        if not title or title in self.seen:
            return row.trace(row.text("type"))
        self.seen.add(title)
        return row.notice(Topic.NOTE, f"{word}: {title}")
