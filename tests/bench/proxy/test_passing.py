"""What crosses a proxy, and what it answers itself."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.providers import Dialect
from bench.proxy.form import CLOCK_PATH, Outcome
from bench.proxy.limits import ProxyLimits
from bench.proxy.log import read_exchanges
from kbsite.model.usage import Usage
from tests.bench.proxy.peers import (
    GENEROUS,
    KEY,
    LAST_CHUNK,
    PATHS,
    STREAM,
    Got,
    anthropic_events,
    chunk,
    head,
    listen,
    plays_well,
    proxied,
    raw_post,
    raw_provider,
    stays_silent,
    wait_for,
)


def test_an_answer_comes_byte_for_byte_and_is_accounted_for(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        body = {"model": "m-asked", "tools": [{"type": "web_search_20250305", "name": "w"}]}
        answer = proxy.post(body, path="/v1/messages?beta=true")
        assert answer.status == 200
        assert answer.header("content-type") == "text/event-stream"
        assert answer.body == b"".join(anthropic_events())
        account = proxy.meter.account
        assert account.exchanges == 1
        assert account.usage == Usage(input=100, cache_read=30, cache_write=7, output=22)
        assert account.models == ("m-1",)
        assert dict(account.outcomes) == {Outcome.COMPLETE: 1}
        assert [json.loads(one.body) for one in raw.got] == [body]
        assert raw.got[0].line == "POST /base/v1/messages?beta=true HTTP/1.1"
    (exchange,) = read_exchanges(proxy.log)
    assert (exchange.model, exchange.answered_by) == ("m-asked", "m-1")
    assert (exchange.request_id, exchange.stop) == ("req-1", "end_turn")
    assert exchange.server_tools == ("web_search_20250305",)
    assert exchange.dialect is Dialect.ANTHROPIC
    assert exchange.sent_bytes == len(json.dumps(body))
    assert exchange.received_bytes == len(answer.body)
    assert exchange.first_byte_seconds is not None
    assert exchange.first_byte_seconds <= exchange.seconds
    assert exchange == proxy.meter.last


def test_each_event_arrives_before_the_next_is_written(tmp_path: Path) -> None:
    seen = threading.Semaphore(0)
    events = anthropic_events()

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head(**STREAM))
        for one in events:
            connection.sendall(chunk(one))
            assert seen.acquire(timeout=GENEROUS)
        connection.sendall(LAST_CHUNK)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.posting() as answer:
            for one in events:
                assert answer.read(len(one)) == one
                assert proxy.meter.open_exchanges == 1
                seen.release()
            assert answer.read() == b""
        assert proxy.meter.open_exchanges == 0


WANTED = {
    Dialect.ANTHROPIC: ("x-api-key", KEY),
    Dialect.RESPONSES: ("authorization", f"Bearer {KEY}"),
    Dialect.CHAT: ("authorization", f"Bearer {KEY}"),
    Dialect.GEMINI: ("x-goog-api-key", KEY),
}
ITS_OWN = {
    "Authorization": "Bearer sk-its-own", "X-Api-Key": "sk-its-own", "API-Key": "sk-its-own",
    "x-goog-api-key": "sk-its-own", "Cookie": "sk-its-own", "Proxy-Authorization": "sk-its-own",
}  # fmt: skip


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_key_of_a_cli_stays_and_the_providers_goes_on(dialect: Dialect, tmp_path: Path) -> None:
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, dialect=dialect) as proxy,
    ):
        proxy.post(path=f"{PATHS[dialect]}?key=sk-its-own&alt=sse", headers=ITS_OWN)
        (got,) = raw.got
    name, value = WANTED[dialect]
    assert got.header(name) == [value]
    assert "its-own" not in repr(got)
    assert got.line == f"POST /base{PATHS[dialect]}?alt=sse HTTP/1.1"
    assert repr(got).count(KEY) == 1


def test_a_provider_may_want_a_bearer_and_headers_of_its_own(tmp_path: Path) -> None:
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(bearer=True, headers={"X-Title": "kb"}), tmp_path) as proxy,
    ):
        proxy.post(headers={"x-title": "from the cli", "anthropic-beta": "a"})
        (got,) = raw.got
    assert got.header("authorization") == [f"Bearer {KEY}"]
    assert got.header("x-api-key") == []
    assert got.header("x-title") == ["kb"]
    assert got.header("anthropic-beta") == ["a"]


def test_no_key_is_sent_where_none_is_needed(tmp_path: Path) -> None:
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, key=None) as proxy,
    ):
        proxy.post(headers=ITS_OWN)
        (got,) = raw.got
    assert not got.header("x-api-key") + got.header("authorization")


def test_headers_of_one_connection_do_not_cross(tmp_path: Path) -> None:
    def play(connection: socket.socket, _: Got) -> None:
        said = head(
            content_length="2", connection="close, x-hop", x_hop="1", keep_alive="timeout=1",
            set_cookie="session=1", x_stays="yes", proxy_authenticate="Basic",
        )  # fmt: skip
        connection.sendall(said + b"{}")

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        hop = {"connection": "keep-alive, x-mine", "x-mine": "1", "te": "trailers", "x-on": "a"}
        answer = proxy.post(headers=hop)
        (got,) = raw.got
    assert answer.header("x-stays") == "yes"
    assert answer.header("content-length") == "2"
    for name in ("x-hop", "keep-alive", "set-cookie", "proxy-authenticate"):
        assert answer.header(name) is None
    assert got.header("x-on") == ["a"]
    assert got.header("x-mine") == got.header("te") == []
    assert got.header("host") == [f"127.0.0.1:{raw.port}"]


def test_a_header_that_came_twice_goes_on_with_both_values(tmp_path: Path) -> None:
    extra = "anthropic-beta: a\r\nAnthropic-Beta: b\r\nconnection: close\r\n"
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(raw_post(extra=extra))
            assert listen(connection).status == 200
        assert raw.got[0].header("anthropic-beta") == ["a, b"]


ERROR = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow\\u001b[31m down"}}'


def test_a_status_and_the_time_to_wait_pass_and_are_noted(tmp_path: Path) -> None:
    def play(connection: socket.socket, _: Got) -> None:
        said = head("429 Too Many", content_length=str(len(ERROR)), retry_after="7")
        connection.sendall(said + ERROR)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        answer = proxy.post()
        assert (answer.status, answer.header("retry-after")) == (429, "7")
        assert answer.body == ERROR
        proxy.post()
        assert proxy.meter.failures_in_a_row == 2
        last = proxy.meter.last
    assert last is not None
    assert (last.outcome, last.status, last.retry_after_seconds) == (Outcome.ERROR, 429, 7.0)
    assert last.error == "rate_limit_error: slow\\x1b[31m down"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Fri, 31 Dec 9999 23:59:59 -0800", None),
        ("Fri, 31 Dec 99999999999 23:59:59 GMT", None),
        ("Fri, 31 Dec 2026 23:59:59 +99999999999999", None),
        ("9" * 400, None),
        ("-5", None),
        ("-" + "9" * 400, None),
        ("1e9", None),
        ("soon", None),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        ("2.5", 2.5),
    ],
)
def test_whatever_a_provider_asks_to_wait_its_answer_comes_through(
    said: str, seconds: float | None, tmp_path: Path
) -> None:
    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(
            head("429 Too Many", content_length=str(len(ERROR)), retry_after=said) + ERROR
        )

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        answer = proxy.post()
        last = proxy.meter.last
    assert (answer.status, answer.header("retry-after"), answer.body) == (429, said, ERROR)
    assert last is not None
    assert (last.outcome, last.status, last.retry_after_seconds) == (Outcome.ERROR, 429, seconds)


@pytest.mark.parametrize("zone", ["GMT", "-0000", "", "+0200"])
def test_a_date_to_wait_for_is_one_in_utc_wherever_this_machine_stands(
    zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    when = datetime.now(UTC) + timedelta(hours=1)
    when += timedelta(hours=2 if zone == "+0200" else 0)

    def play(connection: socket.socket, _: Got) -> None:
        date = when.strftime(f"%a, %d %b %Y %H:%M:%S {zone}").strip()
        said = head("503 Busy", content_length=str(len(ERROR)), retry_after=date)
        connection.sendall(said + ERROR)

    try:
        with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
            proxy.post()
            last = proxy.meter.last
    finally:
        monkeypatch.undo()
        time.tzset()
    assert last is not None
    assert 3000 < (last.retry_after_seconds or 0) <= 3600


WHOLE = {"model": "m-1", "stop_reason": "end_turn", "usage": {"output_tokens": 22}}


@pytest.mark.parametrize(
    ("kind", "body", "outcome", "error"),
    [
        ("text/plain", b"\n\n" + b"".join(anthropic_events()), Outcome.COMPLETE, None),
        ("", b"".join(anthropic_events()), Outcome.COMPLETE, None),
        ("text/event-stream", json.dumps(WHOLE).encode(), Outcome.COMPLETE, None),
        ("text/html", b"<html>Welcome</html>", Outcome.BROKEN,
         "20 bytes of text/html came, and no answer: see whether the address of the provider is "
         "right"),
        ("text/event-stream", b"", Outcome.BROKEN,
         "0 bytes of text/event-stream came, and no answer"),
    ],
)  # fmt: skip
def test_an_answer_is_what_it_holds_whatever_its_type_says(
    tmp_path: Path, kind: str, body: bytes, outcome: Outcome, error: str | None
) -> None:
    def play(connection: socket.socket, _: Got) -> None:
        named = {"content_type": kind} if kind else {}
        for byte in (head(**named, content_length=str(len(body))), body[:1], body[1:]):
            connection.sendall(byte)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        assert proxy.post().body == body
        last = proxy.meter.last
    assert last is not None
    assert (last.outcome, last.error) == (outcome, error)
    assert last.usage.output == (22 if outcome is Outcome.COMPLETE else None)


def test_a_good_answer_ends_a_row_of_failures(tmp_path: Path) -> None:
    def play(connection: socket.socket, got: Got) -> None:
        if len(raw.got) > 1:
            plays_well(connection, got)
        else:
            connection.sendall(head("500 No", content_length="0"))

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        assert proxy.post().status == 500
        assert proxy.meter.failures_in_a_row == 1
        assert proxy.post().status == 200
        assert proxy.meter.failures_in_a_row == 0


def test_side_requests_pass_and_start_no_clock(tmp_path: Path) -> None:
    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head("404 No", content_length="2") + b"{}")

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        assert proxy.get("/v1/models").status == 404
        assert proxy.post(path="/v1/messages/count_tokens").status == 404
        proxy.settled(2)
        assert proxy.meter.first_request is None
        assert proxy.meter.last is None
        assert proxy.meter.failures_in_a_row == 0
        assert proxy.meter.account.exchanges == 2


def test_the_clock_runs_from_the_first_request_for_a_model(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path, budget=900) as proxy:
        before = json.loads(proxy.get(CLOCK_PATH).body)
        assert before == {
            "budget_seconds": 900, "elapsed_seconds": 0, "left_seconds": 900, "deadline": None
        }  # fmt: skip
        proxy.post()
        after = json.loads(proxy.get(CLOCK_PATH).body)
        first = proxy.meter.first_request
        assert first is not None
        assert 0 < after["elapsed_seconds"] < 900
        assert after["left_seconds"] + after["elapsed_seconds"] == pytest.approx(900)
        told = datetime.fromisoformat(after["deadline"])
        assert abs(told - first - timedelta(seconds=900)) < timedelta(seconds=1)
        assert proxy.meter.account.exchanges == 1


KINDS: Mapping[Dialect, Mapping[str, object]] = {
    Dialect.ANTHROPIC: {"type": "error", "error.type": "permission_error"},
    Dialect.RESPONSES: {"error.type": "permission_error", "error.param": None},
    Dialect.CHAT: {"error.code": "permission_error", "error.param": None},
    Dialect.GEMINI: {"error.code": 403, "error.status": "PERMISSION_DENIED"},
}


@pytest.mark.parametrize("dialect", list(Dialect))
def test_after_the_deadline_each_dialect_is_told_in_its_own_form(
    dialect: Dialect, tmp_path: Path
) -> None:
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, dialect=dialect, budget=0.0) as proxy,
    ):
        answer = proxy.post(path=PATHS[dialect])
        assert raw.got == []
        assert proxy.meter.last is None
        (exchange,) = proxy.meter.exchanges
    body = json.loads(answer.body)
    assert (answer.status, answer.header("content-type")) == (403, "application/json")
    flat = {**body, **{f"error.{name}": value for name, value in body["error"].items()}}
    assert {name: flat[name] for name in KINDS[dialect]} == KINDS[dialect]
    assert "budget" in body["error"]["message"]
    assert exchange.outcome is Outcome.REFUSED
    assert exchange.error == body["error"]["message"]


def test_a_stream_under_way_at_the_deadline_goes_on(tmp_path: Path) -> None:
    over = threading.Event()

    def play(connection: socket.socket, _: Got) -> None:
        events = [chunk(one) for one in anthropic_events()]
        connection.sendall(head(**STREAM) + events[0])
        assert over.wait(GENEROUS)
        connection.sendall(b"".join(events[1:]) + LAST_CHUNK)

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path, budget=1.5) as proxy:
        with proxy.posting() as answer:
            wait_for(lambda: proxy.clock.over)
            assert proxy.post().status == 403
            over.set()
            assert answer.read() == b"".join(anthropic_events())
        last = proxy.meter.last
    assert last is not None
    assert last.outcome is Outcome.COMPLETE


def test_a_closed_door_tells_why_and_lets_out_who_is_inside(tmp_path: Path) -> None:
    closed = threading.Event()

    def play(connection: socket.socket, got: Got) -> None:
        assert closed.wait(GENEROUS)
        plays_well(connection, got)

    with (
        raw_provider(play) as raw,
        proxied(raw.provider(), tmp_path) as proxy,
        proxy.connected() as connection,
    ):
        connection.sendall(raw_post(extra="connection: close\r\n"))
        wait_for(lambda: len(raw.got) == 1)
        proxy.meter.close_door("twelve failures in a row")
        refused = proxy.post()
        closed.set()
        assert listen(connection).status == 200
    assert refused.status == 403
    assert json.loads(refused.body)["error"]["message"] == "twelve failures in a row"


def test_requests_above_the_number_that_may_be_open_are_told_to_wait(tmp_path: Path) -> None:
    limits = ProxyLimits(open_at_once=2)
    with raw_provider(stays_silent) as raw:
        with proxied(raw.provider(), tmp_path, limits=limits) as proxy:
            held = [proxy.connected() for _ in range(2)]
            for one in held:
                one.sendall(raw_post())
            wait_for(lambda: len(raw.got) == 2)
            answer = proxy.post()
            assert (answer.status, answer.header("retry-after")) == (429, "1")
            assert proxy.meter.open_exchanges == 2
        for one in held:
            one.close()


@pytest.mark.parametrize("how", ["told", "counted"])
def test_a_body_above_the_limit_is_refused(how: str, tmp_path: Path) -> None:
    body = b'{"model":"' + b"m" * 2000 + b'"}'
    request = raw_post(body, extra="connection: close\r\n")
    if how == "counted":
        request = (
            b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
            b"connection: close\r\n\r\n" + chunk(body) + LAST_CHUNK
        )
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, limits=ProxyLimits(body_bytes=1000)) as proxy,
    ):
        with proxy.connected() as connection:
            connection.sendall(request)
            seen = listen(connection)
        assert seen.status == 413
        assert raw.got == []


def test_bodies_that_wait_together_are_bounded(tmp_path: Path) -> None:
    limits = ProxyLimits(held_bytes=1500)
    body = b'{"model":"' + b"m" * 2000 + b'"}'
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, limits=limits) as proxy,
    ):
        assert proxy.post(body).status == 429
        # What was refused is let go of.
        assert proxy.post().status == 200


def test_tools_of_the_provider_can_be_forbidden(tmp_path: Path) -> None:
    limits = ProxyLimits(server_tools=False)
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), tmp_path, limits=limits) as proxy,
    ):
        refused = proxy.post({"model": "m", "tools": [{"type": "web_search_1", "name": "w"}]})
        assert (refused.status, raw.got) == (403, [])
        assert b"web_search_1" in refused.body
        assert proxy.post({"model": "m", "tools": [{"name": "Bash"}]}).status == 200
        assert [one.server_tools for one in proxy.meter.exchanges] == [("web_search_1",), ()]


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            request = raw_post(extra="expect: 100-continue\r\nconnection: close\r\n")
            start, _, body = request.partition(b"\r\n\r\n")
            connection.sendall(start + b"\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")
            connection.sendall(body)
            assert listen(connection).status == 200
        assert raw.got[0].header("expect") == []


def test_a_client_may_look_whether_somebody_is_there(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        with proxy.connected() as connection:
            connection.sendall(b"HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert listen(connection).status == 200
        assert raw.got == []
        assert proxy.meter.account.exchanges == 0


def test_quiet_ends_with_a_byte_that_goes_through(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        began = time.monotonic()
        time.sleep(0.05)
        proxy.get(CLOCK_PATH)
        asking = time.monotonic()
        assert proxy.meter.quiet_seconds >= asking - began
        proxy.post()
        assert proxy.meter.quiet_seconds <= time.monotonic() - asking


@pytest.mark.parametrize(
    ("path", "alive"),
    [
        (PATHS[Dialect.ANTHROPIC], b'event: ping\ndata: {"type": "ping"}\n\n'),
        (PATHS[Dialect.CHAT], b": still at it\n\n"),
    ],
)
def test_keep_alives_are_nothing_of_an_answer(path: str, alive: bytes, tmp_path: Path) -> None:
    first, gone = b'data: {"model": "m-1"}\n\n', threading.Event()

    def play(connection: socket.socket, _: Got) -> None:
        connection.sendall(head(**STREAM) + chunk(first))
        with contextlib.suppress(ConnectionError):
            while not gone.wait(0.05):
                connection.sendall(chunk(alive))

    dialect = next(one for one, its in PATHS.items() if its == path)
    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path, dialect=dialect) as proxy:
        with proxy.posting(path=path) as answer:
            assert answer.read(len(first)) == first
            assert answer.read(8 * len(alive)) == 8 * alive
        wait_for(lambda: proxy.meter.open_exchanges == 0)
        gone.set()
    (exchange,) = read_exchanges(proxy.log)
    assert exchange.outcome is Outcome.ABANDONED
    assert exchange.silent_seconds is not None
    assert 0.3 < exchange.silent_seconds < exchange.seconds


def test_the_listening_socket_stays_with_its_owner(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw:
        with proxied(raw.provider(), tmp_path):
            pass
        again = tmp_path / "again"
        again.mkdir()
        with proxied(raw.provider(), again) as proxy:
            assert proxy.post().status == 200


def test_two_runs_side_by_side_have_accounts_of_their_own(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    with (
        raw_provider(plays_well) as raw,
        proxied(raw.provider(), folders[0], key="sk-of-the-first-run") as first,
        proxied(raw.provider(), folders[1], key="sk-of-the-second-run") as second,
    ):
        threads = [
            threading.Thread(target=lambda held: [held.post() for _ in range(5)], args=(proxy,))
            for proxy in (first, second)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        second.post()
        first.meter.close_door("no more")
        assert second.post().status == 200
        assert first.post().status == 403
    counts = [proxy.meter.account.usage.output for proxy in (first, second)]
    assert counts == [5 * 22, 7 * 22]
    keys = [got.header("x-api-key")[0] for got in raw.got]
    assert (keys.count("sk-of-the-first-run"), keys.count("sk-of-the-second-run")) == (5, 7)
