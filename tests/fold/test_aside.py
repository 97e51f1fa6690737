"""Steps of long transcripts, which read what they tell from a file."""

from __future__ import annotations

import errno
import gc
import os
import tracemalloc
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite import transcripts
from kbsite.fold import aside as aside_module
from kbsite.fold.aside import Aside
from kbsite.fold.steps import Fold
from kbsite.fold.steps_aside import Steps, Told
from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import Format, matches
from kbsite.model.event import Event, Message, ToolCall
from kbsite.model.transcript import AgentLog, Transcript
from kbsite.store.files import Stored
from kbsite.transcripts import events
from tests.fold.making import Log

CAPTURES = Path(__file__).parents[1] / "harnesses" / "captures"
LATE = replace(Log().result("c"), output="", seconds=2.0, late=True)


def told(found: Iterable[Event], aside: Aside[Told] | None) -> Transcript:
    fold = Fold(aside=aside)
    for event in found:
        fold.add(event)
    return fold.transcript("f", "F", ("main.jsonl",))


def whole(log: AgentLog) -> AgentLog:
    """A log whose steps hold what they tell."""
    steps = (replace(step, agents=tuple(map(whole, step.agents))) for step in log.steps)
    return replace(log, steps=list(steps))


def same(found: list[Event]) -> bool:
    """Whether a transcript tells the same, wherever its steps lie; how many of them lie aside."""
    laid, plain = told(found, Aside(Told)), told(found, None)
    logs = {"main": whole(laid.main), "unlinked": tuple(map(whole, laid.unlinked))}
    return replace(laid, aside=False, **logs) == plain


def captured() -> list[tuple[Format, Path]]:
    folders = [folder for cli in sorted(CAPTURES.iterdir()) for folder in sorted(cli.iterdir())]
    return [(form, folder) for folder in folders for form in BY_ID[folder.parent.name].FORMATS]


@pytest.mark.parametrize(("form", "folder"), captured(), ids=lambda it: getattr(it, "name", None))
def test_a_captured_session_tells_the_same(form: Format, folder: Path) -> None:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    named = [(path, path.relative_to(folder).as_posix()) for path in files]
    held = [
        Stored(name, str(path), path.stat().st_size)
        for path, name in named
        if any(matches(name, glob) for glob in form.globs)
    ]
    found = list(events(form, held))

    assert same(found)
    laid = told(found, Aside(Told))
    assert all(_lies_aside(log) for log in laid.agents)


def _lies_aside(log: AgentLog) -> bool:
    below = [agent for step in log.steps for agent in step.agents]
    return isinstance(log.steps, Steps) and not log.steps._whole and all(map(_lies_aside, below))


def test_what_comes_late_early_or_never_is_told_the_same() -> None:
    log = Log()
    found = [
        log.result("early"), log.call("early"), log.call("open"), log.result("nobody's"),
        log.call("c"), log.result("c", "whole"), log.say(), LATE, replace(LATE, call_id="none"),
        log.start("child", "c"), log.say("below", agent="child"), log.use(3, message="m"),
    ]  # fmt: skip

    assert same(found)
    (call,) = [step for step in told(found, Aside(Told)).main.steps if step.anchor == "L5"]
    assert call.result is not None
    assert (call.result.output, call.result.seconds) == ("whole", 2.0)
    assert [agent.id for agent in call.agents] == ["child"]


def test_what_cannot_be_packed_stays_in_memory() -> None:
    log = Log()
    large = replace(log.call("large"), arguments={"n": 2**80})
    found = [log.say("half \ud800"), large, log.say("whole")]
    steps = told(found, Aside(Told)).main.steps

    assert same(found)
    assert isinstance(steps, Steps)
    assert [*steps._whole] == [0, 1]
    assert isinstance(steps[1].event, ToolCall)


@pytest.mark.parametrize("room", [0, 1_500_000])
def test_where_the_disk_is_full_what_has_no_room_stays_in_memory(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    write = os.pwrite

    def full(descriptor: int, data: bytes, at: int) -> int:
        if at >= room:
            raise OSError(errno.ENOSPC, "no room")
        return write(descriptor, bytes(data)[: room - at], at)

    monkeypatch.setattr(os, "pwrite", full)
    log = Log()
    assert same([log.say(f"{number} " * 10_000) for number in range(100)])


def test_a_file_that_lost_its_bytes_is_told() -> None:
    aside = Aside(Told)
    log = Log()
    long = "x" * 2_000_000
    steps = told([log.say(long), log.say(long), log.say()], aside).main.steps
    os.truncate(aside._file, 0)

    with pytest.raises(OSError, match="has lost bytes"):
        _ = steps[0]
    assert steps[2].anchor == "L3"


@pytest.mark.parametrize("written", [1, 50_000, 10**9], ids=["written", "in part", "waiting"])
def test_records_are_read_in_whatever_order(monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    monkeypatch.setattr(aside_module, "_WRITTEN", written)
    monkeypatch.setattr(aside_module, "_AHEAD", 1_000)
    aside = Aside(str)
    records = [f"{number} " * (number * 37 % 400) for number in range(400)]
    places = [aside.put(record) for record in records]
    asked = [*range(400), *reversed(range(400)), *(number * 171 % 400 for number in range(400))]
    # Two that go through them side by side, one far ahead of the other.
    asked += chain.from_iterable(zip(range(200), range(200, 400), strict=True))

    assert [aside.at(place) for number in asked if (place := places[number])] == [
        records[number] for number in asked
    ]


def test_who_goes_from_one_to_the_next_asks_the_system_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, sizes = os.pread, []

    def counted(descriptor: int, size: int, at: int) -> bytes:
        sizes.append(size)
        return read(descriptor, size, at)

    monkeypatch.setattr(os, "pread", counted)
    aside = Aside(str)
    places = [aside.put("x" * 1_000) for _ in range(2_000)]
    for place in places:
        assert place
        aside.at(place)
    assert len(sizes) < 20
    for place in places[::-200]:
        assert place
        aside.at(place)
    assert sum(sizes) < 2_100_000


def test_the_file_is_gone_with_the_steps() -> None:
    aside = Aside(Told)
    held = told([Log().say()], aside).main.steps
    descriptor = aside._file
    del aside
    gc.collect()
    assert os.fstat(descriptor).st_nlink == 0
    assert held[0].event.kind == "message"
    del held
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_long_transcript_takes_little_of_its_size() -> None:
    log = Log()
    tracemalloc.start()
    try:
        laid = told((log.say(f"{number} " * 4_000) for number in range(2_000)), Aside(Told))
        said = (step.event for step in laid.main.steps)
        read = sum(len(event.text) for event in said if isinstance(event, Message))
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read > 30_000_000
    assert held < most < read / 5


def test_files_are_large_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = b'{"type": "user", "message": {"content": "caf\\u00e9"}}\n'
    (tmp_path / "s.jsonl").write_bytes(row)
    files = [
        Stored(f"home/.claude/projects/-w/{name}.jsonl", str(tmp_path / "s.jsonl"), len(row))
        for name in ("a", "b")
    ]
    for most, large in ((2 * len(row), True), (2 * len(row) + 1, False)):
        monkeypatch.setattr(transcripts, "LARGE", most)
        found = transcripts.transcript("claude", files)
        assert found is not None
        assert found.aside is large


@pytest.mark.parametrize(
    ("name", "row", "large"),
    [
        ("a.jsonl", b"{}\n", True),
        ("a.jsonl", b'{"type": "x", "text": "' + b"y" * 40 + b'"}\n', False),
        ("a.json", b"{}\n", False),
    ],
)
def test_files_of_very_many_rows_are_large(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, row: bytes, large: bool
) -> None:
    monkeypatch.setattr(transcripts, "ROWS", 50_000)
    (tmp_path / name).write_bytes(row * (1_000_000 // len(row)))
    stored = Stored(name, str(tmp_path / name), (tmp_path / name).stat().st_size)

    assert transcripts.is_large([stored]) is large
    assert not transcripts.is_large([Stored(name, str(tmp_path / "gone"), stored.size)])


def test_a_machine_without_room_for_files_holds_all_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"type": "user", "message": {"content": "x"}}\n')
    files = [Stored("home/.claude/projects/-w/a.jsonl", str(tmp_path / "s.jsonl"), 10)]

    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(transcripts, "LARGE", 0)
    monkeypatch.setattr("kbsite.fold.aside.Aside", full)
    found = transcripts.transcript("claude", files)
    assert found is not None
    assert not found.aside
