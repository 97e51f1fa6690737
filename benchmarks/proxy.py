"""What the metering proxy costs beside asking directly: `python -m benchmarks.proxy`.

Provider, proxy and client are processes of their own, as they are in a run. It prints what was
measured and judges nothing: times hang on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import socket
import socketserver
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
MEGABYTE = 1_000_000
_LONG_TIMES = 3


@dataclass(frozen=True, kw_only=True)
class Way:
    """What one way to ask took; seconds of the median, megabytes a second of the fastest."""

    first_byte: float
    short: float
    """A request with a stream of 20 events, to its end."""
    throughput: float


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """Both ways, and what the proxy's process needed."""

    direct: Way
    proxied: Way
    peak: int
    """Bytes of memory of the proxy's process at most, Python and aiohttp included."""
    processor: float
    """Seconds of processor time that a megabyte takes in the proxy."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table; with a part's name, be that part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["provider", "proxy"], help=argparse.SUPPRESS)
    parser.add_argument("url", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--times", type=int, default=300, help="How many short requests")
    parser.add_argument("--megabytes", type=int, default=100, help="Size of the long answer")
    options = parser.parse_args(arguments)
    match options.part:
        case "provider":
            _be_provider()
        case "proxy":
            _be_proxy(options.url)
        case _:
            held = overhead(options.times, options.megabytes)
            Console(width=max(110, Console().width)).print(table(held))


def overhead(times: int, megabytes: int) -> Overhead:
    """Measure both ways."""
    with _part("provider") as provider, _part("proxy", provider.url) as proxy:
        ways = [_way(part.url, times, megabytes) for part in (provider, proxy)]
        told = proxy.end()
    return Overhead(
        direct=ways[0],
        proxied=ways[1],
        peak=told["peak"],
        processor=told["processor"] / (megabytes * _LONG_TIMES),
    )


def table(held: Overhead) -> Table:
    """The figures of both ways side by side, with their ratio."""
    shown = Table(title="A request, directly and through the metering proxy")
    for heading in ("", "directly", "through the proxy", "ratio", "more"):
        shown.add_column(heading, justify="left" if not heading else "right")
    for name, one, other in (
        ("first byte", held.direct.first_byte, held.proxied.first_byte),
        ("stream of 20 events", held.direct.short, held.proxied.short),
    ):
        more = f"{1000 * (other - one):+.2f} ms"
        ratio = f"{other / one:.2f}"
        shown.add_row(name, f"{1000 * one:.2f} ms", f"{1000 * other:.2f} ms", ratio, more)
    one, other = held.direct.throughput, held.proxied.throughput
    shown.add_row("long answer", f"{one:.0f} MB/s", f"{other:.0f} MB/s", f"{other / one:.2f}", "")
    shown.add_row("its memory at most", "", f"{held.peak / MEGABYTE:.0f} MB", "", "")
    shown.add_row("its processor time", "", f"{1000 * held.processor:.1f} ms/MB", "", "")
    return shown


def _way(url: str, times: int, megabytes: int) -> Way:
    address = urlsplit(url).netloc
    held = http.client.HTTPConnection(address, timeout=600)
    short = [_asked(held, 0) for _ in range(times + 5)][5:]
    long = [_asked(held, megabytes) for _ in range(_LONG_TIMES)]
    held.close()
    return Way(
        first_byte=median(first for first, _ in short),
        short=median(whole for _, whole in short),
        throughput=megabytes / min(whole for _, whole in long),
    )


def _asked(held: http.client.HTTPConnection, megabytes: int) -> tuple[float, float]:
    """Seconds to the first byte of an answer, and to its last."""
    body = json.dumps({"model": "m", "stream": True, "max_tokens": megabytes or 1})
    began = time.perf_counter()
    held.request("POST", "/v1/messages", body, {"content-type": "application/json"})
    answer = held.getresponse()
    answer.read(1)
    first = time.perf_counter() - began
    while answer.read(1 << 16):
        pass
    return first, time.perf_counter() - began


class _Part:
    """A process of the measurement."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()["url"]

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        held: dict[str, Any] = json.loads(self._process.stdout.readline())
        return held

    def end(self) -> dict[str, Any]:
        """Have it end, and what it tells of itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._line()


@contextmanager
def _part(name: str, *arguments: str) -> Iterator[_Part]:
    command = [sys.executable, "-m", "benchmarks.proxy", name, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - our own program
        command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True
    ) as process:
        try:
            yield _Part(process)
        finally:
            process.terminate()


class _Answer(socketserver.StreamRequestHandler):
    """Answers each request with a stream: 20 events, or one megabyte after the other."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Read requests and answer them until the client goes."""
        while self.rfile.readline().strip():
            size = 0
            while line := self.rfile.readline().strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            megabytes = json.loads(self.rfile.read(size))["max_tokens"]
            self._stream(megabytes if megabytes > 1 else 0)

    def _stream(self, megabytes: int) -> None:
        start = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}}
        delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * 60}}
        end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
               "usage": {"output_tokens": 1}}  # fmt: skip
        self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                         b"transfer-encoding: chunked\r\n\r\n")  # fmt: skip
        one = _event(delta)
        pieces = [one] * 18 if not megabytes else [one * (MEGABYTE // len(one))] * megabytes
        for piece in (_event(start), *pieces, _event(end)):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


def _event(data: object) -> bytes:
    return b"event: x\ndata: " + json.dumps(data).encode() + b"\n\n"


def _be_provider() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Answer) as server:
        _tell(url=f"http://127.0.0.1:{server.server_address[1]}")
        server.daemon_threads = True
        server.serve_forever()


def _be_proxy(url: str) -> None:
    from bench.providers import Dialect, Provider
    from bench.proxy.clock import Clock
    from bench.proxy.metering import metering
    from bench.proxy.upstream import Upstream

    provider = Provider(id="measured", bases={Dialect.ANTHROPIC: url}, key_variable=None)
    upstream = Upstream(provider, Dialect.ANTHROPIC, "sk-measured-0123456789")
    with TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        with metering(listener, upstream, Path(folder) / "proxy.jsonl", Clock(86_400)):
            _tell(url=f"http://127.0.0.1:{listener.getsockname()[1]}")
            sys.stdin.read()
        used = resource.getrusage(resource.RUSAGE_SELF)
        _tell(peak=used.ru_maxrss * 1024, processor=used.ru_utime + used.ru_stime)


def _tell(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
