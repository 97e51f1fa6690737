"""An exchange while it lasts: what is known of it so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bench.providers import Dialect
from bench.proxy.clock import time_of_day
from bench.proxy.form import Exchange, Outcome
from bench.proxy.hiding import Hiding
from bench.proxy.told import Told
from kbsite.model.finding import one_line

MOST_CHARACTERS: Final = 500
"""Of an error, in the log."""

MOST_NAME: Final = 200
"""Of a path, a model or an id, in the log."""

_NOT_WHOLE = (Outcome.ABANDONED, Outcome.BROKEN, Outcome.UNREACHABLE)


@dataclass(kw_only=True)
class Draft:
    """Facts of an exchange, in the order in which they come."""

    number: int
    method: str
    path: str
    hiding: Hiding = field(repr=False)
    """What no text of an exchange may hold is taken out of all of them."""
    started: datetime = field(default_factory=time_of_day)
    begun: float = field(default_factory=time.monotonic)
    first_byte_seconds: float | None = None
    heard: float | None = None
    """When something of the answer came last, by the monotonic clock; None before."""
    dialect: Dialect | None = None
    model: str | None = None
    status: int | None = None
    kind: str = ""
    """The answer's content type."""
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
        told, outcome = self.told, self._outcome()
        error = self.error or told.error
        if error is None and outcome is Outcome.BROKEN and told == Told():
            error = self._no_answer()
        now = time.monotonic()
        return Exchange(
            number=self.number,
            started=self.started,
            seconds=round(now - self.begun, 6),
            first_byte_seconds=_rounded(self.first_byte_seconds),
            method=self._told(self.method, 20) or "",
            path=self._told(self.path) or "",
            dialect=self.dialect,
            model=self._told(self.model),
            answered_by=self._told(told.model),
            status=self.status,
            outcome=outcome,
            stop=self._told(told.stop),
            request_id=self._told(self.request_id),
            usage=told.usage,
            error=self._told(error, MOST_CHARACTERS),
            sent_bytes=self.sent_bytes,
            received_bytes=self.received_bytes,
            server_tools=tuple(str(self._told(one, 100)) for one in self.server_tools[:20]),
            retry_after_seconds=_rounded(self.retry_after_seconds),
            model_request=self.model_request,
            silent_seconds=self._silent(now, outcome),
        )

    def _silent(self, now: float, outcome: Outcome) -> float | None:
        """How long nothing of an answer had come, where it did not come whole."""
        if outcome not in _NOT_WHOLE:
            return None
        return _rounded(now - (self.begun if self.heard is None else self.heard))

    def _told(self, text: str | None, most: int = MOST_NAME) -> str | None:
        """A text of somebody else's as it may be written down."""
        if text is None:
            return None
        line = one_line(self.hiding.text(text[: 8 * most]))
        return line if len(line) <= most else f"{line[: most - 1]}…"

    def _no_answer(self) -> str:
        """What came in place of an answer of a model, and what to do about it."""
        kind = self.kind.partition(";")[0].strip().lower()
        what = f"{self.received_bytes} bytes of {kind[:100] or 'no type'} came, and no answer"
        if "json" in kind or "event-stream" in kind:
            return what
        return f"{what}: see whether the address of the provider is right"

    def _outcome(self) -> Outcome:
        """How it ended: what the answer says, unless it did not come whole."""
        told, failed = self.told, (self.status or 0) >= 400
        match self.ended_as:
            case Outcome.ABANDONED if told.stop and not told.error:
                # A CLI may hang up when it has what it wanted: it was whole for it all the same.
                return Outcome.CUT if told.cut else Outcome.COMPLETE
            case Outcome.BROKEN if failed:
                return Outcome.ERROR
            case Outcome():
                return self.ended_as
            case None:
                return Outcome.ERROR if failed or told.error else self._end()

    def _end(self) -> Outcome:
        """How an answer ended that came whole and names no error."""
        if not self.model_request:
            return Outcome.COMPLETE
        if self.told.stop is None:
            return Outcome.BROKEN
        return Outcome.CUT if self.told.cut else Outcome.COMPLETE


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
