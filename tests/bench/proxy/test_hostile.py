"""What a hostile client cannot do: reach another place, be read in two ways, cost much."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import socket
import threading
import tracemalloc
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from bench.providers import Dialect
from bench.proxy import book
from bench.proxy.book import Book
from bench.proxy.clock import Clock
from bench.proxy.form import Outcome
from bench.proxy.hiding import Hiding
from bench.proxy.limits import ProxyLimits
from bench.proxy.log import read_exchanges
from bench.proxy.serving import serve
from bench.proxy.upstream import Upstream
from tests.bench.proxy.peers import (
    KEY,
    LAST_CHUNK,
    PATHS,
    STREAM,
    Got,
    chunk,
    head,
    listen,
    plays_well,
    proxied,
    raw_post,
    raw_provider,
    tell,
    wait_for,
)

BODY = b'{"model":"m"}'
CLOSE = "connection: close\r\n"


def request(line: str, headers: str = CLOSE, body: bytes = b"") -> bytes:
    return f"{line}\r\nhost: x\r\n{headers}\r\n".encode("latin-1") + body


ELSEWHERE = {
    "connect": "CONNECT 127.0.0.1:22 HTTP/1.1",
    "absolute": "POST http://127.0.0.1:9/v1/messages HTTP/1.1",
    "absolute without scheme": "POST //127.0.0.1:9/v1/messages HTTP/1.1",
    "host only": "POST 127.0.0.1:9 HTTP/1.1",
    "user": "POST @127.0.0.1:9/v1/messages HTTP/1.1",
    "up": "POST /v1/../admin HTTP/1.1",
    "up and down": "POST /v1/x/../messages HTTP/1.1",
    "up within a name": "GET /v1/models/.. HTTP/1.1",
    "up within a name, twice": "GET /v1/models/a/../../messages HTTP/1.1",
    "encoded up": "POST /v1/%2e%2e/messages HTTP/1.1",
    "encoded slash": "GET /v1/models/a%2f..%2fb HTTP/1.1",
    "backslash": "POST /v1\\messages HTTP/1.1",
    "twice a slash": "POST /v1//messages HTTP/1.1",
    "another path": "POST /v1/files HTTP/1.1",
    "batches": "POST /v1/messages/batches HTTP/1.1",
    "another method": "DELETE /v1/models/m HTTP/1.1",
    "reading where one writes": "GET /v1/messages HTTP/1.1",
    "a longer path": "POST /v1/messages/ HTTP/1.1",
    "a fragment": "POST /v1/messages#x HTTP/1.1",
    "another dialect": "POST /v1/chat/completions HTTP/1.1",
    "options": "OPTIONS * HTTP/1.1",
    "the clock, written": "POST /kb-time HTTP/1.1",
}


@pytest.mark.parametrize("which", ELSEWHERE)
def test_nothing_but_the_paths_of_the_dialect_goes_on(which: str, tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        seen = tell(proxy, request(ELSEWHERE[which], f"content-length: 13\r\n{CLOSE}", BODY))
        assert seen.status in (400, 404)
        assert raw.got == []
        assert proxy.meter.first_request is None
        assert set(proxy.meter.account.outcomes) <= {Outcome.REFUSED}


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models/a/../b:generateContent", "/v1beta/models/..:generateContent",
        "/v1beta/models/m:embedContent", "/v1beta/files", "/v1beta/models/m%3AgenerateContent",
        "/v1beta/models/:generateContent",
    ],
)  # fmt: skip
def test_models_in_paths_are_names(path: str, tmp_path: Path) -> None:
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, dialect=Dialect.GEMINI) as proxy,
    ):
        assert proxy.post(path=path).status == 404
        assert proxy.post(path=PATHS[Dialect.GEMINI]).status == 200
        assert len(raw.got) == 1


POST = "POST /v1/messages HTTP/1.1"
TWO_WAYS = {
    "two lengths": (f"content-length: 13\r\ncontent-length: 14\r\n{CLOSE}", BODY),
    "two lengths in one": (f"content-length: 13, 14\r\n{CLOSE}", BODY),
    "a length with a sign": (f"content-length: +13\r\n{CLOSE}", BODY),
    "a length below nothing": (f"content-length: -1\r\n{CLOSE}", BODY),
    "a length in words": (f"content-length: 0x0d\r\n{CLOSE}", BODY),
    "chunked with a length": (
        f"transfer-encoding: chunked\r\ncontent-length: 13\r\n{CLOSE}",
        chunk(BODY) + LAST_CHUNK,
    ),
    "an unknown transfer": (f"transfer-encoding: chunked, x\r\n{CLOSE}", chunk(BODY) + LAST_CHUNK),
    "hidden chunked": (f"transfer-encoding: xchunked\r\n{CLOSE}", chunk(BODY) + LAST_CHUNK),
    "a space before the colon": (f"content-length : 13\r\n{CLOSE}", BODY),
    "a folded header": (f"content-length: 13\r\nx-a: b\r\n c: d\r\n{CLOSE}", BODY),
    "a bare newline": (f"content-length: 13\r\nx-a: b\nx-api-key: c\r\n{CLOSE}", BODY),
    "a carriage return": (f"content-length: 13\r\nx-a: b\rx-api-key: c\r\n{CLOSE}", BODY),
    "a zero byte": (f"content-length: 13\r\nx-a: b\0c\r\n{CLOSE}", BODY),
    "a damaged chunk": (f"transfer-encoding: chunked\r\n{CLOSE}", b"zz\r\n" + BODY + LAST_CHUNK),
    "no JSON": (f"content-length: 8\r\n{CLOSE}", b"model=m&"),
    "a list": (f"content-length: 2\r\n{CLOSE}", b"[]"),
    "half": (f"content-length: 12\r\n{CLOSE}", BODY[:12]),
    "deep": (f"content-length: 100009\r\n{CLOSE}", b'{"tools":' + b"[" * 100_000),
    "packed in an unknown way": (f"content-encoding: x\r\ncontent-length: 13\r\n{CLOSE}", None),
}


@pytest.mark.parametrize("which", TWO_WAYS)
def test_what_can_be_read_in_two_ways_or_in_none_does_not_go_on(
    which: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    headers, body = TWO_WAYS[which]
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        seen = tell(proxy, request(POST, headers, BODY if body is None else body))
        if which == "packed in an unknown way" and seen.status == 200:
            # Then it is not packed: it was read as it is, and goes on without the header.
            assert raw.got[0].header("content-encoding") == []
            return
        assert seen.status in (None, 400, 413)
        assert raw.got == []
        # It goes on working.
        assert proxy.post().status == 200
    assert not caplog.records


def test_a_body_that_comes_packed_goes_on_as_it_was_looked_at(tmp_path: Path) -> None:
    packed = gzip.compress(BODY)
    headers = f"content-encoding: gzip\r\ncontent-length: {len(packed)}\r\n{CLOSE}"
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        assert tell(proxy, request(POST, headers, packed)).status == 200
        (got,) = raw.got
    assert (got.body, got.header("content-encoding")) == (BODY, [])


def test_a_bomb_is_a_body_above_the_limit(tmp_path: Path) -> None:
    bomb = gzip.compress(b'{"model":"' + b"m" * 50_000_000)
    headers = f"content-encoding: gzip\r\ncontent-length: {len(bomb)}\r\n{CLOSE}"
    limits = ProxyLimits(body_bytes=1_000_000)
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, limits=limits) as proxy,
    ):
        tracemalloc.start()
        seen = tell(proxy, request(POST, headers, bomb))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert seen.status in (400, 413)
        assert raw.got == []
    assert most < 20_000_000


def test_a_second_request_behind_the_first_is_a_request_of_its_own(tmp_path: Path) -> None:
    smuggled = raw_post(BODY, path="/v1/files", extra=CLOSE)
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post(BODY) + smuggled)
            seen = listen(connection)
        assert seen.data.startswith(b"HTTP/1.1 200")
        assert b"HTTP/1.1 404" in seen.data
        assert [got.body for got in raw.got] == [BODY]


def test_who_reads_nothing_of_what_he_asked_for_has_his_connection_closed_at_the_end(
    tmp_path: Path,
) -> None:
    """Nobody else closes it: the loop that it belonged to has ended by then."""
    stuck = threading.Event()

    def plays_on(connection: socket.socket, got: Got) -> None:
        del got
        connection.settimeout(1)
        with suppress(OSError):
            connection.sendall(head(**STREAM))
            while True:
                connection.sendall(chunk(b"data: 1\n\n" * 10_000))
        stuck.set()

    with raw_provider(plays_on) as raw, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with proxied(raw.provider(), tmp_path) as proxy:
            connection = proxy.connected()
            connection.sendall(raw_post(BODY))
            assert stuck.wait(60)
        gc.collect()
        connection.close()

    assert [str(one.message) for one in told if "unclosed" in str(one.message)] == []


@pytest.mark.parametrize("rounds", range(6))
def test_who_is_let_in_as_the_proxy_ends_has_his_connection_closed(
    tmp_path: Path, rounds: int
) -> None:
    """How far it has come by then hangs on the rounds of the loop since it was accepted."""

    async def ended(listener: socket.socket) -> socket.socket:
        with raw_provider(plays_well) as raw, Book(log, Clock(60), Hiding(KEY)) as held:
            upstream = Upstream(raw.provider(), Dialect.ANTHROPIC, KEY)
            async with serve(listener, upstream, held, ProxyLimits()):
                client = socket.create_connection(listener.getsockname())
                for _ in range(rounds):
                    await asyncio.sleep(0)
        return client

    log = tmp_path / "proxy.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = asyncio.run(ended(listener))
    with client, suppress(ConnectionResetError):
        client.settimeout(10)
        assert client.recv(1) == b""


@pytest.mark.parametrize(
    "start",
    [
        b"POST /v1/messages HTTP/1.1\r\nx-a: " + b"a" * 10_000_000,
        b"POST /v1/messages?" + b"a" * 10_000_000,
        b"POST /v1/messages HTTP/1.1\r\n" + b"".join(b"x-%d: a\r\n" % n for n in range(500_000)),
        os.urandom(1_000_000),
    ],
    ids=["a header", "a request line", "many headers", "noise"],
)
def test_headers_without_end_are_cut_off(start: bytes, tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        tracemalloc.start()
        seen = tell(proxy, start)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert seen.status in (None, 400)
        assert raw.got == []
        assert proxy.post().status == 200
    assert most < 20_000_000


def test_a_query_goes_on_as_it_was_read(tmp_path: Path) -> None:
    path = "/v1/messages?beta=true&x=%0d%0aHost:+evil&KEY=a&access_token=b&y=%2F..%2F#"
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        assert tell(proxy, raw_post(BODY, path=path, extra=CLOSE)).status in (200, 400)
        for got in raw.got:
            assert got.line.startswith("POST /base/v1/messages?beta=true&x=%0D%0AHost%3A+evil&y=")
            assert "KEY" not in got.line
            assert got.header("host") == [f"127.0.0.1:{raw.port}"]


def test_connections_are_bounded(tmp_path: Path) -> None:
    limits = ProxyLimits(connections=5)
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, limits=limits) as proxy,
    ):
        held = [proxy.connected() for _ in range(5)]
        wait_for(lambda: _is_refused(proxy.port))
        for one in held:
            one.close()
        wait_for(lambda: not _is_refused(proxy.port))
        assert proxy.post().status == 200


def _is_refused(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(b"GET /kb-time HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return connection.recv(10) == b""
        except ConnectionError:
            return True


def test_the_log_of_refusals_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MOST_LINES", 500)
    with raw_provider(plays_well) as raw:
        with proxied(raw.provider(), tmp_path) as proxy:
            for _ in range(30):
                assert proxy.get("/" + "x" * 3000).status == 404
            assert proxy.post().status == 200
            assert proxy.meter.account.outcomes[Outcome.REFUSED] == 30
        lines = list(read_exchanges(tmp_path / "proxy.jsonl"))
    assert [one.outcome for one in lines] == [Outcome.REFUSED] * 10 + [Outcome.COMPLETE]
    assert all(len(one.path) <= 200 for one in lines)


def test_many_at_once_are_all_answered(tmp_path: Path) -> None:
    statuses: list[int | None] = []
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:

        def ask() -> None:
            seen = tell(proxy, raw_post(BODY, extra=CLOSE))
            statuses.append(seen.status)

        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        proxy.settled(40)
        outcomes = proxy.meter.account.outcomes
    assert set(statuses) <= {200, 429}
    assert outcomes[Outcome.COMPLETE] == statuses.count(200) > 0
