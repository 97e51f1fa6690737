"""An S3-compatible service on loopback: moto's server, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

Environ = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asked the service for."""

    method: str
    path: str
    """Bucket and key, with a slash before them."""
    query: str


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        """Tell nobody."""


@dataclass(slots=True)
class Service:
    """The service, and what it was asked since the last `forget`."""

    requests: list[Request] = field(default_factory=list)
    before: Callable[[Request], int | None] | None = None
    """Sees each request first; a number that it returns is the answer's status, with no body."""
    _server: Any = None
    _app: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def start(self, port: int = 0) -> None:
        self._app = self._app or DomainDispatcherApplication(create_backend_app)
        self._server = make_server(
            "127.0.0.1", port, self._answer, threaded=True, request_handler=_Quiet
        )
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def forget(self) -> None:
        self.requests.clear()
        self.before = None

    def asked(self, method: str) -> list[str]:
        """The keys that were asked for with a method, without their bucket."""
        held = [request for request in self.requests if request.method == method]
        return [request.path.split("/", 2)[2] for request in held if request.path.count("/") > 1]

    def _answer(self, environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"].encode("latin-1").decode()
        request = Request(environ["REQUEST_METHOD"], path, environ["QUERY_STRING"])
        with self._lock:
            self.requests.append(request)
            status = self.before(request) if self.before else None
        if status is not None:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(f"{status} Refused", [("Content-Length", "0")])
            return [b""]
        answered: Iterable[bytes] = self._app(environ, start)
        return answered
