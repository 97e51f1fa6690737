"""Each fault, as a client on a plain socket sees it."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from bench.scripted import Server, expected_usage, scripted_provider, serve
from bench.scripted.answer import usage_of
from bench.scripted.script import Fault, Moment, Script, Turn
from tests.bench.scripted.clients import CLIENTS, AnthropicClient, Client, events, post

TEXT = "This text is long enough to be cut in the middle of its deltas."
FAULTS = {
    "before": Fault(reset=Moment.BEFORE),
    "headers": Fault(reset=Moment.HEADERS),
    "middle": Fault(reset=Moment.MIDDLE),
    "early": Fault(early_end=True),
    "error": Fault(error_event="overloaded_error"),
    "stall": Fault(stall_seconds=3600),
    "pause": Fault(stall_seconds=0.2),
    "once": Fault(reset=Moment.MIDDLE, times=1),
}
EACH_CLIENT = pytest.mark.parametrize("kind", CLIENTS, ids=lambda one: one.dialect.value)


@pytest.fixture(scope="module")
def faulty() -> Iterator[Server]:
    scripts = [
        Script(name=name, about="", turns=(Turn(text=TEXT, fault=fault),))
        for name, fault in FAULTS.items()
    ]
    late = Script(name="late", about="", turns=(Turn(text=TEXT, wait_seconds=3600),))
    with serve([*scripts, late]) as running:
        yield running


@dataclass(frozen=True)
class Seen:
    """What came out of a socket."""

    head: str
    body: bytes
    reset: bool
    """Whether it ended with RST."""
    ended: bool
    """Whether it ended at all, or was given up after `patience` seconds of silence."""

    @property
    def chunks(self) -> bytes:
        """The body without the lengths of its chunks."""
        found, rest = b"", self.body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            found, rest = found + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        return found

    @property
    def whole(self) -> bool:
        """Whether the last chunk, which is empty, came."""
        return self.body.endswith(b"0\r\n\r\n")


def look(one: Client, script: str, patience: float = 60, *, speaks: bool = True) -> Seen:
    """What a socket sees until its end, or until a silence; `speaks`: one after the first byte."""
    one.history = [one.user(f"[[script:{script}]]")]
    data = json.dumps(one.body()).encode()
    parts = urlsplit(one.url())
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = (
        f"POST {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(data)}\r\n"
    )
    found, reset, ended = b"", False, True
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), 30) as plug:
        plug.sendall(f"{head}\r\n".encode() + data)
        plug.settimeout(60 if speaks else patience)
        try:
            while got := plug.recv(65536):
                found += got
                plug.settimeout(patience)
        except ConnectionResetError:
            reset = True
        except TimeoutError:
            ended = False
    start, _, body = found.partition(b"\r\n\r\n")
    return Seen(start.decode(), body, reset, ended)


def client(kind: type[Client], server: Server, run: str) -> Client:
    return kind(scripted_provider(server.url, run).bases[kind.dialect], streams=True)


@EACH_CLIENT
def test_a_reset_instead_of_an_answer(faulty: Server, run: str, kind: type[Client]) -> None:
    seen = look(client(kind, faulty, run), "before")
    assert seen == Seen("", b"", reset=True, ended=True)
    (request,) = faulty.requests_of(run)
    assert (request.status, request.fault, request.told) == (None, "reset before", None)


@EACH_CLIENT
def test_a_reset_after_the_headers(faulty: Server, run: str, kind: type[Client]) -> None:
    seen = look(client(kind, faulty, run), "headers")
    assert seen.head.startswith("HTTP/1.1 200")
    assert (seen.body, seen.reset) == (b"", True)
    (request,) = faulty.requests_of(run)
    assert (request.status, request.fault, request.told) == (200, "reset headers", None)


@EACH_CLIENT
def test_a_reset_in_the_middle_of_a_stream(faulty: Server, run: str, kind: type[Client]) -> None:
    seen = look(client(kind, faulty, run), "middle")
    assert seen.reset
    assert not seen.whole
    assert TEXT[:20].encode() in seen.body.replace(b'", "', b"")
    assert faulty.requests_of(run)[0].fault == "reset middle"


@EACH_CLIENT
def test_a_stream_that_ends_early_as_if_all_were_well(
    faulty: Server, run: str, kind: type[Client]
) -> None:
    seen = look(client(kind, faulty, run), "early")
    assert (seen.reset, seen.ended, seen.whole) == (False, True, True)
    ends = (b"message_stop", b"response.completed", b"[DONE]", b"finishReason")
    assert not any(word in seen.chunks for word in ends)
    assert events(seen.chunks)


@EACH_CLIENT
def test_an_error_event_in_a_stream(faulty: Server, run: str, kind: type[Client]) -> None:
    seen = look(client(kind, faulty, run), "error")
    assert (seen.reset, seen.whole) == (False, True)
    *before, last = events(seen.chunks)
    assert before
    assert "scripted overloaded_error" in json.dumps(last)
    assert faulty.requests_of(run)[0].fault == "error event"


@EACH_CLIENT
def test_a_stall_in_a_stream_until_the_client_hangs_up(
    faulty: Server, run: str, kind: type[Client]
) -> None:
    seen = look(client(kind, faulty, run), "stall", patience=0.3)
    assert (seen.reset, seen.ended, seen.whole) == (False, False, False)
    assert events(seen.chunks)
    assert faulty.wait_until(lambda all_: _gone(all_, run), 60)


@EACH_CLIENT
def test_after_a_short_stall_the_rest_comes(faulty: Server, run: str, kind: type[Client]) -> None:
    seen = look(client(kind, faulty, run), "pause")
    assert client(kind, faulty, run).parsed(seen.chunks).text == TEXT


def test_silence_before_an_answer(faulty: Server, run: str) -> None:
    seen = look(client(AnthropicClient, faulty, run), "late", patience=0.3, speaks=False)
    assert seen == Seen("", b"", reset=False, ended=False)
    assert faulty.wait_until(lambda all_: _gone(all_, run), 60)


def _gone(requests: object, run: str) -> bool:
    assert isinstance(requests, tuple)
    return all(one.ended and one.hung_up for one in requests if one.run == run)


@EACH_CLIENT
def test_what_happens_once_does_not_happen_again(
    faulty: Server, run: str, kind: type[Client]
) -> None:
    assert look(client(kind, faulty, run), "once").reset
    assert client(kind, faulty, run).ask("[[script:once]]").text == TEXT
    assert [one.fault for one in faulty.requests_of(run)] == ["reset middle", None]


@EACH_CLIENT
def test_faults_of_streams_spare_answers_in_one_piece(
    faulty: Server, run: str, kind: type[Client]
) -> None:
    base = scripted_provider(faulty.url, run).bases[kind.dialect]
    for name in ("headers", "middle", "early", "error", "stall"):
        assert kind(base, streams=False).ask(f"[[script:{name}]]").text == TEXT
    assert {one.fault for one in faulty.requests_of(run)} == {None}


@pytest.mark.parametrize("status", [400, 401, 429, 500])
@EACH_CLIENT
def test_statuses_have_the_body_of_their_dialect(
    server: Server, run: str, kind: type[Client], status: int
) -> None:
    one = client(kind, server, run)
    one.history.append(one.user(f"[[script:e{status}]]"))
    for _ in range(2):
        response, data = post(one.url(), one.body())
        assert response.status == status
        assert f"scripted {status}" in json.loads(data)["error"]["message"]
        assert response.getheader("retry-after") == ("1" if status == 429 else None)
    assert expected_usage(server.requests_of(run)).known is False


@EACH_CLIENT
def test_the_limit_of_tokens_is_told_in_the_words_of_the_dialect(
    server: Server, run: str, kind: type[Client]
) -> None:
    words = {"max_tokens", "incomplete", "length", "MAX_TOKENS"}
    assert client(kind, server, run).ask("[[script:maxtok]]").stop in words


def test_a_broken_stream_of_anthropic_tells_what_was_sent(faulty: Server, run: str) -> None:
    look(client(AnthropicClient, faulty, run), "middle")
    told = expected_usage(faulty.requests_of(run))
    asked = usage_of("middle", 0)
    assert (told.input, told.cache_write, told.output) == (asked.input, asked.cache_write, 1)


def test_a_client_that_resets_hurts_nobody(faulty: Server, run: str) -> None:
    one = client(AnthropicClient, faulty, run)
    one.history.append(one.user("[[script:stall]]"))
    data = json.dumps(one.body()).encode()
    parts = urlsplit(one.url())
    plug = socket.create_connection((str(parts.hostname), int(parts.port or 0)), 30)
    head = f"POST {parts.path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
    plug.sendall(head.encode() + data)
    assert plug.recv(10)
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    plug.close()
    assert faulty.wait_until(lambda all_: _gone(all_, run), 60)
    assert client(AnthropicClient, faulty, run).ask("[[script:pause]]").text == TEXT


def test_a_client_that_goes_before_it_asked_is_in_the_log(faulty: Server, run: str) -> None:
    parts = urlsplit(faulty.url)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), 30) as plug:
        head = f"POST /r/{run}/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
        plug.sendall(head.encode() + b"{")
        assert faulty.wait_until(lambda all_: any(one.run == run for one in all_), 60)
    assert faulty.wait_until(lambda all_: _gone(all_, run), 60)
    (request,) = faulty.requests_of(run)
    assert (request.status, request.script, request.told) == (None, None, None)


def test_a_server_stops_while_clients_wait() -> None:
    late = Script(name="late", about="", turns=(Turn(text=TEXT, wait_seconds=3600),))
    with serve([late]) as server:
        one = client(AnthropicClient, server, "r")
        seen = look(one, "late", patience=0.1, speaks=False)
        assert not seen.ended
        parts = urlsplit(one.url())
        plug = socket.create_connection((str(parts.hostname), int(parts.port or 0)), 30)
        data = json.dumps(one.body()).encode()
        head = f"POST {parts.path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
        plug.sendall(head.encode() + data)
        assert server.wait_until(lambda all_: len(all_) == 2 and all_[1].script == "late", 60)
    with plug, suppress(ConnectionResetError):
        assert plug.recv(10) == b""
