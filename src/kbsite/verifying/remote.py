"""A site on a web server, read with limits: whoever publishes it may be nobody's friend."""

from __future__ import annotations

import http.client
import time
from email.message import Message
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from kbsite.errors import InputError, MachineError, UsageError
from kbsite.model.finding import one_line, short

SECONDS = 30.0
"""How long a server may be silent."""

MOST_SECONDS = 600.0
"""How long a file may take: a server that sends a byte now and then is never silent."""

MOST_BYTES = 300_000_000
"""Bytes of a file that are taken."""

MOST_FILES = 2_000_000
"""Files that are asked for."""

_PIECE = 1 << 18

ALL_BYTES = 100_000_000_000
"""Bytes of all files that are taken."""


class _SameOrigin(HTTPRedirectHandler):
    """Follows a server to itself only: a site must not send its reader to somebody else."""

    def http_error_302(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message
    ) -> object:
        """The answer of where a request was sent on to; None where that is no address."""
        try:
            return super().http_error_302(req, fp, code, msg, headers)  # type: ignore[arg-type]
        except ValueError:
            return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        """The request to make in place of one that was redirected; None to make none."""
        if _origin(req.full_url) != _origin(newurl):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _taken(answer: http.client.HTTPResponse) -> bytes:
    """What a server sends, or a byte more than a file may have; TimeoutError if it takes for ever.

    IncompleteRead where it sends less than it said.
    """
    held, until = bytearray(), time.monotonic() + MOST_SECONDS
    while len(held) <= MOST_BYTES:
        piece = answer.read1(min(_PIECE, MOST_BYTES + 1 - len(held)))
        if not piece:
            if answer.length:
                raise http.client.IncompleteRead(bytes(held), answer.length)
            break
        held += piece
        if time.monotonic() > until:
            raise TimeoutError(f"not sent within {MOST_SECONDS:.0f} s")
    return bytes(held)


def _refused(error: HTTPError) -> str:
    """Why a server gives no file, in words."""
    there = error.headers.get("Location") if 300 <= error.code < 400 else None
    says = f"the server says {error.code}"
    if not there:
        return says
    return f"{says}: it sends its readers to {one_line(short(there))}; verify that, if it is meant"


class UrlPlace:
    """A site at an address."""

    def __init__(self, url: str) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise UsageError(f"{url}: expected http:// or https://, or a folder")
        self._base = url.removesuffix("index.html").rstrip("/") + "/"
        self._opener = build_opener(_SameOrigin)
        self._files = 0
        self._bytes = 0

    def read(self, path: str) -> bytes | None:
        """What a file of the site holds; None if the server has none."""
        url = urljoin(self._base, "./" + quote(path.encode("utf-8", "surrogateescape"), safe="/"))
        self._files += 1
        if self._files > MOST_FILES or self._bytes > ALL_BYTES:
            raise InputError("the site is larger than any that is verified so", path=url)
        try:
            with self._opener.open(url, timeout=SECONDS) as answer:
                data = _taken(answer)
        except HTTPError as error:
            error.close()
            if error.code in (404, 410):
                return None
            raise InputError(_refused(error), path=url) from error
        except (URLError, TimeoutError, http.client.HTTPException, OSError) as error:
            why = getattr(error, "reason", error)
            raise MachineError(f"{url}: cannot be fetched: {why}") from error
        if len(data) > MOST_BYTES:
            raise InputError(f"more than {MOST_BYTES} bytes, which no file of a site has", path=url)
        self._bytes += len(data)
        return data

    def names(self) -> None:
        """Nobody can list the files of a web server."""
        return

    def others(self) -> tuple[()]:
        """Nor what else is there."""
        return ()
