"""What a copy of a process read of a run is what the process itself would have read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
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


@pytest.fixture(name="process")
def _process(tmp_path: Path) -> Iterator[Ahead]:
    with closing(Ahead(tmp_path)) as process:
        yield process


def handed_on(stored: StoredRun, process: Ahead) -> bytes:
    """What a copy packs of a run; the process is told it."""
    copy = Ahead()
    copy.read(stored)
    packed = copy.packed(stored.run.id)
    process.add(stored.run.id, packed)
    assert not copy.held
    assert not copy.packs
    return packed


def test_a_transcript_is_taken_as_it_was_packed_and_read_no_more(
    stored: StoredRun, process: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = transcript(stored.run.harness, stored.transcripts)
    packed = handed_on(stored, process)
    monkeypatch.setattr(ahead, "transcript", lambda *_: pytest.fail("read again"))

    assert packed
    assert read
    assert process.take(stored) == read


def test_each_is_taken_once(stored: StoredRun, process: Ahead) -> None:
    handed_on(stored, process)
    process.take(stored)

    assert not process.held
    assert not process.packs


def test_an_error_is_not_packed_but_raised_by_who_reads_again(
    stored: StoredRun, process: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(ahead, "transcript", failing)
    packed = handed_on(stored, process)

    assert packed == b""
    with pytest.raises(ValueError, match="no such thing"):
        process.take(stored)


@pytest.mark.parametrize("row", [HALF, LARGE])
def test_what_cannot_be_packed_is_read_again(
    row: bytes, tmp_path: Path, make_run: MakeRun, process: Ahead
) -> None:
    make_run(tmp_path, run_id="odd", transcript={LOG: ROW + row})
    stored = read_run(tmp_path / "odd")
    packed = handed_on(stored, process)

    assert packed == b""
    assert process.take(stored) == transcript(stored.run.harness, stored.transcripts)


class Odd(Event, frozen=True, kw_only=True):
    """An event that no page knows."""


def test_what_is_packed_and_is_no_event_that_there_is_is_read_again(
    stored: StoredRun, process: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = transcript(stored.run.harness, stored.transcripts)
    assert read
    (first, *rest) = read.main.steps
    odd = structs.replace(first, event=Odd(source=first.event.source))
    changed = structs.replace(read, main=structs.replace(read.main, steps=(odd, *rest)))
    with monkeypatch.context() as patch:
        patch.setattr(ahead, "transcript", lambda *_: changed)
        packed = handed_on(stored, process)

    assert packed
    assert process.take(stored) == read


def test_nesting_too_deep_to_be_packed_is_read_again(
    stored: StoredRun, process: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    monkeypatch.setattr(ahead, "transcript", lambda *_: deep)
    packed = handed_on(stored, process)

    assert packed == b""
    assert process.take(stored) is deep


def test_what_this_process_read_by_itself_stays(stored: StoredRun, process: Ahead) -> None:
    process.read(stored)
    own = process.held["one"]
    process.add("one", b"of a copy")

    assert process.held["one"] is own


def test_copies_take_what_was_packed_from_one_file(
    tmp_path: Path, make_run: MakeRun, process: Ahead
) -> None:
    runs = []
    for number in range(3):
        make_run(tmp_path, run_id=f"r{number}", transcript={LOG: ROW * (number + 1)})
        runs.append(read_run(tmp_path / f"r{number}"))
        handed_on(runs[-1], process)
    for stored in (runs[2], runs[0]):
        child = os.fork()
        if not child:
            shown = process.take(stored)
            os._exit(shown is None or shown != transcript(stored.run.harness, stored.transcripts))
        assert os.waitpid(child, 0)[1] == 0
    last = runs[1]
    assert process.take(last) == transcript(last.run.harness, last.transcripts)


def test_what_was_packed_has_no_name_and_is_gone_with_who_had_it(
    stored: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(tmp_path.iterdir())
    with closing(Ahead(tmp_path)) as process:
        handed_on(stored, process)
        assert process.packs
        assert sorted(tmp_path.iterdir()) == before
    monkeypatch.setattr(os, "pread", lambda *_: pytest.fail("read from a file that is closed"))
    assert process.take(stored) == transcript(stored.run.harness, stored.transcripts)


class Full:
    """A file on a disk that has room for so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        taken, self.room = min(self.room, len(data)), 0
        return taken

    def close(self) -> None:
        pass


@pytest.mark.parametrize("room", [0, 10])
def test_what_no_disk_has_room_for_is_read_again(
    stored: StoredRun, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "TemporaryFile", lambda **_: Full(room))
    with closing(Ahead()) as process:
        assert handed_on(stored, process)
        assert not process.packs
        handed_on(stored, process)
        assert not process.packs
    assert process.take(stored) == transcript(stored.run.harness, stored.transcripts)


def test_where_no_file_can_be_made_all_is_read_again(stored: StoredRun, tmp_path: Path) -> None:
    with closing(Ahead(tmp_path / "nowhere")) as process:
        assert handed_on(stored, process)
        assert process.take(stored) == transcript(stored.run.harness, stored.transcripts)
