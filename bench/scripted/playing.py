"""An answer sent, with its fault: what goes out of the server's socket."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from aiohttp import web

from bench.scripted.dialects import Frame, Speech
from bench.scripted.replies import Reply
from bench.scripted.requests import Request, RequestLog
from bench.scripted.script import Fault, Moment

_LINGER_0 = struct.pack("ii", 1, 0)
"""Closing sends RST instead of FIN, and drops what was not sent."""

_NO_FAULT = Fault()


@dataclass(frozen=True)
class Playing:
    """One answer on its way."""

    log: RequestLog
    request: Request
    speech: Speech
    reply: Reply

    async def play(self, http: web.Request, *, streams: bool) -> web.StreamResponse:
        """Send it. The log knows of each part before it goes out, so that no client is ahead."""
        fault = self.reply.fault or _NO_FAULT
        try:
            await asyncio.sleep(self.reply.wait_seconds)
            if fault.status is not None:
                return await self._refuse(http, fault.status, fault)
            if fault.reset is Moment.BEFORE:
                return self._reset(http, web.Response())
            return await (self._stream(http, fault) if streams else self._whole(http))
        except (ConnectionResetError, asyncio.CancelledError):
            self._note(hung_up=True)
            raise
        finally:
            self.log.finish(self.request)

    def _note(self, **changes: Any) -> None:
        self.log.change(self.request, **changes)

    async def _refuse(self, http: web.Request, status: int, fault: Fault) -> web.StreamResponse:
        after = fault.retry_after
        headers = {} if after is None else {"retry-after": str(after)}
        body = self.speech.error(status, fault.message)
        return await self._json(http, body, status, headers)

    async def _whole(self, http: web.Request) -> web.StreamResponse:
        answer = self.reply.answer
        self._note(told=self.speech.told(answer.usage))
        return await self._json(http, self.speech.whole(answer))

    async def _stream(self, http: web.Request, fault: Fault) -> web.StreamResponse:
        content = "text/event-stream; charset=utf-8"
        response = web.StreamResponse(headers=_headers(self.reply, content))
        await self._open(http, response)
        if fault.reset is Moment.HEADERS:
            return self._reset(http, response)
        frames = list(self.speech.stream(self.reply.answer))
        half = max(1, len(frames) // 2)
        await self._write(response, frames[:half])
        if fault.stall_seconds is not None:
            await asyncio.sleep(fault.stall_seconds)
        if fault.reset is not None:
            return self._reset(http, response)
        if fault.error_event is not None:
            await response.write(self.speech.error_frame(fault.error_event))
        elif not fault.early_end:
            await self._write(response, frames[half:-1])
            self._note(ended=True)
            await self._write(response, frames[-1:])
        self._note(ended=True)
        await response.write_eof()
        return response

    async def _write(self, response: web.StreamResponse, frames: list[Frame]) -> None:
        for frame in frames:
            if frame.told is not None:
                self._note(told=frame.told)
            await response.write(frame.data)

    async def _open(self, http: web.Request, response: web.StreamResponse) -> None:
        self._note(status=response.status)
        await response.prepare(http)

    async def _json(
        self,
        http: web.Request,
        value: Mapping[str, Any],
        status: int = 200,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> web.StreamResponse:
        held = {**_headers(self.reply, "application/json"), **headers}
        response = web.Response(text=json.dumps(value), status=status, headers=held)
        self._note(ended=True)
        await self._open(http, response)
        await response.write_eof()
        return response

    def _reset(self, http: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Close the connection with RST."""
        self._note(ended=True)
        transport = http.transport
        if transport is not None:
            held: socket.socket | None = transport.get_extra_info("socket")
            if held is not None:
                held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
            transport.abort()
        return response


def _headers(reply: Reply, content: str) -> dict[str, str]:
    number = f"req_{reply.answer.id}"
    return {"content-type": content, "request-id": number, "x-request-id": number}
