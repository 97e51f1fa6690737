"""Requests for files of a site, answered as a careful web server does."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from kbsite.serving.paths import place_of
from kbsite.store.media_types import type_of

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.web_request import BaseRequest

POLICY = "Content-Security-Policy"
CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'self'"
)
"""What pages may do, where they do not say so themselves."""
SEARCHES = "search/pagefind-worker.js"
"""The script that reads the index of texts, in WebAssembly. It runs in a worker, which goes by the
policy that its own script comes with, and not by that of the page."""
SEARCHING = CSP.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")
WRITTEN = "X-Written"
"""When a file was written, in milliseconds since 1970: Last-Modified knows seconds."""
_OWN = re.compile(rb'http-equiv="Content-Security-Policy" content="([^"\r\n]*)"')
_HEAD = 4096
"""Bytes of a page that its policy stands in."""
LONGEST_LINE = 1 << 16
"""Bytes of an address or a header: browsers send this machine the cookies of all its ports."""
_ONE_RANGE = re.compile(r"bytes=(\d+-\d*|-\d+)")
_LAST_NONE = re.compile(r"(?<=bytes=)-0+$")
_BEYOND = f"{1 << 62}-"
"""A range that no file has: aiohttp takes the last 0 bytes of one for all of them."""
_PAGE = Path("404.html")

VERIFIER = "kbsite-verify/"
"""How `kbsite verify` calls itself: it is sent the files of the site as they are."""

Injected = Callable[[bytes], bytes]
"""What is added to a page on its way."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A site, and how it is served."""

    site: Path
    local: bool = True
    """Whether only this machine is listened to: then a page of another host, which a name server
    can lead here, gets nothing."""
    injected: Injected | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The file that is asked for; the site's own page where there is none."""
        place = place_of(self.site, request.rel_url.raw_path)
        if place.folder:
            target = request.rel_url.raw_path + "/"
            query = request.rel_url.raw_query_string
            location = f"{target}?{query}" if query else target
            return web.Response(status=301, headers={hdrs.LOCATION: location})
        if place.file is None:
            return self._missing()
        if place.file.suffix == ".html" and self.injected and not _verifies(request):
            return _page(request, place.file, self.injected)
        headers = {hdrs.CONTENT_TYPE: type_of(place.file), WRITTEN: _written(place.file)}
        if place.file.suffix == ".html":
            headers[POLICY] = _policy(_start(place.file))
        elif place.file == self.site / SEARCHES:
            headers[POLICY] = SEARCHING
        return _Sent(place.file, headers=headers)

    def _missing(self) -> web.Response:
        try:
            text = (self.site / _PAGE).read_bytes()
        except OSError:
            text = b"<!doctype html><title>not found</title><p>There is no site here yet."
            text = self.injected(text) if self.injected else text
        # The site's own page allows itself no script, so that nothing is added to it.
        headers = {hdrs.CONTENT_TYPE: type_of(_PAGE), POLICY: _policy(text)}
        return web.Response(status=404, body=text, headers=headers)


def application(answers: Answers) -> web.Application:
    """What answers all requests; routes that are added go before the site's files."""
    app = web.Application(middlewares=[_careful(answers)])
    app.on_response_prepare.append(_sign)
    return app


def failures() -> logging.Logger:
    """Where failures of the server are told; a request that is none is the client's alone."""
    log = logging.getLogger(__name__)
    log.addFilter(_is_ours)
    return log


def _is_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def add_site(app: web.Application, answers: Answers) -> None:
    """Let the files of the site answer what no other route does."""
    app.router.add_get(r"/{path:[\s\S]*}", answers.answer)


def _careful(answers: Answers) -> Callable[..., Awaitable[web.StreamResponse]]:
    @web.middleware
    async def careful(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if answers.local and not is_loopback(_host(request)):
            return web.Response(status=421, text="This serves localhost only.\n")
        return await handler(request)

    return careful


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there, or is called so."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host(request: web.Request) -> str:
    """The host that a request is meant for, without its port and brackets."""
    host = request.headers.get(hdrs.HOST, "")
    return re.sub(r":\d+$", "", host).strip("[]").lower()


async def _sign(_: web.Request, response: web.StreamResponse) -> None:
    """Add what every answer has to say."""
    response.headers.setdefault(POLICY, CSP)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-cache")
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers[hdrs.VARY] = hdrs.ACCEPT_ENCODING


def _start(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_HEAD)
    except OSError:
        # The site has just been swapped; whoever sends the file says that it is gone.
        return b""


def _written(file: Path) -> str:
    try:
        return str(file.stat().st_mtime_ns // 1_000_000)
    except OSError:
        return "0"


def _policy(page: bytes) -> str:
    """The policy that a page names itself, as some need another one than most."""
    own = _OWN.search(page[:_HEAD])
    return f"{own[1].decode('latin-1')}; frame-ancestors 'self'" if own else CSP


def _verifies(request: web.Request) -> bool:
    """Whether somebody asks who holds pages against what they are to be: nothing is added then."""
    return request.headers.get(hdrs.USER_AGENT, "").startswith(VERIFIER)


def _page(request: web.Request, file: Path, injected: Injected) -> web.Response:
    """A page with what is added to it."""
    try:
        text, changed = file.read_bytes(), file.stat().st_mtime
    except OSError:
        return web.Response(status=404)
    body = injected(text)
    # Not the tag of the file: a browser may hold the page as it is without what is added.
    tag = sha256(body).hexdigest()[:32]
    matching = request.if_none_match or ()
    fresh = any(held.value in (tag, "*") for held in matching)
    response = web.Response(
        status=304 if fresh else 200, body=None if fresh else body,
        headers={hdrs.CONTENT_TYPE: type_of(file), POLICY: _policy(text)},
    )  # fmt: skip
    response.headers[WRITTEN] = _written(file)
    response.etag = tag
    response.last_modified = changed
    return response


class _Sent(web.FileResponse):
    """A file, with what aiohttp leaves open: tags in If-Range, several ranges, q=0."""

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        """Send it."""
        headers = _conditions(request)
        asked = headers.get(hdrs.RANGE)
        if asked and not self._ranged(asked, headers.get(hdrs.IF_RANGE)):
            del headers[hdrs.RANGE]
            headers.pop(hdrs.IF_RANGE, None)
        elif asked:
            headers[hdrs.RANGE] = _LAST_NONE.sub(_BEYOND, asked.strip())
        headers[hdrs.ACCEPT_ENCODING] = "gzip" if _takes_gzip(request) and not asked else ""
        return await super().prepare(request.clone(headers=headers))

    def _ranged(self, asked: str, condition: str | None) -> bool:
        """Whether a part is sent: one, and of the file that the rest was of."""
        if not _ONE_RANGE.fullmatch(asked.strip()):
            return False
        if condition is None:
            return True
        try:
            held = self._path.stat()
        except OSError:
            return False
        if not condition.strip().startswith(('"', "W/")):
            # The very date that it came with: a later one tells of no file that there was.
            return _date(condition) == ceil(held.st_mtime)
        return condition.strip() == f'"{held.st_mtime_ns:x}-{held.st_size:x}"'


_CONDITIONS = (hdrs.IF_MATCH, hdrs.IF_NONE_MATCH, hdrs.IF_RANGE, hdrs.RANGE)
_DATES = (hdrs.IF_MODIFIED_SINCE, hdrs.IF_UNMODIFIED_SINCE)


def _conditions(request: BaseRequest) -> CIMultiDict[str]:
    """The headers that say what of a file is sent, without those that are no text or no date.

    Others do not count: a cookie that another program of this machine set may hold any bytes.
    """
    asked = CIMultiDict[str]()
    for name in (*_CONDITIONS, *_DATES):
        held = request.headers.get(name)
        if held is not None and held.isascii() and (name not in _DATES or _date(held) is not None):
            asked[name] = held
    return asked


def _date(text: str) -> float | None:
    """Seconds since 1970 of a header's date; None where it is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _takes_gzip(request: BaseRequest) -> bool:
    takes: dict[str, bool] = {}
    for item in request.headers.get(hdrs.ACCEPT_ENCODING, "").lower().split(","):
        name, _, weight = item.partition(";")
        takes[name.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    # What is said of it by its name goes before what is said of all others.
    return takes.get("gzip", takes.get("*", False))
