"""The account of a run, the log that it leaves, and the clock that both go by."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.providers import Dialect
from bench.proxy import book as books
from bench.proxy.book import Book
from bench.proxy.clock import Clock
from bench.proxy.draft import MOST_CHARACTERS
from bench.proxy.form import Exchange, Outcome
from bench.proxy.hiding import Hiding
from bench.proxy.log import MOST_LINE_BYTES, Log, read_exchanges
from bench.proxy.metering import metering
from bench.proxy.upstream import Upstream
from kbsite.errors import InputError
from kbsite.model.usage import Usage
from tests.bench.proxy.peers import plays_well, raw_provider

EXCHANGE = Exchange(
    number=1, started=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), seconds=1.5,
    first_byte_seconds=0.25, method="POST", path="/v1/messages", dialect=Dialect.ANTHROPIC,
    model="m", answered_by="m-1", status=200, outcome=Outcome.COMPLETE, stop="end_turn",
    request_id="r", usage=Usage(input=1, output=2), server_tools=("web_search",),
    retry_after_seconds=2.5,
)  # fmt: skip


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with Book(tmp_path / "proxy.jsonl", Clock(60), Hiding(None)) as held:
        yield held


def ended(book: Book, outcome: Outcome, **said: Any) -> None:
    """An exchange of a model that ended in a way."""
    draft = book.begin("POST", "/v1/messages")
    draft.model_request, draft.ended_as = True, outcome
    draft.told.usage = Usage(input=10, output=1)
    for name, value in said.items():
        setattr(draft, name, value)
    book.end(draft)


def test_failures_in_a_row_end_with_an_answer(book: Book) -> None:
    counts = []
    for outcome in (
        Outcome.ERROR, Outcome.BROKEN, Outcome.REFUSED, Outcome.ABANDONED, Outcome.UNREACHABLE,
        Outcome.CUT, Outcome.ERROR, Outcome.COMPLETE,
    ):  # fmt: skip
        ended(book, outcome)
        counts.append(book.failures_in_a_row)
    assert counts == [1, 2, 2, 2, 3, 0, 1, 0]


def test_side_requests_and_refusals_count_but_are_not_of_the_model(book: Book) -> None:
    ended(book, Outcome.COMPLETE)
    last = book.last
    ended(book, Outcome.REFUSED)
    ended(book, Outcome.ERROR, model_request=False)
    assert book.last == last
    assert book.account.usage == Usage(input=10, output=1)
    assert (book.account.exchanges, book.account.answers) == (3, 1)
    assert [one.number for one in book.exchanges] == [1, 2, 3]


def test_only_the_last_exchanges_are_kept_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books, "MOST_KEPT", 3)
    with Book(tmp_path / "proxy.jsonl", Clock(60), Hiding(None)) as book:
        for _ in range(5):
            ended(book, Outcome.COMPLETE)
        assert [one.number for one in book.exchanges] == [3, 4, 5]
        assert book.account.usage == Usage(input=50, output=5)
        assert book.account.answers == 5
    assert len(list(read_exchanges(tmp_path / "proxy.jsonl"))) == 5


def test_no_flood_of_refused_or_side_requests_hides_what_was_asked_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books, "MOST_KEPT", 3)
    monkeypatch.setattr(books, "MOST_LINES", 100)
    with Book(tmp_path / "proxy.jsonl", Clock(60), Hiding(None)) as book:
        ended(book, Outcome.COMPLETE, model="first")
        for _ in range(101):
            ended(book, Outcome.REFUSED, model_request=False)
            ended(book, Outcome.COMPLETE, model_request=False)
        ended(book, Outcome.COMPLETE, model="last")
        kept = [one.number for one in book.exchanges]
    lines = list(read_exchanges(tmp_path / "proxy.jsonl"))
    assert kept == [1, 198, 199, 200, 201, 202, 203, 204]
    assert [one.model for one in lines if one.model_request] == ["first", "last"]
    assert [one.outcome for one in lines].count(Outcome.REFUSED) == 2
    assert len(lines) == 104


def test_what_others_say_is_one_short_line(book: Book) -> None:
    ended(book, Outcome.ERROR, error="a\n\x1b[31m" + "b" * 10_000, model="m" * 10_000)
    (one,) = book.exchanges
    assert one.error is not None
    assert one.error.startswith("a\\n\\x1b[31mbbb")
    assert len(one.error) == MOST_CHARACTERS
    assert one.error.endswith("…")
    assert one.model is not None
    assert len(one.model) == 200


def test_a_log_that_cannot_be_written_closes_the_door_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int:
        raise OSError(28, "No space left on device")

    book = Book(tmp_path / "proxy.jsonl", Clock(60), Hiding(None))
    with monkeypatch.context() as full:
        full.setattr(os, "write", fails)
        ended(book, Outcome.COMPLETE)
    assert book.closed == "the proxy cannot write its log: No space left on device"
    assert book.account.exchanges == 1
    with pytest.raises(OSError, match="No space left"):
        book.__exit__(None, None, None)


def test_a_line_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "proxy.jsonl"
    log = Log(path)
    others = [replace(EXCHANGE, number=n, outcome=one) for n, one in enumerate(Outcome)]
    for one in (EXCHANGE, *others):
        log.write(one)
    log.close()
    assert list(read_exchanges(path)) == [EXCHANGE, *others]
    assert path.read_bytes().count(b"\n") == 1 + len(others)


def test_a_log_takes_the_place_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "proxy.jsonl"
    path.write_text("there")
    with pytest.raises(FileExistsError):
        Log(path)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        Log(link)
    assert path.read_text() == "there"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "proxy.jsonl"
    log = Log(path)
    log.write(EXCHANGE)
    log.write(EXCHANGE)
    log.close()
    return path


def test_half_a_last_line_is_left_out(written: Path) -> None:
    data = written.read_bytes()
    written.write_bytes(data[:-20])
    assert list(read_exchanges(written)) == [EXCHANGE]


@pytest.mark.parametrize("line", [b"{}\n", b"[1]\n", b"x" * (2 * MOST_LINE_BYTES) + b"\n", b"\n"])
def test_another_line_that_is_no_exchange_is_named(line: bytes, written: Path) -> None:
    data = written.read_bytes()
    first = data.index(b"\n") + 1
    written.write_bytes(data[:first] + line + data[first:])
    with pytest.raises(InputError, match="expected an exchange") as caught:
        list(read_exchanges(written))
    assert (caught.value.path, caught.value.line) == (written, 2)


def test_a_link_is_not_read(written: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(written)
    with pytest.raises(OSError, match="symbolic links"):
        list(read_exchanges(link))


def test_a_clock_runs_once_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("bench.proxy.clock.time.monotonic", lambda: now)
    clock = Clock(10)
    assert (clock.started, clock.deadline, clock.elapsed_seconds, clock.left_seconds) == (
        None, None, 0.0, 10.0,
    )  # fmt: skip
    now = 200.0
    clock.start()
    started = clock.started
    assert started is not None
    now = 203.0
    clock.start()
    assert clock.started == started
    assert (clock.elapsed_seconds, clock.left_seconds, clock.over) == (3.0, 7.0, False)
    assert clock.deadline is not None
    assert (clock.deadline - started).total_seconds() == 10
    now = 210.0
    assert (clock.left_seconds, clock.over) == (0.0, True)
    now = 300.0
    assert clock.told()["left_seconds"] == 0.0


def test_a_proxy_that_cannot_start_says_so_and_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with raw_provider(plays_well) as raw:
        upstream = Upstream(raw.provider(), Dialect.CHAT)
    closed = socket.socket()
    closed.close()
    with (
        pytest.raises(OSError, match="Bad file descriptor"),
        metering(closed, upstream, tmp_path / "proxy.jsonl", Clock(60)),
    ):
        pytest.fail("it must not start")
    assert threading.active_count() == before
