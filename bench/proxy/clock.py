"""The budget of a run: it begins with the first request for a model, and ends for all at once."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

_MET = datetime.now(UTC), time.monotonic()


def time_of_day() -> datetime:
    """The time of day: as this process met it first, and as it passed since.

    Who sets the machine's time during a session makes no run end before it began, nor take a day.
    """
    day, passed = _MET
    return day + timedelta(seconds=time.monotonic() - passed)


class Clock:
    """Time that a run has; can be asked from any thread.

    The proxy starts it when the first request for a model comes. Passing time is taken from the
    monotonic clock: setting the machine's time gives nobody more.
    """

    def __init__(self, budget_seconds: float) -> None:
        self.budget_seconds = budget_seconds
        self._lock = threading.Lock()
        self._started: tuple[datetime, float] | None = None

    def start(self) -> None:
        """Let the time begin to run; nothing where it runs already."""
        with self._lock:
            if self._started is None:
                self._started = time_of_day(), time.monotonic()

    @property
    def started(self) -> datetime | None:
        """When it began; None before."""
        return None if self._started is None else self._started[0]

    @property
    def deadline(self) -> datetime | None:
        """When it is over; None before it began."""
        started = self.started
        return None if started is None else started + timedelta(seconds=self.budget_seconds)

    @property
    def elapsed_seconds(self) -> float:
        """Time since it began; 0 before."""
        return 0.0 if self._started is None else time.monotonic() - self._started[1]

    @property
    def left_seconds(self) -> float:
        """Time that is left: the whole budget before it began, 0 after the deadline."""
        return max(0.0, self.budget_seconds - self.elapsed_seconds)

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left_seconds <= 0

    def told(self) -> dict[str, float | str | None]:
        """What CLOCK_PATH answers."""
        deadline = self.deadline
        return {
            "budget_seconds": self.budget_seconds,
            "elapsed_seconds": round(self.elapsed_seconds, 3),
            "left_seconds": round(self.left_seconds, 3),
            "deadline": None if deadline is None else deadline.isoformat(timespec="seconds"),
        }
