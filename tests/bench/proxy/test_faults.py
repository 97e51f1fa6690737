"""A client sees a provider fail in the way in which it failed, and the account names it."""

from __future__ import annotations

import gzip
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from aiohttp import ClientConnectorError

from bench.providers import Dialect, Provider
from bench.proxy.faults import UnansweredError, unanswered
from bench.proxy.form import Exchange, Outcome
from bench.proxy.limits import ProxyLimits
from bench.proxy.log import read_exchanges
from kbsite.model.usage import Usage
from tests.bench.proxy.peers import (
    GENEROUS,
    LAST_CHUNK,
    STREAM,
    Got,
    Heard,
    anthropic_events,
    chunk,
    head,
    listen,
    plays_well,
    proxied,
    raw_post,
    raw_provider,
    reset,
    stays_silent,
    wait_for,
)

Play = Callable[[socket.socket, Got], None]
BEGUN = b"".join(chunk(one) for one in anthropic_events()[:2])


def heard(play: Play, folder: Path, limits: ProxyLimits | None = None) -> tuple[Heard, Exchange]:
    """What a client sees of an exchange, and what the account says of it."""
    with raw_provider(play) as raw, proxied(raw.provider(), folder, limits=limits) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post(extra="connection: close\r\n"))
            seen = listen(connection)
        proxy.settled(1)
        last = proxy.meter.last
        assert last is not None
        return seen, last


def test_a_reset_before_the_answer_is_a_reset(tmp_path: Path) -> None:
    seen, exchange = heard(lambda connection, _: reset(connection), tmp_path)
    assert seen == Heard(b"", was_reset=True)
    assert (exchange.outcome, exchange.status) == (Outcome.UNREACHABLE, None)
    assert "reset" in (exchange.error or "")


def test_an_orderly_end_before_the_answer_is_one(tmp_path: Path) -> None:
    seen, exchange = heard(lambda connection, _: connection.close(), tmp_path)
    assert seen == Heard(b"", was_reset=False)
    assert exchange.outcome is Outcome.UNREACHABLE
    assert "hung up" in (exchange.error or "")


FRAMES = {
    "chunked": (head(**STREAM), BEGUN),
    "with a length": (
        head(content_type="text/event-stream", content_length="100000"),
        b"".join(anthropic_events()[:2]),
    ),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_reset_in_mid_stream_is_one_and_what_came_before_arrives(
    frame: str, tmp_path: Path
) -> None:
    came = threading.Event()

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(b"".join(FRAMES[frame]))
        assert came.wait(GENEROUS)
        reset(connection)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post())
            data = b""
            while b"hello" not in data:
                data += connection.recv(1 << 16)
            came.set()
            assert listen(connection).was_reset
        proxy.settled(1)
        last = proxy.meter.last
    assert last is not None
    assert (last.outcome, last.status) == (Outcome.BROKEN, 200)
    assert last.usage == Usage(input=100, cache_read=30, cache_write=7, output=1)
    assert last.answered_by == "m-1"


@pytest.mark.parametrize("frame", FRAMES)
def test_a_body_that_ends_before_it_is_whole_ends_the_same_for_the_client(
    frame: str, tmp_path: Path
) -> None:
    seen, exchange = heard(
        lambda connection, _: connection.sendall(b"".join(FRAMES[frame])), tmp_path
    )
    assert not seen.was_reset
    assert b"hello" in seen.body
    assert not seen.body.endswith(LAST_CHUNK)
    assert exchange.outcome is Outcome.BROKEN
    assert "hung up" in (exchange.error or "")


def test_a_stream_that_ends_cleanly_without_a_reason_is_whole_for_the_client(
    tmp_path: Path,
) -> None:
    seen, exchange = heard(
        lambda connection, _: connection.sendall(head(**STREAM) + BEGUN + LAST_CHUNK), tmp_path
    )
    assert seen.body.endswith(LAST_CHUNK)
    assert not seen.was_reset
    assert (exchange.outcome, exchange.stop, exchange.error) == (Outcome.BROKEN, None, None)


@pytest.mark.parametrize("how", ["end", "reset"])
def test_an_answer_that_ends_with_its_connection(how: str, tmp_path: Path) -> None:
    came = threading.Event()

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head(content_type="text/event-stream") + b"".join(anthropic_events()))
        if how == "reset":
            assert came.wait(GENEROUS)
            reset(connection)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post(extra="connection: close\r\n"))
            data = b""
            while b"message_stop" not in data:
                data += connection.recv(1 << 16)
            came.set()
            assert listen(connection).was_reset == (how == "reset")
        proxy.settled(1)
        last = proxy.meter.last
    assert last is not None
    assert last.outcome is (Outcome.COMPLETE if how == "end" else Outcome.BROKEN)


def test_a_provider_that_nobody_is_at_is_a_bad_gateway_that_says_so(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw:
        gone = raw.provider()
    with proxied(gone, tmp_path) as proxy:
        answer = proxy.post()
        assert answer.status == 502
        assert b"cannot be reached" in answer.body
        assert proxy.meter.failures_in_a_row == 1
        (exchange,) = proxy.meter.exchanges
    assert (exchange.outcome, exchange.status) == (Outcome.UNREACHABLE, None)


def test_a_provider_that_hangs_up_on_a_handshake_is_told_in_words() -> None:
    made = ClientConnectorError(Mock(), ConnectionResetError())
    said = unanswered(made)
    assert isinstance(said, UnansweredError)
    assert said.sentence.endswith("cannot be reached: it hung up before there was a connection")


def test_a_silent_provider_is_given_up_on(tmp_path: Path) -> None:
    seen, exchange = heard(stays_silent, tmp_path, ProxyLimits(silence_seconds=1.5))
    assert seen.status == 504
    assert exchange.outcome is Outcome.UNREACHABLE


def test_a_provider_that_falls_silent_in_the_middle_breaks_the_answer_off(tmp_path: Path) -> None:
    def play(connection: socket.socket, got: Got) -> None:
        connection.sendall(head(**STREAM) + BEGUN)
        stays_silent(connection, got)

    seen, exchange = heard(play, tmp_path, ProxyLimits(silence_seconds=1.5))
    assert seen.was_reset
    assert exchange.outcome is Outcome.BROKEN
    assert "silent" in (exchange.error or "")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_answer_comes_as_it_is_and_is_understood(
    encoding: str, tmp_path: Path
) -> None:
    plain = b"".join(anthropic_events())
    packed = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)

    def play(connection: socket.socket, got: Got) -> None:
        assert got.header("accept-encoding") == ["identity"]
        pieces = [chunk(packed[at : at + 7]) for at in range(0, len(packed), 7)]
        said = head(**STREAM, content_encoding=encoding)
        connection.sendall(said + b"".join(pieces) + LAST_CHUNK)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        answer = proxy.post(headers={"accept-encoding": "gzip, deflate, br, zstd"})
        assert answer.header("content-encoding") == encoding
        assert answer.body == packed
        assert proxy.meter.account.usage == Usage(
            input=100, cache_read=30, cache_write=7, output=22
        )


def test_an_answer_in_a_form_that_nobody_asked_for_counts_as_an_error(tmp_path: Path) -> None:
    def play(connection: socket.socket, _: Got) -> None:
        said = head(content_type="text/event-stream", content_encoding="br", content_length="3")
        connection.sendall(said + b"abc")

    seen, exchange = heard(play, tmp_path)
    assert seen.body == b"abc"
    assert exchange.outcome is Outcome.ERROR
    assert "br" in (exchange.error or "")


def test_a_huge_answer_goes_through_in_bounded_memory(tmp_path: Path) -> None:
    size = 100_000_000
    piece = chunk(b"data: " + b"x" * 999_994)

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head(**STREAM) + chunk(b"".join(anthropic_events()[:2])))
        for _number in range(size // 1_000_000):
            connection.sendall(piece)
        connection.sendall(chunk(b"\n\n" + b"".join(anthropic_events()[2:])) + LAST_CHUNK)

    tracemalloc.start()
    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        seen = 0
        with proxy.posting() as answer:
            while data := answer.read(1 << 20):
                seen += len(data)
        proxy.settled(1)
        last = proxy.meter.last
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen > size
    assert last is not None
    assert (last.outcome, last.usage.output) == (Outcome.COMPLETE, 22)
    assert last.received_bytes == seen
    assert most < 40_000_000


def test_a_client_that_hangs_up_lets_the_provider_go(tmp_path: Path) -> None:
    let_go = threading.Event()

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head(**STREAM) + BEGUN)
        connection.settimeout(GENEROUS)
        if listen(connection).data == b"":
            let_go.set()

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post())
            assert b"200" in connection.recv(1 << 16)
        assert let_go.wait(GENEROUS)
        proxy.settled(1)
        last = proxy.meter.last
        assert proxy.meter.failures_in_a_row == 0
    assert last is not None
    assert last.outcome is Outcome.ABANDONED
    assert last.usage.input == 100


def test_a_client_that_hangs_up_after_the_last_event_has_a_whole_answer(tmp_path: Path) -> None:
    gone = threading.Event()

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head(**STREAM) + chunk(b"".join(anthropic_events())))
        assert gone.wait(GENEROUS)
        connection.settimeout(GENEROUS)
        listen(connection)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post())
            data = b""
            while b"message_stop" not in data:
                data += connection.recv(1 << 16)
        gone.set()
        proxy.settled(1)
        last = proxy.meter.last
    assert last is not None
    assert (last.outcome, last.stop) == (Outcome.COMPLETE, "end_turn")


def test_what_is_under_way_at_the_end_is_cut_off_and_written_down(tmp_path: Path) -> None:
    def play(connection: socket.socket, got: Got) -> None:
        connection.sendall(head(**STREAM) + BEGUN)
        stays_silent(connection, got)

    with raw_provider(play) as raw:
        with proxied(raw.provider(), tmp_path) as proxy:
            connection = proxy.connected()
            connection.sendall(raw_post())
            assert b"200" in connection.recv(1 << 16)
            wait_for(lambda: proxy.meter.open_exchanges == 1)
        with connection:
            listen(connection)
    (exchange,) = read_exchanges(tmp_path / "proxy.jsonl")
    assert exchange.outcome is Outcome.ABANDONED


def test_a_resolver_that_hangs_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ended, waited = threading.Event(), threading.Event(), threading.Event()

    def hangs(*_: object, **__: object) -> list[object]:
        asked.set()
        if not ended.wait(GENEROUS):
            waited.set()
        return []

    provider = Provider(
        id="x", bases={Dialect.ANTHROPIC: "http://nowhere.invalid"}, key_variable=None
    )
    with proxied(provider, tmp_path) as proxy:
        connection = proxy.connected()
        monkeypatch.setattr(socket, "getaddrinfo", hangs)
        connection.sendall(raw_post())
        assert asked.wait(GENEROUS)
    assert not waited.is_set()
    ended.set()
    connection.close()
    (exchange,) = read_exchanges(tmp_path / "proxy.jsonl")
    assert exchange.outcome is Outcome.ABANDONED
