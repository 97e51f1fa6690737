"""Open pages that know when the site has changed, and what is wrong with it.

Pages hear it as server-sent events. The script that listens is added to pages on their way; no
file of the site holds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import hdrs, web

from kbsite.serving.builder import Outcome

PREFIX = "/-/"
"""Where the server's own files stand, beside those of any site."""
_HERE = Path(__file__).parent
_OWN = {"live.js": "text/javascript; charset=utf-8", "live.css": "text/css; charset=utf-8"}
_BEAT = 15.0
"""Seconds after which a line is sent, so that a page that went away is noticed."""
_CLOCK = 20
"""Milliseconds that a file system's clock may be late."""
_ERRORS = 20
"""Errors that a page shows; the terminal has all of them."""


@dataclass(slots=True)
class Live:
    """What open pages are told."""

    serial: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """Grows by one with each change of the site; no page has one of an earlier server."""
    outcome: Outcome | None = None
    """What came of the last build; None until one has ended."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False
    _building: int | None = None
    """When the build that is under way began."""

    def building(self) -> None:
        """Take down that a build begins: what is sent from now on may be older than its files."""
        self._building = _now()

    def built(self, outcome: Outcome) -> None:
        """Tell all pages what came of a build."""
        self.outcome, self._building = outcome, None
        self.serial += bool(outcome.written)
        self._wake()

    def close(self) -> None:
        """Let all pages go."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def injected(self, page: bytes) -> bytes:
        """A page with the script that listens, which knows from when on a file is newer."""
        since = (self._building or _now()) - _CLOCK
        added = (
            f'<link rel="stylesheet" href="{PREFIX}live.css">'
            f'<script src="{PREFIX}live.js" data-since="{since}"'
            f' data-serial="{self.serial}" defer></script>'
        ).encode()
        before, end, after = page.partition(b"</head>")
        return before + added + end + after if end else added + page

    def add_to(self, app: web.Application) -> None:
        """Add what pages ask for."""
        app.router.add_get(f"{PREFIX}events", self._events)
        for name in _OWN:
            app.router.add_get(f"{PREFIX}{name}", _own)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={hdrs.CONTENT_TYPE: "text/event-stream", hdrs.CACHE_CONTROL: "no-store"}
        )
        # A page that went away hears nothing more, or nothing at all.
        with contextlib.suppress(ConnectionResetError):
            await response.prepare(request)
            await self._tell(response)
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        told = None
        while not self._closed:
            news, state = self._news, self._state()
            await response.write(b": \n\n" if state == told else f"data: {state}\n\n".encode())
            told = state
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _BEAT)

    def _state(self) -> str:
        outcome = self.outcome
        errors = outcome.errors if outcome else ()
        more = len(errors) - _ERRORS
        shown = [*errors[:_ERRORS], *([f"and {more} more: see the terminal"] if more > 0 else [])]
        failed = outcome.failed if outcome else None
        return json.dumps({"serial": self.serial, "failed": failed, "errors": shown})


def _now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


async def _own(request: web.Request) -> web.Response:
    name = request.path.removeprefix(PREFIX)
    return web.Response(
        body=(_HERE / name).read_bytes(),
        headers={hdrs.CONTENT_TYPE: _OWN[name], hdrs.CACHE_CONTROL: "no-store"},
    )
