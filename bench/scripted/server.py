"""The scripted model server: HTTP on 127.0.0.1, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from aiohttp import web

from bench.providers import Dialect, Provider
from bench.scripted.answer import ToolCall
from bench.scripted.bodies import mapping
from bench.scripted.dialects import SPEECHES, Speech, Target
from bench.scripted.playing import Playing
from bench.scripted.replies import Player
from bench.scripted.requests import Request, RequestLog
from bench.scripted.script import Script
from kbsite.errors import MachineError, UsageError

RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""What a run may be called in /r/RUN."""

_PREFIX: Final = re.compile(
    r"(?:/r/(?P<run>[A-Za-z0-9][A-Za-z0-9._-]{0,199}))?(?:/s/(?P<script>[a-z][a-z0-9]*(?:@[\w.-]+)?))?"
    r"(?P<path>/.*|)"
)
_MODELS = re.compile(r"(?:/v1(?:beta)?)?/models/?")
_LARGEST_REQUEST = 64 * 2**20
_CLOSING_SECONDS = 0.2
_STARTING_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    """Without a slash at its end: http://127.0.0.1:PORT."""
    log: RequestLog

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, in the order in which they came, also those under way."""
        return self.log.all

    def requests_of(self, run: str) -> tuple[Request, ...]:
        """Those of one run."""
        return tuple(one for one in self.requests if one.run == run)

    def wait_until(self, holds: Callable[[Sequence[Request]], bool], seconds: float) -> bool:
        """Whether it came to hold of the requests within that time."""
        return self.log.wait_until(holds, seconds)


@contextmanager
def serve(
    scripts: Sequence[Script], *, port: int = 0, folder: Path | None = None
) -> Iterator[Server]:
    """Serve scripts until the block ends; MachineError where the port cannot be had.

    Port 0 takes a free one. `folder`, if any, gets each request's body and a log of the answers.
    """
    log = RequestLog(folder)
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
    application = _Application(Player(scripts), log)
    thread = threading.Thread(
        target=lambda: asyncio.run(_serve(application, port, ready)), name="scripted", daemon=True
    )
    thread.start()
    try:
        loop, stop, found = ready.result(_STARTING_SECONDS)
    except OSError as error:
        message = f"127.0.0.1:{port} cannot be listened at: {error.strerror}; choose another port"
        raise MachineError(message) from error
    try:
        yield Server(f"http://127.0.0.1:{found}", log)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def scripted_provider(url: str, run: str, script: str | None = None) -> Provider:
    """The server as a provider that speaks all dialects; UsageError where `run` is no name.

    `run` keeps sessions apart. `script` is played where no marker in the prompt names one.
    """
    if not RUN.fullmatch(run):
        message = f"{run!r} cannot name a run: expected letters, digits and . _ - only"
        raise UsageError(message)
    base = f"{url}/r/{run}" + (f"/s/{script}" if script else "")
    return Provider(
        id="scripted", bases=MappingProxyType(dict.fromkeys(Dialect, base)), key_variable=None,
        slots=1000,
    )  # fmt: skip


async def _serve(
    application: _Application,
    port: int,
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]],
) -> None:
    stop = asyncio.Event()
    held = web.Application(client_max_size=_LARGEST_REQUEST)
    held.router.add_route("*", "/{path:.*}", application.handle)
    runner = web.AppRunner(
        held, access_log=None, handler_cancellation=True, shutdown_timeout=_CLOSING_SECONDS
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        ready.set_exception(error)
        return
    ready.set_result((asyncio.get_running_loop(), stop, runner.addresses[0][1]))
    await stop.wait()
    await runner.cleanup()


class _Application:
    """What becomes of a request."""

    def __init__(self, player: Player, log: RequestLog) -> None:
        self._player = player
        self._log = log

    async def handle(self, http: web.Request) -> web.StreamResponse:
        """The answer to any request."""
        found = _PREFIX.fullmatch(http.path)
        path = found["path"] if found else http.path
        run = (found["run"] if found else None) or ""
        request = self._log.begin(http.method, path, run)
        if http.method in ("GET", "HEAD"):
            return self._looked(request, path)
        for speech in SPEECHES:
            target = speech.target(path) if http.method == "POST" else None
            if target is not None:
                script = found["script"] if found else None
                return await self._asked(http, request, speech, target, script)
        return self._end(request, 404, {"error": {"message": f"no such path: {path}"}})

    def _end(self, request: Request, status: int, value: Mapping[str, Any]) -> web.Response:
        self._log.finish(request, status=status)
        return web.json_response(value, status=status)

    def _looked(self, request: Request, path: str) -> web.Response:
        """Lists of models, and looks whether anybody is there."""
        if _MODELS.fullmatch(path):
            model = {"id": "scripted-1", "object": "model", "type": "model", "created": 0}
            return self._end(request, 200, {"object": "list", "data": [model], "has_more": False})
        if path in ("", "/", "/health"):
            return self._end(request, 200, {"ok": True})
        return self._end(request, 404, {"error": {"message": f"no such path: {path}"}})

    async def _asked(
        self,
        http: web.Request,
        request: Request,
        speech: Speech,
        target: Target,
        script: str | None,
    ) -> web.StreamResponse:
        try:
            raw = await http.read()
        except (asyncio.CancelledError, ConnectionError, web.HTTPException):
            self._log.finish(request, hung_up=True)
            raise
        self._log.keep_body(request, raw)
        request = self._log.change(request, dialect=speech.kind)
        try:
            body = mapping(json.loads(raw))
        except (ValueError, RecursionError):
            return self._end(request, 400, speech.error(400))
        if target.counts:
            return self._end(request, 200, speech.counted(max(1, len(raw) // 4)))
        conversation = speech.read(body, target)
        reply = self._player.reply(conversation, request.run, script)
        calls = tuple(one.name for one in reply.answer.blocks if isinstance(one, ToolCall))
        request = self._log.change(
            request, model=conversation.model, script=reply.script, turn=reply.turn,
            attempt=reply.attempt, tools=tuple(sorted(conversation.tools)), called=calls,
            streamed=conversation.streams, fault=reply.fault.kind if reply.fault else None,
        )  # fmt: skip
        playing = Playing(self._log, request, speech, reply)
        return await playing.play(http, streams=conversation.streams)
