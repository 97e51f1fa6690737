"""An answer sent, with its fault: what goes out of the server's socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
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
        """Send it; what went out is in the log, also where the client hangs up."""
        fault = self.reply.fault or _NO_FAULT
        try:
            await asyncio.sleep(self.reply.wait_seconds)
            if fault.status is not None:
                return await self._refuse(http, fault.status, fault.retry_after)
            if fault.reset is Moment.BEFORE:
                return _reset(http, web.Response())
            return await (self._stream(http, fault) if streams else self._whole(http, fault))
        except (ConnectionResetError, asyncio.CancelledError):
            self._note(hung_up=True)
            raise
        finally:
            self._note(ended=True)

    def _note(self, **changes: Any) -> None:
        self.log.change(self.request, **changes)

    async def _refuse(
        self, http: web.Request, status: int, retry_after: int | None
    ) -> web.StreamResponse:
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        return await self._json(http, self.speech.error(status), status, headers)

    async def _whole(self, http: web.Request, fault: Fault) -> web.StreamResponse:
        """An answer in one piece: a reset, a stall and an early end come in its middle too."""
        if fault.error_event is not None:
            return await self._json(http, self.speech.error(500), 500)
        answer = self.reply.answer
        data = _encoded(self.speech.whole(answer))
        if fault.reset is None and not fault.early_end and fault.stall_seconds is None:
            self._note(told=self.speech.told(answer.usage))
            return await self._send(http, data, 200, {})
        response = web.StreamResponse(headers=_headers(self.reply, "application/json"))
        await self._open(http, response)
        if fault.reset is Moment.HEADERS:
            return _reset(http, response)
        await response.write(data[: len(data) // 2])
        if fault.reset is not None:
            return _reset(http, response)
        if fault.stall_seconds is not None:
            await asyncio.sleep(fault.stall_seconds)
            await response.write(data[len(data) // 2 :])
            self._note(told=self.speech.told(answer.usage))
        await response.write_eof()
        return response

    async def _stream(self, http: web.Request, fault: Fault) -> web.StreamResponse:
        content = "text/event-stream; charset=utf-8"
        response = web.StreamResponse(headers=_headers(self.reply, content))
        await self._open(http, response)
        if fault.reset is Moment.HEADERS:
            return _reset(http, response)
        frames = list(self.speech.stream(self.reply.answer))
        half = max(1, len(frames) // 2)
        await self._write(response, frames[:half])
        if fault.stall_seconds is not None:
            await asyncio.sleep(fault.stall_seconds)
        if fault.reset is not None:
            return _reset(http, response)
        if fault.error_event is not None:
            await response.write(self.speech.error_frame(fault.error_event))
        elif not fault.early_end:
            await self._write(response, frames[half:])
        await response.write_eof()
        return response

    async def _write(self, response: web.StreamResponse, frames: list[Frame]) -> None:
        for frame in frames:
            await response.write(frame.data)
            if frame.told is not None:
                self._note(told=frame.told)

    async def _open(self, http: web.Request, response: web.StreamResponse) -> None:
        await response.prepare(http)
        self._note(status=response.status)

    async def _json(
        self,
        http: web.Request,
        value: Mapping[str, Any],
        status: int,
        headers: Mapping[str, str] | None = None,
    ) -> web.StreamResponse:
        return await self._send(http, _encoded(value), status, headers or {})

    async def _send(
        self, http: web.Request, data: bytes, status: int, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        held = {**_headers(self.reply, "application/json"), **headers}
        response = web.Response(body=data, status=status, headers=held)
        await self._open(http, response)
        await response.write_eof()
        return response


def _headers(reply: Reply, content: str) -> dict[str, str]:
    number = f"req_{reply.answer.id}"
    return {"content-type": content, "request-id": number, "x-request-id": number}


def _encoded(value: Mapping[str, Any]) -> bytes:
    return web.json_response(value).body  # type: ignore[return-value]


def _reset(http: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection with RST."""
    transport = http.transport
    if transport is not None:
        held: socket.socket | None = transport.get_extra_info("socket")
        if held is not None:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
        transport.abort()
    return response
