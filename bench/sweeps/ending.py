"""How tries are ended: those that are told to, and those that give no sign of life any more."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sealed import write_whole
from bench.sweeps.executors.form import Executor
from bench.sweeps.ledger import Try
from bench.sweeps.states import Kind
from bench.sweeps.tries import ERR, SILENT, end

PATIENCE_SECONDS = 90.0
"""How long a session that was told to end may take, before it is killed."""

SILENT_SECONDS = 7200.0
"""A grade that told nothing for so long is ended, and a session that did so for as long after its
budget. Graders tell each of their steps, none of which takes half of that, and supervisors end
sessions; but no limit of their own ends what the kernel, a driver or a disk holds."""


@dataclass
class _Stopping:
    """A try that was told to end."""

    since: float
    killed: bool = False


class Endings:
    """The tries of a sweep that were told to end."""

    def __init__(
        self, tries: Path, executor: Executor, steady: Callable[[], float], session_seconds: float
    ) -> None:
        self._tries = tries
        self._executor = executor
        self._session_seconds = session_seconds
        self._steady = steady
        self._stopping: dict[str, _Stopping] = {}
        self._heard: dict[str, tuple[tuple[int, int], float]] = {}

    def over(self, try_id: str) -> None:
        """A try has ended."""
        self._stopping.pop(try_id, None)
        self._heard.pop(try_id, None)

    def end(self, try_id: str) -> None:
        """Tell a try to end; kill one that was told so long ago."""
        now, stopping = self._steady(), self._stopping.get(try_id)
        if stopping is None:
            self._stopping[try_id] = _Stopping(now)
            end(self._tries / try_id, signal.SIGTERM)
        elif not stopping.killed and now - stopping.since >= PATIENCE_SECONDS:
            stopping.killed = True
            end(self._tries / try_id, signal.SIGKILL)
            self._executor.call_off(try_id)

    def end_silent(self, tries: Sequence[Try]) -> list[Try]:
        """End the tries that are silent; those that were not known to be until now."""
        found = []
        for one in filter(self._is_silent, tries):
            if one.id not in self._stopping:
                write_whole(self._tries / one.id / SILENT, b"")
                found.append(one)
            self.end(one.id)
        return found

    def _is_silent(self, one: Try) -> bool:
        """Whether a try has printed nothing for too long, since it started, or since we look."""
        try:
            status = (self._tries / one.id / ERR).lstat()
        except OSError:
            return False  # an engine has not started it yet
        told, now = (status.st_size, status.st_mtime_ns), self._steady()
        if (heard := self._heard.get(one.id)) is None or heard[0] != told:
            self._heard[one.id] = told, now
            return False
        most = SILENT_SECONDS + (self._session_seconds if one.kind is Kind.AGENT else 0)
        return now - heard[1] >= most
