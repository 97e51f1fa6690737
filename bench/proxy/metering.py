"""A proxy for one run, in a thread of its own, with an account that any thread can ask for."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench.proxy.book import Book
from bench.proxy.clock import Clock
from bench.proxy.form import Meter
from bench.proxy.hiding import Hiding
from bench.proxy.limits import ProxyLimits
from bench.proxy.serving import serve
from bench.proxy.upstream import Upstream


@contextmanager
def metering(
    listener: socket.socket,
    upstream: Upstream,
    log: Path,
    clock: Clock,
    limits: ProxyLimits | None = None,
) -> Iterator[Meter]:
    """A proxy that accepts on a listening socket until the end of the block.

    What is under way then is cut off. The socket stays open for its owner; `log` must not be there
    yet. The clock is started by the first request for a model. Raises OSError if the log or the
    socket cannot be used, or if a line of the log could not be written meanwhile.
    """
    limits = limits or ProxyLimits()
    with Book(log, clock, Hiding(upstream.key)) as book:
        thread = _Thread(listener, upstream, book, limits)
        thread.start()
        try:
            yield book
        finally:
            thread.stop()


class _Thread:
    """An event loop in a thread, from its first accepted connection to its last word."""

    def __init__(
        self, listener: socket.socket, upstream: Upstream, book: Book, limits: ProxyLimits
    ) -> None:
        self._listener, self._upstream, self._book, self._limits = listener, upstream, book, limits
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="proxy")

    def start(self) -> None:
        """Return when connections are accepted."""
        self._ended = self._pool.submit(self._run)
        self._ended.add_done_callback(lambda _: self._ready.set())
        self._ready.wait()
        if self._ended.done():
            self.stop()

    def stop(self) -> None:
        """Return when the loop has ended; what went wrong in it is raised here."""
        if not self._ended.done():
            with contextlib.suppress(RuntimeError):  # it ended in between
                self._loop.call_soon_threadsafe(self._stop.set)
        try:
            self._ended.result()
        finally:
            self._pool.shutdown()

    def _run(self) -> None:
        # Not asyncio.run: it waits for look-ups of names, and a dead resolver would hold up the
        # end of a run.
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        # A copy of the descriptor: closing the server leaves the caller's socket open.
        with self._listener.dup() as held:
            async with serve(held, self._upstream, self._book, self._limits):
                self._ready.set()
                await self._stop.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
