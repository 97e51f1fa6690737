"""Providers that are down: asked again by one session now and then, at no cell's cost."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bench.sweeps.sheet import Retries
from bench.sweeps.states import backoff

TELLING = 2
"""Sessions in a row that failed at a provider, with no answer in between, say that it is down."""


class Outage:
    """Whether one provider is down."""

    def __init__(self, retries: Retries, now: Callable[[], float], chance: Random) -> None:
        self._retries = retries
        self._now = now
        self._chance = chance
        self._failures = 0
        self._rounds = 0
        self._since = 0.0
        self._until = 0.0

    @property
    def down(self) -> bool:
        """Whether it is."""
        return self._failures >= TELLING

    @property
    def seconds(self) -> float:
        """How long it has been, since the first session that failed."""
        return self._now() - self._since if self.down else 0.0

    @property
    def wait_seconds(self) -> float:
        """How long nobody asks it."""
        return max(0.0, self._until - self._now()) if self.down else 0.0

    def most(self, slots: int) -> int:
        """How many sessions may use it now, of so many at other times."""
        if not self.down:
            return slots
        return 0 if self.wait_seconds else 1

    def failed(self) -> bool:
        """A session failed at it, and may not later; whether that is to count for no cell."""
        now = self._now()
        if not self._failures:
            self._since = now
        self._failures += 1
        if self.down and now >= self._until:
            # What fails while nobody asks was begun before.
            self._rounds += 1
            self._until = now + backoff(self._rounds, self._retries, self._chance)
        return self.down and now - self._since <= self._retries.outage_seconds

    def answered(self) -> None:
        """It answered a session."""
        self._failures = self._rounds = 0
        self._until = 0.0
