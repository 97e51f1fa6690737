"""Both ends of a proxy, down to single bytes: a provider that fails on purpose, a raw client."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.providers import Dialect, Provider
from bench.proxy.clock import Clock
from bench.proxy.form import Meter
from bench.proxy.limits import ProxyLimits
from bench.proxy.metering import metering
from bench.proxy.upstream import Upstream

KEY = "sk-planted/Key+0123456789=~?>"
GENEROUS = 60.0

PATHS = {
    Dialect.ANTHROPIC: "/v1/messages",
    Dialect.RESPONSES: "/v1/responses",
    Dialect.CHAT: "/v1/chat/completions",
    Dialect.GEMINI: "/v1beta/models/gemini-9:streamGenerateContent",
}


@dataclass(frozen=True)
class Got:
    """A request that reached the provider."""

    line: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for held, value in self.headers if held.lower() == name]


@dataclass
class RawProvider:
    """Listens; each connection gets one request read, then `play` writes what it wants."""

    play: Callable[[socket.socket, Got], None]
    got: list[Got] = field(default_factory=list)
    port: int = 0

    def provider(self, **said: Any) -> Provider:
        bases = dict.fromkeys(Dialect, f"http://127.0.0.1:{self.port}/base")
        return Provider(id="raw", bases=bases, key_variable=None, **said)


@contextmanager
def raw_provider(play: Callable[[socket.socket, Got], None]) -> Iterator[RawProvider]:
    """A provider that lives until the end of the block."""
    held = RawProvider(play)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held.port = listener.getsockname()[1]
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return  # the block ended
                thread = threading.Thread(target=answer, args=(connection,), daemon=True)
                threads.append(thread)
                thread.start()

        def answer(connection: socket.socket) -> None:
            with connection:
                request = _request(connection)
                if request is not None:
                    held.got.append(request)
                    play(connection, request)

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield held
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
    for thread in threads:
        thread.join(GENEROUS)


def _request(connection: socket.socket) -> Got | None:
    with connection.makefile("rb") as stream:
        line = stream.readline().decode().strip()
        if not line:
            return None
        headers = []
        while (one := stream.readline().decode("latin-1").strip()) != "":
            name, _, value = one.partition(":")
            headers.append((name, value.strip()))
        length = next(
            (int(value) for name, value in headers if name.lower() == "content-length"), 0
        )
        return Got(line, headers, stream.read(length))


def reset(connection: socket.socket) -> None:
    """Close with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def head(status: str = "200 OK", **headers: str) -> bytes:
    """A status line and headers; `_` in their names stands for `-`.

    A raw provider is gone after its answer, and says so: else somebody may ask it for more.
    """
    told = {"connection": "close", **headers}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items()]
    return f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"
STREAM = {"content_type": "text/event-stream", "transfer_encoding": "chunked"}


def event(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def anthropic_events(*, output: int = 22, stop: str = "end_turn") -> list[bytes]:
    start = {"type": "message_start", "message": {"model": "m-1", "usage": {
        "input_tokens": 100, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 7,
        "output_tokens": 1}}}  # fmt: skip
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hello"}}
    end = {"type": "message_delta", "delta": {"stop_reason": stop},
           "usage": {"output_tokens": output}}  # fmt: skip
    return [event(start), event(delta), event(end), event({"type": "message_stop"})]


def plays_well(connection: socket.socket, request: Got) -> None:
    """A whole streamed answer in Anthropic's dialect."""
    del request
    pieces = [chunk(one) for one in anthropic_events()]
    connection.sendall(head(**STREAM, request_id="req-1") + b"".join(pieces) + LAST_CHUNK)


@dataclass(frozen=True)
class Answered:
    """An answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for held, value in self.headers.items() if held.lower() == name), None)


@dataclass(frozen=True)
class Proxy:
    """A running proxy and where its log lies."""

    meter: Meter
    port: int
    log: Path
    clock: Clock

    @contextmanager
    def posting(
        self,
        body: Any = None,
        *,
        path: str = PATHS[Dialect.ANTHROPIC],
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request for a model, not read yet."""
        data = body if isinstance(body, bytes) else json.dumps(body or {"model": "m"}).encode()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=GENEROUS)) as held:
            held.request(
                "POST", path, data, {"content-type": "application/json", **(headers or {})}
            )
            with held.getresponse() as answer:
                yield answer

    def post(
        self,
        body: Any = None,
        *,
        path: str = PATHS[Dialect.ANTHROPIC],
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """The whole answer to a request for a model, when it is accounted for."""
        before = self.meter.account.exchanges
        with self.posting(body, path=path, headers=headers) as answer:
            answered = Answered(answer.status, dict(answer.getheaders()), answer.read())
        wait_for(lambda: self.meter.account.exchanges > before)
        return answered

    def get(self, path: str) -> Answered:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=GENEROUS)) as held:
            held.request("GET", path)
            with held.getresponse() as answer:
                return Answered(answer.status, dict(answer.getheaders()), answer.read())

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=GENEROUS)

    def settled(self, exchanges: int) -> None:
        """Return when so many have ended and none is open."""
        wait_for(lambda: self.meter.account.exchanges >= exchanges
                 and self.meter.open_exchanges == 0)  # fmt: skip


@contextmanager
def proxied(
    provider: Provider,
    folder: Path,
    *,
    dialect: Dialect = Dialect.ANTHROPIC,
    key: str | None = KEY,
    budget: float = 3600.0,
    limits: ProxyLimits | None = None,
) -> Iterator[Proxy]:
    """A proxy before a provider."""
    clock, log = Clock(budget), folder / "proxy.jsonl"
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        port = listener.getsockname()[1]
        with metering(listener, Upstream(provider, dialect, key), log, clock, limits) as meter:
            yield Proxy(meter, port, log, clock)


def raw_post(body: bytes = b'{"model":"m"}', path: str = "/v1/messages", extra: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: proxy\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    ).encode() + body


@dataclass(frozen=True)
class Heard:
    """All that came on a connection, and how it ended."""

    data: bytes
    was_reset: bool

    @property
    def status(self) -> int | None:
        return int(self.data.split(b" ", 2)[1]) if self.data else None

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]


def stays_silent(connection: socket.socket, request: Got) -> None:
    """Say nothing until the other side goes."""
    del request
    connection.settimeout(GENEROUS)
    listen(connection)


def listen(connection: socket.socket) -> Heard:
    """Read to the end."""
    data = bytearray()
    try:
        while piece := connection.recv(1 << 16):
            data += piece
    except ConnectionResetError:
        return Heard(bytes(data), True)
    return Heard(bytes(data), False)


def tell(proxy: Proxy, request: bytes) -> Heard:
    """What a raw request is answered, to the end of the connection: it has to ask for that."""
    with proxy.connected() as connection:
        try:
            connection.sendall(request)
        except ConnectionError:
            return Heard(b"", was_reset=True)
        return listen(connection)


def wait_for(holds: Callable[[], bool]) -> None:
    """Return when something holds; it fails after a generous time."""
    end = time.monotonic() + GENEROUS
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.005)
