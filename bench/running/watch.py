"""When the runner ends a session: the deadline, and what shows that it will come to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from bench.running.ending import Stop
from bench.running.form import SessionLimits
from kbsite.model.counts import number_of

BUSY_SECONDS = 0.5
"""Processor time that shows that something is worked on, if it is ..."""
BUSY_SHARE = 0.02
"""... at least this share of the time: a CLI that only draws its spinner uses less."""

REFUSALS = 3
"""Failed exchanges in a row that are enough where the key, or the account's credit, is why: CLIs
ask on all the same, with waits that double, and nothing changes until a person mends it."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A session as it was at a moment. Seconds, since its start where nothing else is said."""

    now: float
    since_first_request: float | None
    quiet: float
    """How long nothing went through the proxy."""
    failures: int
    """Failed exchanges in a row."""
    refused: bool = False
    """Whether the last one says that the key is refused, or that no credit is left."""
    log_bytes: int
    processor: float
    """Processor time that its processes have used in all."""
    stop: bool = False
    """Whether the operator wants it to end."""


class Watch:
    """Decides when a session has to end; it remembers when something happened last."""

    def __init__(self, limits: SessionLimits, budget_seconds: float) -> None:
        self._limits = limits
        self._budget = budget_seconds
        self._moved = 0.0
        self._failing_since: float | None = None
        self._log_bytes = 0
        self._processor = 0.0

    def look(self, seen: Seen) -> tuple[Stop, str] | None:
        """Why the session has to end now, with a sentence; None while it may go on."""
        self._note(seen)
        if seen.stop:
            return Stop.OPERATOR, "Whoever started the run ended it."
        elapsed = seen.since_first_request
        if elapsed is not None and elapsed >= self._budget:
            return Stop.DEADLINE, f"The budget of {self._budget:g} s was used up."
        limit = self._limits.first_request_seconds
        if elapsed is None and seen.now >= limit:
            return Stop.NO_REQUEST, f"The CLI asked no model within {limit:g} s."
        if self._given_up(seen):
            requests = number_of(seen.failures, "request")
            return Stop.FAILURES, f"{requests} in a row failed at the provider."
        still = seen.now - self._moved
        if still >= self._limits.stall_seconds:
            return Stop.STALL, (
                f"For {still:.0f} s no byte went through the proxy, no log grew, and no processor "
                "time was used."
            )
        return None

    def warn(self, seen: Seen) -> bool:
        """Whether so much of the budget is used that the agent has to be told."""
        elapsed = seen.since_first_request
        return elapsed is not None and elapsed >= self._limits.warn_share * self._budget

    def _given_up(self, seen: Seen) -> bool:
        """Whether so many requests failed, for so long, that no more are waited for."""
        if not seen.failures:
            self._failing_since = None
            return False
        if self._failing_since is None:
            self._failing_since = seen.now
        lasted = seen.now - self._failing_since
        limits = self._limits
        enough = min(limits.failures, REFUSALS) if seen.refused else limits.failures
        return seen.failures >= enough and lasted >= limits.failing_seconds

    def _note(self, seen: Seen) -> None:
        """Remember when something moved: bytes of the proxy, a log, or processors."""
        self._moved = max(self._moved, seen.now - seen.quiet)
        used = seen.processor - self._processor
        busy = used >= max(BUSY_SECONDS, BUSY_SHARE * (seen.now - self._moved))
        if seen.log_bytes != self._log_bytes or busy:
            self._moved = seen.now
            self._log_bytes, self._processor = seen.log_bytes, seen.processor
