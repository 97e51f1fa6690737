"""A request on its way to the provider and its answer on the way back, both as they come."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    HttpVersion11,
    TCPConnector,
    web,
)
from multidict import CIMultiDict
from yarl import URL

from bench.proxy.answers import AnswerReader
from bench.proxy.asked import look
from bench.proxy.bodies import Bodies
from bench.proxy.book import Book
from bench.proxy.draft import Draft
from bench.proxy.faults import BrokenOffError, UnansweredError, drop, pieces, unanswered
from bench.proxy.form import CLOCK_PATH, Outcome
from bench.proxy.hiding import Hiding
from bench.proxy.limits import ProxyLimits
from bench.proxy.refusing import RefusedError, refusal
from bench.proxy.upstream import Kind, Route, Upstream, passing

_REQUEST_IDS: Final = ("request-id", "x-request-id", "x-goog-request-id", "x-trace-id", "cf-ray")
_BUDGET_OVER: Final = "the budget of this run is over: no further request is answered"
_NEVER_BACK: Final = frozenset({"set-cookie", "set-cookie2", "alt-svc"})


class HungUpError(Exception):
    """The client is gone."""


@asynccontextmanager
async def opened(limits: ProxyLimits) -> AsyncIterator[ClientSession]:
    """Connections to a provider, kept open between requests."""
    # Shorter than any server keeps one: a request on a connection that is just being closed would
    # look like a fault of the provider.
    connector = TCPConnector(limit=limits.open_at_once, keepalive_timeout=15)
    timeout = ClientTimeout(
        total=None, sock_connect=limits.connect_seconds, sock_read=limits.silence_seconds
    )
    async with ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        max_line_size=32_768,
        max_field_size=32_768,
    ) as session:
        yield session


class Passing:
    """Takes up the requests of a client, one after the other or at once."""

    def __init__(
        self, upstream: Upstream, book: Book, limits: ProxyLimits, session: ClientSession
    ) -> None:
        self._upstream, self._book, self._limits = upstream, book, limits
        self._session = session
        self._bodies = Bodies(limits)
        self._tasks: set[asyncio.Task[object]] = set()

    async def stop(self) -> None:
        """Cut off what is under way; it is written down when this returns."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request: the provider's, or why there is none."""
        if request.method == "GET" and request.raw_path == CLOCK_PATH:
            return web.json_response(self._book.clock.told())
        if request.method == "HEAD" and request.raw_path == "/":
            return web.Response()
        draft = self._book.begin(request.method, request.raw_path.partition("?")[0])
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await self._answered(request, draft)
        except asyncio.CancelledError:
            draft.ended_as = draft.ended_as or Outcome.ABANDONED
            raise
        finally:
            self._tasks.discard(task)
            self._book.end(draft)

    async def _answered(self, request: web.BaseRequest, draft: Draft) -> web.StreamResponse:
        hiding = Hiding(self._upstream.key)
        try:
            route = self._gate(request, draft)
            async with self._asked(request, route, draft) as answer:
                return await self._back(request, answer, draft, hiding)
        except RefusedError as error:
            draft.ended_as, draft.error = Outcome.REFUSED, error.sentence
            return self._said(error.status, error.sentence)
        except UnansweredError as error:
            draft.ended_as = Outcome.UNREACHABLE
            draft.error = error.sentence
            return self._said(error.status, hiding.text(error.sentence))
        except BrokenOffError as error:
            draft.ended_as, draft.error = Outcome.UNREACHABLE, error.sentence
            await drop(request, reset=error.reset)
            return web.Response()

    def _said(self, status: int, sentence: str) -> web.Response:
        body = refusal(self._upstream.dialect, status, sentence)
        answer = web.Response(status=status, body=body, content_type="application/json")
        if status == 429:
            answer.headers["retry-after"] = "1"
        # A body that was refused may still be on its way.
        answer.force_close()
        return answer

    def _gate(self, request: web.BaseRequest, draft: Draft) -> Route:
        """Where the request goes; raises RefusedError where it does not go on."""
        route = self._upstream.route(request.method, request.raw_path)
        if route is None:
            said = f"{request.method} {draft.path[:100]} is not what this proxy lets through"
            raise RefusedError(404, said)
        draft.dialect = self._upstream.dialect
        draft.model_request = route.kind is Kind.MODEL
        self._check_open()
        if len(self._tasks) > self._limits.open_at_once:
            raise RefusedError(429, f"{self._limits.open_at_once} requests are under way already")
        if draft.model_request:
            self._book.clock.start()
        return route

    def _check_open(self) -> None:
        if self._book.closed is not None:
            raise RefusedError(403, self._book.closed)
        if self._book.clock.over:
            raise RefusedError(403, _BUDGET_OVER)

    @asynccontextmanager
    async def _asked(
        self, request: web.BaseRequest, route: Route, draft: Draft
    ) -> AsyncIterator[ClientResponse]:
        """The provider's answer, from its headers on."""
        headers = self._upstream.headers(request.headers.items())
        async with self._bodies.read(request, self._book.touch) as given:
            body = self._looked(given, draft) if request.method == "POST" else None
            del given
            self._check_open()  # the body may have taken its time
            draft.sent_bytes = len(body or b"")
            try:
                answer = await self._session.request(
                    request.method,
                    URL(route.url, encoded=True),
                    headers=headers,
                    data=body,
                    allow_redirects=False,
                )
            except (ClientError, TimeoutError) as error:
                raise unanswered(error) from error
        try:
            yield answer
        finally:
            # Only an answer that was read to its end leaves a connection that can be used again.
            answer.close()

    def _looked(self, given: bytes, draft: Draft) -> bytes:
        try:
            wanted = look(self._upstream.dialect, draft.path, given)
        except ValueError as error:
            raise RefusedError(400, str(error)) from error
        draft.model, draft.server_tools = wanted.model, wanted.server_tools
        if wanted.server_tools and not self._limits.server_tools:
            named = ", ".join(one[:50] for one in wanted.server_tools[:5])
            raise RefusedError(403, f"tools of the provider are not allowed here: {named}")
        return wanted.body

    async def _back(
        self, request: web.BaseRequest, answer: ClientResponse, draft: Draft, hiding: Hiding
    ) -> web.StreamResponse:
        """Pass an answer on, and read it on the side."""
        draft.answered()
        self._book.touch()
        draft.status = answer.status
        draft.kind = answer.headers.get("content-type", "")
        draft.request_id = _first(answer, _REQUEST_IDS)
        draft.retry_after_seconds = _retry_after(answer)
        out = _head(request, answer, hiding)
        reader = AnswerReader(
            draft.told,
            self._upstream.dialect,
            status=answer.status,
            encoding=answer.headers.get("content-encoding", "").strip().lower(),
        )
        try:
            await _sent(out.prepare(request))
            await self._stream(answer, out, draft, (hiding, reader))
        except BrokenOffError as error:
            draft.ended_as, draft.error = Outcome.BROKEN, error.sentence
            await drop(request, reset=error.reset)
        except HungUpError:
            draft.ended_as = Outcome.ABANDONED
        finally:
            named = reader.end()
            if draft.retry_after_seconds is None:
                draft.retry_after_seconds = named
        return out

    async def _stream(
        self,
        answer: ClientResponse,
        out: web.StreamResponse,
        draft: Draft,
        through: tuple[Hiding, AnswerReader],
    ) -> None:
        hiding, reader = through
        async for piece in pieces(answer):
            self._book.touch()
            draft.received_bytes += len(piece)
            reader.feed(piece)
            draft.heard = reader.heard
            if shown := hiding.feed(piece):
                await _sent(out.write(shown))
        if rest := hiding.rest():
            await _sent(out.write(rest))
        # Its end is written by the server, after `handle`: who sees it finds it accounted for.


async def _sent(writing: Awaitable[object]) -> None:
    """Wait for something to be written to the client; raises HungUpError where it is gone."""
    try:
        await writing
    except ConnectionError as error:
        raise HungUpError from error


def _head(request: web.BaseRequest, answer: ClientResponse, hiding: Hiding) -> web.StreamResponse:
    """Status and headers of an answer, for the client."""
    headers = CIMultiDict(
        (name, hiding.text(value))
        for name, value in passing(answer.headers.items())
        if name.lower() not in _NEVER_BACK
    )
    out = web.StreamResponse(status=answer.status, headers=headers)
    bodiless = answer.status in (204, 304)
    if "content-length" not in headers and not bodiless and request.version >= HttpVersion11:
        out.enable_chunked_encoding()
    return out


def _first(answer: ClientResponse, names: Sequence[str]) -> str | None:
    return next((answer.headers[name] for name in names if name in answer.headers), None)


def _retry_after(answer: ClientResponse) -> float | None:
    """Seconds that an answer asks to wait, by the header of the standard or a finer one."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        said = answer.headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", said, re.ASCII):
            return float(said) * scale
    try:
        when = parsedate_to_datetime(answer.headers.get("retry-after", ""))
        # A zone that is left out is that of the standard, not that of this machine.
        when = (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
