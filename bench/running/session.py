"""A session: a CLI in its box beside its proxy, watched until it ends or has to be ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from threading import Event

from bench.harnesses.form import HOME, WORKSPACE
from bench.proxy.clock import Clock, time_of_day
from bench.proxy.form import Exchange, Meter
from bench.proxy.troubles import trouble
from bench.running.collecting import Sidecars, Snapshots, Transcript, solution
from bench.running.ending import Stop
from bench.running.form import SessionLimits
from bench.running.processor import Processor
from bench.running.watch import Seen, Watch
from bench.sandbox.box import Ending, Sandboxed
from bench.sandbox.place import Place
from kbsite.errors import MachineError
from kbsite.model.usage import Usage

STDOUT = "stdout.jsonl"
STDERR = "stderr.log"
SHORT = "TIME_IS_SHORT.txt"
"""The note that the agent finds when most of its budget is used."""

_TICK_S = 0.25
_DOOR = "The time of this session is over."


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a session is, for whoever looks on."""

    elapsed: float
    """Seconds since it was started."""
    left: float
    """Seconds of its budget; all of it before the first request."""
    budget: float
    exchanges: int
    usage: Usage
    snapshots: int
    last: str
    """What happened last, in words."""


Told = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True)
class Over:
    """A session that is over, with nothing of it left but its folders."""

    stop: Stop | None
    why: str
    ending: Ending
    ended: datetime
    """When it ended, or when the runner began to end it."""
    at_deadline: bytes | None
    """solution.py when the runner ended the session; None where it did not, or there was none."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """All that watching a session needs."""

    box: Sandboxed
    meter: Meter
    clock: Clock
    limits: SessionLimits
    logs: tuple[Path, ...]
    """Files of the host that its output goes to."""
    transcript: Transcript
    snapshots: Snapshots
    sidecars: Sidecars
    told: Told
    stop: Event
    """Set by the operator."""

    @property
    def workspace(self) -> Place:
        """The folder that the agent works in."""
        return self.box.places[Path(WORKSPACE)]

    @property
    def home(self) -> Place:
        """The folder that the CLI keeps its logs in."""
        return self.box.places[Path(HOME)]

    def watched(self) -> Over:
        """Watch it to its end; when this returns, no process of it is left."""
        stopped = _Watcher(self).until_over()
        ended = time_of_day()
        last = None
        if stopped is not None:
            self.meter.close_door(_DOOR)
            self.snapshots.look(self.workspace)
            last = solution(self.workspace)
            self.sidecars.take(self.workspace)
            self.box.signal(signal.SIGTERM)
            self.box.wait(self.limits.grace_seconds)
        self.box.kill()
        ending = self.box.ended()
        if ending is None:
            raise MachineError("a session was killed, and yet its sandbox says that it runs")
        stop, why = stopped or (None, "")
        return Over(stop=stop, why=why, ending=ending, ended=ended, at_deadline=last)


class _Watcher:
    """Looks at a session again and again, at each thing as often as its limits say."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._watch = Watch(session.limits, session.clock.budget_seconds)
        # Not of the command: what works in the background has lost its parent.
        self._processor = Processor(session.box.init)
        self._used = 0.0
        self._started = time.monotonic()
        self._next_look = self._next_copy = 0.0
        self._warned = False

    def until_over(self) -> tuple[Stop, str] | None:
        """Why the runner has to end the session; None as soon as it ended by itself."""
        session = self._session
        while session.box.wait(_TICK_S) is None:
            now = time.monotonic() - self._started
            if now >= self._next_look:
                self._next_look = now + session.limits.look_seconds
                self._look(now)
            if now >= self._next_copy:
                self._next_copy = now + session.limits.copy_seconds
                session.transcript.grow(session.home)
            seen = self._seen(now)
            stopped = self._watch.look(seen)
            if stopped is not None:
                return stopped
            if not self._warned and self._watch.warn(seen):
                self._warned = True
                self._warn()
        return None

    def _look(self, now: float) -> None:
        session = self._session
        session.snapshots.look(session.workspace)
        self._used = self._processor.seconds
        account, last = session.meter.account, session.meter.last
        session.told(
            Progress(
                elapsed=now,
                left=session.clock.left_seconds,
                budget=session.clock.budget_seconds,
                exchanges=account.exchanges,
                usage=account.usage,
                snapshots=session.snapshots.count,
                last=f"{last.outcome.value} answer" if last else "no answer yet",
            )
        )

    def _seen(self, now: float) -> Seen:
        session = self._session
        started = session.clock.started
        return Seen(
            now=now,
            since_first_request=None if started is None else session.clock.elapsed_seconds,
            quiet=session.meter.quiet_seconds,
            failures=session.meter.failures_in_a_row,
            refused=_refused(session.meter.last),
            log_bytes=session.transcript.bytes + sum(_size(path) for path in session.logs),
            processor=self._used,
            stop=session.stop.is_set(),
        )

    def _warn(self) -> None:
        left = self._session.clock.left_seconds
        note = f"About {left / 60:.0f} min" if left >= 90 else f"About {left:.0f} s"
        text = f"{note} left when this was written; ./kb-time tells how much now.\n"
        self._session.workspace.write_new(PurePosixPath(SHORT), text.encode())


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _refused(last: Exchange | None) -> bool:
    """Whether an exchange says that the key is refused, or that the account has no credit left."""
    found = None if last is None else trouble(last)
    return found is not None and found.of_account
