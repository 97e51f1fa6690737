"""How many sessions may use a provider at once: fewer when it says 429, slowly more again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

BURST = 3
"""Refusals within WINDOW_SECONDS that make a burst: a single one is a CLI's own business."""

WINDOW_SECONDS = 30.0

CALM_SECONDS = 300.0
"""Without a refusal for so long, one more session is tried; and so on."""


class Slots:
    """The slots of one provider."""

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        self._most = most
        self._now = now
        self._allowed = most
        self._refusals: deque[float] = deque(maxlen=BURST)
        self._since = now()

    @property
    def most(self) -> int:
        """As the provider, or the sweep, says."""
        return self._most

    @property
    def allowed(self) -> int:
        """How many sessions may run now: 1 at least, or the sweep would never end."""
        while self._allowed < self._most and self._now() - self._since >= CALM_SECONDS:
            self._allowed += 1
            self._since += CALM_SECONDS
        return self._allowed

    def refused(self, times: int = 1) -> None:
        """The provider said 429 so often, just now; a burst halves what is allowed."""
        allowed, now = self.allowed, self._now()
        self._refusals.extend([now] * min(times, BURST))
        self._since = now
        full = len(self._refusals) == BURST
        if full and now - self._refusals[0] <= WINDOW_SECONDS:
            self._allowed = max(1, allowed // 2)
            # What was counted once does not halve again: sessions under way are still too many.
            self._refusals.clear()
