"""What a copy of a process read of a run is what the process itself would have read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from kbsite import ahead
from kbsite.ahead import Ahead
from kbsite.model.event import Event
from kbsite.store.runs import StoredRun, read_run
from kbsite.transcripts import transcript
from tests.conftest import MakeRun

ROW = b'{"type": "user", "message": {"content": "caf\\u00e9"}}\n'
HALF = b'{"type": "user", "message": {"content": "\\ud800"}}\n'
LARGE = (
    b'{"type": "assistant", "message": {"id": "m", "content":'
    b' [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"n": 73786976294838206464}}]}}\n'
)
LOG = "home/.claude/projects/-w/s.jsonl"


@pytest.fixture(name="stored")
def _stored(tmp_path: Path, make_run: MakeRun) -> StoredRun:
    make_run(tmp_path, run_id="one", transcript={LOG: ROW * 3})
    return read_run(tmp_path / "one")


def handed_on(stored: StoredRun) -> tuple[bytes, Ahead]:
    """What a copy packs of a run, and what the process holds then that it is told to."""
    copy, process = Ahead(), Ahead()
    copy.read(stored)
    packed = copy.packed(stored.run.id)
    process.add(stored.run.id, packed)
    assert not copy.held
    assert not copy.packs
    return packed, process


def test_a_transcript_is_taken_as_it_was_packed_and_read_no_more(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = transcript(stored.run.harness, stored.transcripts)
    packed, process = handed_on(stored)
    monkeypatch.setattr(ahead, "transcript", lambda *_: pytest.fail("read again"))

    assert packed
    assert read
    assert process.take(stored) == read


def test_each_is_taken_once(stored: StoredRun) -> None:
    _, process = handed_on(stored)
    process.take(stored)

    assert not process.held
    assert not process.packs


def test_an_error_is_not_packed_but_raised_by_who_reads_again(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(ahead, "transcript", failing)
    packed, process = handed_on(stored)

    assert packed == b""
    with pytest.raises(ValueError, match="no such thing"):
        process.take(stored)


@pytest.mark.parametrize("row", [HALF, LARGE])
def test_what_cannot_be_packed_is_read_again(row: bytes, tmp_path: Path, make_run: MakeRun) -> None:
    make_run(tmp_path, run_id="odd", transcript={LOG: ROW + row})
    stored = read_run(tmp_path / "odd")
    packed, process = handed_on(stored)

    assert packed == b""
    assert process.take(stored) == transcript(stored.run.harness, stored.transcripts)


class Odd(Event, frozen=True, kw_only=True):
    """An event that no page knows."""


def test_what_is_packed_and_is_no_event_that_there_is_is_read_again(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = transcript(stored.run.harness, stored.transcripts)
    assert read
    (first, *rest) = read.main.steps
    odd = structs.replace(first, event=Odd(source=first.event.source))
    changed = structs.replace(read, main=structs.replace(read.main, steps=(odd, *rest)))
    with monkeypatch.context() as patch:
        patch.setattr(ahead, "transcript", lambda *_: changed)
        packed, process = handed_on(stored)

    assert packed
    assert process.take(stored) == read


def test_nesting_too_deep_to_be_packed_is_read_again(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    monkeypatch.setattr(ahead, "transcript", lambda *_: deep)
    packed, process = handed_on(stored)

    assert packed == b""
    assert process.take(stored) is deep


def test_what_this_process_read_by_itself_stays(stored: StoredRun) -> None:
    process = Ahead()
    process.read(stored)
    own = process.held["one"]
    process.add("one", b"of a copy")

    assert process.held["one"] is own
