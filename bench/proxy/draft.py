"""An exchange while it lasts: what is known of it so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from bench.providers import Dialect
from bench.proxy.form import Exchange, Outcome
from bench.proxy.told import Told
from kbsite.model.finding import one_line

MOST_CHARACTERS: Final = 500
"""Of an error, in the log."""

MOST_NAME: Final = 200
"""Of a path, a model or an id, in the log."""


@dataclass(kw_only=True)
class Draft:
    """Facts of an exchange, in the order in which they come."""

    number: int
    method: str
    path: str
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    begun: float = field(default_factory=time.monotonic)
    first_byte_seconds: float | None = None
    dialect: Dialect | None = None
    model: str | None = None
    status: int | None = None
    ended_as: Outcome | None = None
    """How it ended, where the answer itself does not tell."""
    request_id: str | None = None
    error: str | None = None
    sent_bytes: int = 0
    received_bytes: int = 0
    server_tools: tuple[str, ...] = ()
    retry_after_seconds: float | None = None
    model_request: bool = False
    told: Told = field(default_factory=Told)

    def answered(self) -> None:
        """The first byte of an answer is here."""
        self.first_byte_seconds = time.monotonic() - self.begun

    def exchange(self) -> Exchange:
        """What it was, now that it ended."""
        told = self.told
        return Exchange(
            number=self.number,
            started=self.started,
            seconds=round(time.monotonic() - self.begun, 6),
            first_byte_seconds=_rounded(self.first_byte_seconds),
            method=_cut(self.method, 20) or "",
            path=_cut(self.path, MOST_NAME) or "",
            dialect=self.dialect,
            model=_cut(self.model, MOST_NAME),
            answered_by=_cut(told.model, MOST_NAME),
            status=self.status,
            outcome=self._outcome(),
            stop=_cut(told.stop, MOST_NAME),
            request_id=_cut(self.request_id, MOST_NAME),
            usage=told.usage,
            error=_cut(self.error or told.error, MOST_CHARACTERS),
            sent_bytes=self.sent_bytes,
            received_bytes=self.received_bytes,
            server_tools=tuple(str(_cut(one, 100)) for one in self.server_tools[:20]),
            retry_after_seconds=_rounded(self.retry_after_seconds),
            model_request=self.model_request,
        )

    def _outcome(self) -> Outcome:
        told = self.told
        whole = self.ended_as is None
        # A CLI may hang up when it has what it wanted: the answer was whole for it all the same.
        if self.ended_as is Outcome.ABANDONED and told.stop and not told.error:
            whole = True
        if not whole and self.ended_as is not None:
            return self.ended_as
        if (self.status or 0) >= 400 or told.error:
            return Outcome.ERROR
        if not self.model_request:
            return Outcome.COMPLETE
        if told.stop is None:
            return Outcome.BROKEN
        return Outcome.CUT if told.cut else Outcome.COMPLETE


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _cut(text: str | None, most: int) -> str | None:
    if text is None:
        return None
    line = one_line(text[: 4 * most])
    return line if len(line) <= most else f"{line[: most - 1]}…"
