"""What a copy of a process read of a run is what the process itself would have read."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from msgspec import structs

from kbsite import ahead
from kbsite.ahead import Ahead
from kbsite.beside import OWN, copied
from kbsite.fold.aside import Place
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


def handed_on(stored: StoredRun, process: Ahead) -> Place | None:
    """Where a copy packs a run; the process is told it."""
    process.open()
    copy = structs.replace(process, held={}, packs={})
    copy.read(stored)
    place = copy.pack(stored.run.id)
    process.add(stored.run.id, place)
    assert not copy.held
    assert not copy.packs
    return place


def test_a_transcript_is_taken_as_it_was_packed_and_read_no_more(
    stored: StoredRun, process: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = transcript(stored.run.harness, stored.transcripts)
    place = handed_on(stored, process)
    monkeypatch.setattr(ahead, "transcript", lambda *_: pytest.fail("read again"))

    assert place
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
    place = handed_on(stored, process)

    assert place is None
    with pytest.raises(ValueError, match="no such thing"):
        process.take(stored)


@pytest.mark.parametrize("row", [HALF, LARGE])
def test_what_cannot_be_packed_is_read_again(
    row: bytes, tmp_path: Path, make_run: MakeRun, process: Ahead
) -> None:
    make_run(tmp_path, run_id="odd", transcript={LOG: ROW + row})
    stored = read_run(tmp_path / "odd")
    place = handed_on(stored, process)

    assert place is None
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
        place = handed_on(stored, process)

    assert place
    assert process.take(stored) == read


def test_nesting_too_deep_to_be_packed_is_read_again(
    stored: StoredRun, process: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    monkeypatch.setattr(ahead, "transcript", lambda *_: deep)
    place = handed_on(stored, process)

    assert place is None
    assert process.take(stored) is deep


def test_what_this_process_read_by_itself_stays(stored: StoredRun, process: Ahead) -> None:
    process.read(stored)
    own = process.held["one"]
    process.add("one", (0, 9))

    assert process.held["one"] is own
    assert not process.packs


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


@pytest.mark.parametrize("room", [0, 10])
def test_what_no_disk_has_room_for_is_read_again_and_takes_none(
    stored: StoredRun, process: Ahead, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = handed_on(stored, process)
    write = os.pwrite

    def full(descriptor: int, data: bytes, at: int) -> int:
        """A disk that has room for so many bytes more."""
        assert first
        if at >= sum(first) + room:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:room], at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        assert handed_on(stored, process) is None
    assert handed_on(stored, process) == (sum(first or ()), first[1] if first else 0)


def test_many_copies_at_once_pack_into_one_file(
    tmp_path: Path, make_run: MakeRun, process: Ahead
) -> None:
    process.open()
    runs, copies = [], []
    for number in range(8):
        make_run(tmp_path, run_id=f"r{number}", transcript={LOG: ROW * (500 * number + 1)})
        runs.append(read_run(tmp_path / f"r{number}"))
        process.read(runs[-1])
    for stored in runs:

        def work(stream: BinaryIO, run_id: str = stored.run.id) -> None:
            pickle.dump(process.pack(run_id), stream)

        copies.append(copied(work))
    process.held.clear()
    for stored, (copy, told) in zip(runs, copies, strict=True):
        OWN.discard(told)
        with os.fdopen(told, "rb") as stream:
            process.add(stored.run.id, pickle.load(stream))
        assert os.waitpid(copy, 0)[1] == 0

    assert [process.take(one) for one in runs] == [
        transcript(one.run.harness, one.transcripts) for one in runs
    ]


def test_where_no_file_can_be_made_all_is_read_again(stored: StoredRun, tmp_path: Path) -> None:
    with closing(Ahead(tmp_path / "nowhere")) as process:
        assert handed_on(stored, process) is None
        assert process.take(stored) == transcript(stored.run.harness, stored.transcripts)
