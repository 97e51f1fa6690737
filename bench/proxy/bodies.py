"""Bodies of requests, read whole within limits: of one, and of all that are held at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from bench.proxy.limits import ProxyLimits
from bench.proxy.refusing import RefusedError


class Bodies:
    """Counts what is held in memory."""

    def __init__(self, limits: ProxyLimits) -> None:
        self._limits = limits
        self._held = 0

    @asynccontextmanager
    async def read(
        self, request: web.BaseRequest, came: Callable[[], None]
    ) -> AsyncIterator[bytes]:
        """The body of a request; `came` is called for each piece of it.

        Raises RefusedError where it is too large, or not what its headers say.
        """
        if (request.content_length or 0) > self._limits.body_bytes:
            raise self._too_large()
        if request.headers.get("expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        body = bytearray()
        try:
            try:
                async for piece in request.content.iter_any():
                    came()
                    body += piece
                    self._held += len(piece)
                    self._check(len(body))
            except (web.RequestPayloadError, HttpProcessingError) as error:
                raise RefusedError(400, f"the body is damaged: {error}") from error
            yield bytes(body)
        finally:
            self._held -= len(body)

    def _check(self, size: int) -> None:
        if size > self._limits.body_bytes:
            raise self._too_large()
        if self._held > self._limits.held_bytes:
            raise RefusedError(429, "the requests under way are too large together")

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"a request has at most {self._limits.body_bytes} bytes")
