"""A server of a site in a thread, and what a client sees of it."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any, TypeVar
from urllib.parse import urlsplit

from kbsite.serving.builder import Outcome, Source
from kbsite.serving.served import Serving, Told

T = TypeVar("T")
_RUN = asyncio.run  # also where a test puts `run_apart` in its place

PATIENCE = 60.0
"""Seconds that anything may take on a slow machine."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def __getitem__(self, name: str) -> str:
        return self.headers[name.lower()]


@dataclass(frozen=True)
class Running:
    """A server at work."""

    url: str
    outcomes: Queue[Outcome] = field(default_factory=Queue)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def get(self, path: str = "/", method: str = "GET", **headers: str) -> Answer:
        """What is answered to a request; names of headers are written with underscores."""
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            told = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=told)
            response = connection.getresponse()
            held = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, held, response.read())
        finally:
            connection.close()

    def raw(self, request: bytes) -> bytes:
        """What is answered to these very bytes, until the server ends the connection."""
        with socket.create_connection(self.address, timeout=PATIENCE) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def built(self) -> Outcome:
        """What comes of the next build."""
        return self.outcomes.get(timeout=PATIENCE)


def until(true: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """What some work gives, in a thread of its own: this one may have Playwright's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_RUN, work).result(PATIENCE)


@contextmanager
def running(site: Path, watch: Source | None = None, host: str = "127.0.0.1") -> Iterator[Running]:
    """A server of a site until the end of the block."""
    addresses: Queue[str | BaseException] = Queue()
    outcomes: Queue[Outcome] = Queue()
    ends: list[Callable[[], object]] = []

    async def serve() -> None:
        serving = Serving(site, host, watch=watch)
        loop = asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(serving.end))
        await serving.serve(Told(ready=addresses.put, built=outcomes.put))

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            addresses.put(error)
            raise

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    address = addresses.get(timeout=PATIENCE)
    assert isinstance(address, str), address
    try:
        yield Running(address, outcomes)
    finally:
        ends[0]()
        thread.join(PATIENCE)
        assert not thread.is_alive()
