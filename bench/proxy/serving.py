"""The server side of a proxy: connections of a CLI, each request handed to `Passing`."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakSet

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from bench.proxy.book import Book
from bench.proxy.limits import ProxyLimits
from bench.proxy.passing import Passing, opened
from bench.proxy.upstream import Upstream

_TOLD = logging.getLogger("bench.proxy")


class _NoNews(logging.Filter):
    """Leaves out requests that are no HTTP: a hostile client sends as many as it likes."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a person should hear of it."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError)


_TOLD.addFilter(_NoNews())


@asynccontextmanager
async def serve(
    listener: socket.socket, upstream: Upstream, book: Book, limits: ProxyLimits
) -> AsyncIterator[None]:
    """Accept on a socket until the end of the block; what is under way then is cut off."""
    async with opened(limits) as session:
        passing = Passing(upstream, book, limits, session)
        server = _Server(passing.handle, handler_cancellation=True, access_log=None, logger=_TOLD)

        def connection() -> asyncio.Protocol:
            return server() if len(server.connections) < limits.connections else _Busy()

        listener.setblocking(False)  # noqa: FBT003
        loop = asyncio.get_running_loop()
        accepting = await loop.create_server(connection, sock=listener)
        try:
            yield
        finally:
            await _let_nobody_in(accepting)
            await passing.stop()
            # 0 would mean to wait for ever.
            await server.shutdown(timeout=0.05)
            # Who reads nothing of what is still to be sent would keep its connection open.
            for transport in list(server.transports):
                transport.abort()
            await asyncio.sleep(0)


async def _let_nobody_in(accepting: asyncio.Server) -> None:
    """Close what accepts, once all that it let in have their connections.

    Some rounds of the loop later: one makes a transport of a socket, one tells its protocol, one is
    behind both. Of a server that is closed meanwhile Python makes none, and closes no socket.
    """
    loop = asyncio.get_running_loop()
    for one in accepting.sockets:
        loop.remove_reader(one.fileno())
    for _ in range(3):
        await asyncio.sleep(0)
    accepting.close()


class _Server(web.Server):
    """One that knows each connection until nothing holds it any more."""

    def __init__(self, *args: Any, **told: Any) -> None:
        super().__init__(*args, **told)
        self.transports: WeakSet[asyncio.Transport] = WeakSet()

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Remember it."""
        super().connection_made(handler, transport)
        self.transports.add(transport)


class _Busy(asyncio.Protocol):
    """A connection too many: it is closed as it comes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hang up."""
        if isinstance(transport, asyncio.Transport):
            transport.abort()
