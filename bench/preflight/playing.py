"""One session of a contender, in the real runner: scripted, or with a real model for a moment."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from bench.preflight.form import Wanted
from bench.preflight.tools import Tools
from bench.providers import Provider
from bench.proxy.form import Exchange
from bench.proxy.log import read_exchanges
from bench.running.form import Ended, Order, Places, SessionLimits
from bench.running.record import PROXY, own_usage
from bench.running.run import Job, run
from bench.running.session import Progress
from bench.sandbox.processes import family
from bench.sandbox.users import processes_of
from kbsite.model.run import Run
from kbsite.model.usage import Usage
from kbsite.store.run_folders import SOLUTION
from kbsite.store.runs import read_run
from kbsite.store.scratch import scratch_folder

PROBLEMS = Path(__file__).with_name("problems")
PROBLEM = "ready"
BOARD = "preflight"

BUDGET_SECONDS = 180.0
"""Of a scripted session, which takes some seconds where nothing is wrong."""

LIMITS = SessionLimits(
    first_request_seconds=90.0, stall_seconds=90.0, failures=4, look_seconds=0.2, copy_seconds=1.0,
    grace_seconds=2.0, workspace_bytes=256 << 20, home_bytes=1 << 30, scratch_bytes=1 << 30,
)  # fmt: skip

_GONE_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Played:
    """A session that is over, and all that is asked of it."""

    ended: Ended
    run: Run
    exchanges: tuple[Exchange, ...]
    own: Usage | None
    """What the CLI's own log tells in all; None where it tells nothing."""
    solved: bool
    """Whether it left a solution.py."""
    left: tuple[str, ...]
    """Names of processes that outlived it."""
    seconds: float

    @property
    def asked(self) -> tuple[Exchange, ...]:
        """The exchanges with models."""
        return tuple(one for one in self.exchanges if one.model_request)


@dataclass(frozen=True, kw_only=True)
class Leash:
    """How far a session may go before it is ended."""

    operator: Event
    """Set by a person who has enough."""
    tokens: int | None = None
    """Sent and answered together; None for as many as it takes."""
    budget_seconds: float = BUDGET_SECONDS
    limits: SessionLimits = LIMITS

    def over(self, progress: Progress) -> bool:
        """Whether the session has to end now."""
        used = (progress.usage.sent or 0) + (progress.usage.output or 0)
        return self.operator.is_set() or (self.tokens is not None and used >= self.tokens)


def play(wanted: Wanted, tools: Tools, provider: Provider, key: str | None, leash: Leash) -> Played:
    """Let a contender have one session, of which nothing stays on disk.

    Raises MachineError or UsageError where it cannot be started.
    """
    stop, began = Event(), time.monotonic()
    before = set(processes())

    def look(progress: Progress) -> None:
        if leash.over(progress):
            stop.set()

    with scratch_folder("preflight") as folder:
        job = _job(wanted, tools, provider, key, leash, folder)
        ended = run(job, look, stop)
        seconds = time.monotonic() - began
        return Played(
            ended=ended,
            run=read_run(ended.folder).run,
            exchanges=tuple(read_exchanges(ended.folder / PROXY)),
            own=own_usage(wanted.harness, ended.folder),
            solved=(ended.folder / SOLUTION).is_file(),
            left=tuple(_left(before)),
            seconds=seconds,
        )


def _job(
    wanted: Wanted, tools: Tools, provider: Provider, key: str | None, leash: Leash, folder: Path
) -> Job:
    order = Order(
        board=BOARD, problem=PROBLEM, harness=wanted.harness, model=wanted.model,
        provider=provider.id, effort=wanted.effort, budget_seconds=leash.budget_seconds,
    )  # fmt: skip
    return Job(
        order=order, program=tools.programs[wanted.harness],
        adapter=tools.adapters[wanted.harness], provider=provider, key=key,
        places=Places(runs=folder, problems=PROBLEMS, clis=tools.clis), limits=leash.limits,
        sandbox=tools.sandbox,
    )  # fmt: skip


def processes() -> Iterator[int]:
    """Processes that descend from this one, and those of boxes that it had."""
    yield from (pid for pid in family(os.getpid()) if pid != os.getpid())
    yield from processes_of(os.getpid())


def _left(before: set[int]) -> Iterator[str]:
    """What is there that was not; the kernel may take a moment to clear away what it killed."""
    until = time.monotonic() + _GONE_S
    while (left := set(processes()) - before) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in sorted(left):
        try:
            name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield f"{name} ({pid})"
