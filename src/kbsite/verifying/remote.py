"""A site on a web server, read with limits: whoever publishes it may be nobody's friend."""

from __future__ import annotations

import http.client
import io
import re
import socket
import time
import zlib
from collections.abc import Collection
from email.message import Message
from hashlib import sha256
from typing import IO, TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from kbsite import __version__
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.model.finding import one_line, short

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

AGENT = f"kbsite-verify/{__version__}"
"""Who asks; `kbsite serve --watch` adds nothing to pages that it sends there."""

SECONDS = 30.0
"""How long a server may be silent."""

MOST_SECONDS = 600.0
"""How long an answer may take: a server that sends a byte now and then is never silent."""

MOST_BYTES = 300_000_000
"""Bytes of a file that are taken."""

MOST_FILES = 2_000_000
"""Files that are asked for."""

WAITS = (0.5, 2.0)
"""Seconds after which a file is asked for again that a server could not send just now."""

MOST_WAITS = 40
"""How often that is done for a site."""

_BUSY = (429, 502, 503, 504)
"""What servers say that may have the file in a moment."""

_PIECE = 1 << 18

MOST_AGAIN = 100
"""Files of each kind that are read again where something is wrong."""

ALL_BYTES = 100_000_000_000
"""Bytes of all files that are taken."""


class _SameOrigin(HTTPRedirectHandler):
    """Follows a server to itself only: a site must not send its reader to somebody else."""

    def http_error_302(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message
    ) -> object:
        """The answer of where a request was sent on to; None where that is no address."""
        # Whatever else was sent would be read to its end, of which there may be none.
        fp.close()
        try:
            return super().http_error_302(req, io.BytesIO(), code, msg, headers)  # type: ignore[arg-type]
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


class _InTime(io.RawIOBase):
    """What a server sends; TimeoutError where that takes longer than a file may take."""

    def __init__(self, sent: IO[bytes]) -> None:
        self._sent = sent
        self._until = time.monotonic() + MOST_SECONDS

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, room: Buffer, /) -> int:
        """Read what is there, and fits; how many bytes that was."""
        if time.monotonic() > self._until:
            raise TimeoutError(f"not sent within {MOST_SECONDS:.0f} s")
        held: int = self._sent.readinto1(room)  # type: ignore[attr-defined]
        return held

    def close(self) -> None:
        """Close it."""
        self._sent.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    """An answer of which all comes in time, its headers too."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.fp = io.BufferedReader(_InTime(self.fp))


class _Asking(AbstractHTTPHandler):
    def do_open(self, http_class: Any, req: Request, **named: Any) -> Any:
        """Ask a server."""

        def connection(*args: Any, **named: Any) -> Any:
            made = http_class(*args, **named)
            made.response_class = _Answer
            return made

        return super().do_open(connection, req, **named)


class _Http(_Asking, HTTPHandler):
    pass


class _Https(_Asking, HTTPSHandler):
    pass


def _taken(answer: http.client.HTTPResponse) -> bytes:
    """What a server sends, or a byte more than a file may have.

    IncompleteRead where it sends less than it said, TimeoutError if it takes for ever.
    """
    held = bytearray()
    while len(held) <= MOST_BYTES:
        piece = answer.read1(min(_PIECE, MOST_BYTES + 1 - len(held)))
        if not piece:
            if answer.length:
                raise http.client.IncompleteRead(bytes(held), answer.length)
            break
        held += piece
    return bytes(held)


def _decoded(data: bytes, coding: str, url: str) -> bytes:
    """What a server sends as it was before it was packed on the way; InputError where it is not.

    Nobody asked for it to be packed, and there are servers that have files in no other way.
    """
    if coding in ("", "identity"):
        return data
    if coding not in ("gzip", "x-gzip"):
        message = f"sent as {one_line(short(coding))!r}, which nobody asked for"
        raise InputError(f"{message}; have the server send it as it is, or as gzip", path=url)
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        held = unpacking.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        raise InputError(f"sent as gzip, and is none: {error}", path=url) from error
    if len(held) <= MOST_BYTES and (not unpacking.eof or unpacking.unused_data):
        raise InputError("sent as gzip, and ends before its end, or after it", path=url)
    return held


def _refused(error: HTTPError) -> str:
    """Why a server gives no file, in words."""
    there = error.headers.get("Location") if 300 <= error.code < 400 else None
    says = f"the server says {error.code}"
    if not there:
        return says
    return f"{says}: it sends its readers to {one_line(short(there))}; verify that, if it is meant"


_FOR_GOOD = (TimeoutError, ConnectionRefusedError, socket.gaierror)


class _UnreachableError(MachineError):
    """A server did not send a file; `for_good` where it will not in a moment either."""

    def __init__(self, message: str, for_good: bool = False) -> None:  # noqa: FBT001, FBT002
        self.for_good = for_good
        super().__init__(message)


def _is_address(url: str) -> bool:
    """Whether a server can be asked for what is at an address."""
    try:
        parts = urlsplit(url)
        named = bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:
        return False
    return named and parts.scheme in ("http", "https")


class UrlPlace:
    """A site at an address."""

    def __init__(self, url: str) -> None:
        if not _is_address(url):
            raise UsageError(f"{url}: expected http:// or https:// and a host, or a folder")
        if "@" in urlsplit(url).netloc:
            # It is asked for without: a password in it would stand in messages and logs.
            raise UsageError("the address holds a user or a password; expected one without")
        self._base = url.removesuffix("index.html").rstrip("/") + "/"
        self._opener = build_opener(_SameOrigin, _Http, _Https)
        self._opener.addheaders = [("User-Agent", AGENT)]
        self._files = 0
        self._bytes = 0
        self._waits = 0
        self._seen: dict[str, bytes] = {}
        """What was read, as digests: servers tell nobody that a site is built anew."""

    def read(self, path: str) -> bytes | None:
        """What a file of the site holds; None if the server has none."""
        data = self._read(path)
        self._seen.setdefault(path, _digest(data))
        return data

    def _read(self, path: str) -> bytes | None:
        url = urljoin(self._base, "./" + quote(path.encode("utf-8", "surrogateescape"), safe="/"))
        self._files += 1
        if self._files > MOST_FILES or self._bytes > ALL_BYTES:
            raise InputError("the site is larger than any that is verified so", path=url)
        data = self._fetched(url)
        if data is None:
            return None
        if len(data) > MOST_BYTES:
            raise InputError(f"more than {MOST_BYTES} bytes, which no file of a site has", path=url)
        self._bytes += len(data)
        return data

    def _fetched(self, url: str) -> bytes | None:
        """What a server sends, asked for again where it could not send it just now."""
        for seconds in WAITS:
            try:
                return self._asked(url)
            except _UnreachableError as error:
                self._waits += 1
                if error.for_good or self._waits > MOST_WAITS:
                    raise
                time.sleep(seconds)
        return self._asked(url)

    def _asked(self, url: str) -> bytes | None:
        try:
            with self._opener.open(url, timeout=SECONDS) as answer:
                data = _taken(answer)
                coding = answer.headers.get("Content-Encoding", "").strip().lower()
        except HTTPError as error:
            error.close()
            if error.code in (404, 410):
                return None
            if error.code in _BUSY:
                raise _UnreachableError(f"{url}: {_refused(error)}; try again later") from error
            raise InputError(_refused(error), path=url) from error
        except (URLError, TimeoutError, http.client.HTTPException, OSError) as error:
            why = getattr(error, "reason", error)
            # Whoever took his time once is not waited for twice.
            for_good = isinstance(error, TimeoutError) or isinstance(why, _FOR_GOOD)
            # What a server sent may stand in it, and would act on a terminal.
            message = f"{url}: cannot be fetched: {one_line(short(str(why)))}"
            raise _UnreachableError(message, for_good) from error
        return _decoded(data, coding, url)

    def names(self) -> None:
        """Nobody can list the files of a web server."""
        return

    def others(self) -> tuple[()]:
        """Nor what else is there."""
        return ()

    def state(self) -> object:
        """What those files hold of which most changes of a site change one."""
        return [self._now(path) for path in _TOLD]

    def is_other(self, wrong: Collection[str]) -> bool:
        """Whether files are others by now: some that are wrong, what those follow from, the first.

        A page may have been read before a build, and what it follows from after it.
        """
        runs = {f"{run[0]}raw/" for path in wrong if (run := _RUN.match(path))}
        raw = (path for path in self._seen if (run := _RUN.match(path)) and f"{run[0]}raw/" in runs)
        again = [[*wrong], [*raw], [*self._seen]] if wrong else []
        some = {path for paths in again for path in paths[:MOST_AGAIN] if path in self._seen}
        return any(self._now(path) != self._seen[path] for path in sorted(some))

    def _now(self, path: str) -> bytes:
        try:
            return _digest(self._read(path))
        except InputError:
            return b""  # it is told where the file is held against what follows


def _digest(data: bytes | None) -> bytes:
    return sha256(data or b"").digest()


_RUN = re.compile("runs/[^/]+/")

_TOLD = ("data/site.json", "data/runs.json", "data/redaction.json")
