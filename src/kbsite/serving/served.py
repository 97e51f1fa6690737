"""`kbsite serve`, all together: a server, and with `watch` a builder that follows what changes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from kbsite import assets
from kbsite.errors import MachineError, UsageError
from kbsite.serving.answers import (
    LONGEST_LINE,
    Answers,
    add_site,
    application,
    failures,
    is_loopback,
)
from kbsite.serving.builder import Builder, Outcome, Source
from kbsite.serving.live import Live
from kbsite.serving.watching import Changes, lost, watched

_PATIENCE = 1.0
"""Seconds that answers under way get when the server ends."""
_WEIGHT = 0.5
"""Of the time that a build took, how long it rests before the next: a run that grows all the time
leaves the machine to others."""
_LOOK_AGAIN = 5.0
"""Seconds without a change after which all files are looked at: a system tells of most changes."""
_SHARE = 0.02
"""Of the time that looks at all files may take where nothing changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Who hears what happens."""

    ready: Callable[[str], None]
    """Gets the address, once it answers."""
    built: Callable[[Outcome], None] = lambda _: None


@dataclass(slots=True)
class Serving:
    """A server of a site."""

    site: Path
    host: str = "127.0.0.1"
    port: int = 0
    watch: Source | None = None
    """What the site is built from, if it is kept up to date."""
    _end: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def end(self) -> None:
        """End it; to be called in its own thread."""
        self._end.set()

    async def serve(self, told: Told) -> None:
        """Serve until `end`, or a signal; MachineError where the address cannot be had."""
        live = Live() if self.watch else None
        injected = live.injected if live else None
        answers = Answers(self.site, is_loopback(self.host), injected)
        app = application(answers)
        if live:
            live.add_to(app)
        add_site(app, answers)
        runner = web.AppRunner(
            app, access_log=None, logger=failures(), shutdown_timeout=_PATIENCE,
            max_line_size=LONGEST_LINE, max_field_size=LONGEST_LINE,
        )  # fmt: skip
        await runner.setup()
        asyncio.get_running_loop().set_exception_handler(_Crowd(self._end))
        try:
            told.ready(await self._address(runner))
            async with contextlib.AsyncExitStack() as stack:
                if live and self.watch:
                    following = asyncio.create_task(_follow(self.watch, live, told))
                    stack.push_async_callback(_cancelled, following)
                    stack.callback(live.close)
                    following.add_done_callback(lambda _: self.end())
                await self._until_the_end()
        finally:
            await runner.cleanup()

    async def _address(self, runner: web.AppRunner) -> str:
        try:
            await web.TCPSite(runner, self.host, self.port).start()
        except OSError as error:
            message = f"cannot listen on {self.host}, port {self.port}: {error.strerror or error}"
            raise MachineError(f"{message}; choose another with --port or --host") from error
        except UnicodeError as error:
            message = f"--host {self.host}: no name that a machine can have: {error}"
            raise UsageError(message) from error
        host, port = runner.addresses[0][:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    async def _until_the_end(self) -> None:
        loop = asyncio.get_running_loop()
        ends = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup has it ignored
            ends.append(signal.SIGHUP)
        for number in ends:
            # Only the main thread hears signals; in another one whoever started it calls `end`.
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self.end)
        await self._end.wait()


class _Crowd:
    """Tells what goes wrong in the loop; that it can take in nobody else, in a line a minute.

    Of that asyncio tells a trace for each that could wait, each second: thousands of lines. As many
    say, once the server has ended, that it cannot listen again where it was to try so in a second.
    """

    def __init__(self, end: asyncio.Event) -> None:
        self._end = end
        self._silent_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if self._end.is_set() and isinstance(error, ValueError) and "handle" in context:
            return
        if "socket" not in context or not isinstance(error, OSError):
            loop.default_exception_handler(context)
        elif loop.time() >= self._silent_until:
            self._silent_until = loop.time() + _MINUTE
            failures().error(
                "no more connections can be taken: %s; who comes waits until others go, and "
                "`ulimit -n` tells how many there may be", error.strerror or error,
            )  # fmt: skip


_MINUTE = 60.0


async def _follow(source: Source, live: Live, told: Told) -> None:
    """Build, and again whenever something changes."""
    builder = Builder(source)
    changes = Changes()
    try:
        places = source.places()
        while True:
            with watched(places, changes.add):
                # What changed while nobody watched is in this build.
                told.built(await _build(builder, live))
                # A kbsite.yaml of that moment may name places that nobody watches.
                if (now := source.places()) == places:
                    now = await _while_same(places, source, builder, changes, live, told)
                places = now
    finally:
        await builder.stop()


async def _while_same(
    places: list[Path], source: Source, builder: Builder, changes: Changes, live: Live, told: Told
) -> list[Path]:
    """Build whenever something changes, until other places have to be watched; those.

    These are others where kbsite.yaml says so, and where a folder was deleted or came back.

    Builds look at what changed alone. Once there is peace one looks at everything, and then again
    and again: of what other machines change on a network file system, nothing is told.
    """
    rest = _LOOK_AGAIN
    while True:
        changed = await changes.wait(rest)
        if _is_code(changed):
            await builder.stop()
        now = source.places()
        if now != places or lost(places, changed):
            return now
        last, begun = live.outcome, time.monotonic()
        outcome = await _build(builder, live, changed or None)
        # Who looks again, and finds what was told, says nothing.
        if changed or outcome.written or last is None or _says(outcome) != _says(last):
            told.built(outcome)
        took = 0.0 if changed else time.monotonic() - begun
        rest = max(_LOOK_AGAIN, took / _SHARE)
        await asyncio.sleep(outcome.seconds * _WEIGHT)


async def _build(builder: Builder, live: Live, changed: Collection[str] | None = None) -> Outcome:
    live.building()
    outcome = await builder.build(changed)
    live.built(outcome)
    return outcome


def _says(outcome: Outcome) -> tuple[object, ...]:
    return outcome.failed, outcome.errors, outcome.warnings


def _is_code(changed: Iterable[str]) -> bool:
    """Whether the program itself has changed: a process that runs has the old one."""
    package = assets.PACKAGE.absolute()
    return any(path.endswith(".py") and Path(path).is_relative_to(package) for path in changed)


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
