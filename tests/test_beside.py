"""Work in a copy of the process gives what it gives here; what goes wrong there is told here."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

from kbsite import beside as module
from kbsite.beside import beside, one_core
from kbsite.fold.steps import Fold
from kbsite.model.event import Message, Role, Source
from kbsite.pages.item_row import items
from kbsite.pages.long_text import Overflow
from kbsite.pages.parts import Reading
from kbsite.pages.rendered import LONG, Rendered
from kbsite.pages.steps import Item


@pytest.fixture(name="cores", params=[1, 2])
def _cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A machine of one core, where all is done here, and one of two."""
    cores: int = request.param
    monkeypatch.setattr(module, "cores", lambda: cores)
    return cores


def test_what_work_gives_comes_back_and_what_it_writes_stays(cores: int, tmp_path: Path) -> None:
    def work() -> tuple[int, str]:
        (tmp_path / "written").write_text("x" * 300_000)
        return os.getpid(), "é" * 300_000

    process, text = beside(work)()

    assert (process == os.getpid()) == (cores == 1)
    assert text == "é" * 300_000
    assert (tmp_path / "written").stat().st_size == 300_000


def test_work_that_nobody_waits_for_soon_lets_others_go_first_and_this_process_does_not(
    cores: int,
) -> None:
    here = os.nice(0)

    assert beside(lambda: os.nice(0), patient=True)() == (min(19, here + 10) if cores > 1 else here)
    assert beside(lambda: os.nice(0))() == here
    assert os.nice(0) == here


def test_what_goes_wrong_beside_is_raised_where_it_is_waited_for(cores: int) -> None:
    def work() -> int:
        raise ZeroDivisionError(f"on {cores}")

    waited_for = beside(work)
    with pytest.raises(ZeroDivisionError, match=str(cores)):
        waited_for()


def test_work_is_under_way_until_it_has_something_to_tell(cores: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    waited_for = beside((tmp_path / "go").read_text if cores > 1 else lambda: "gone")
    assert waited_for.is_under_way() == (cores > 1)
    if cores > 1:
        (tmp_path / "go").write_text("gone")
    assert waited_for() == "gone"
    assert not waited_for.is_under_way()


def test_work_whose_copy_is_killed_is_done_here() -> None:
    here = os.getpid()

    def work() -> str:
        if os.getpid() != here:
            os.kill(os.getpid(), 9)
        return "done"

    assert beside(work)() == "done"


def test_nothing_of_the_copy_s_own_state_comes_back() -> None:
    held: list[int] = []

    def work() -> int:
        held.append(1)
        return len(held)

    assert beside(work)() == 1
    assert held == []


def test_where_one_core_is_to_work_and_where_no_process_can_be_made_it_is_done_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)
    with one_core():
        assert beside(os.getpid)() == os.getpid()
    assert beside(os.getpid)() != os.getpid()

    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refused)
    assert beside(os.getpid)() == os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell only what there is")
@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", 4), ("150000 100000", 2), ("1000 100000", 1), ("900000 100000", 4), ("", 4)],
)
def test_cores_are_those_that_the_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, expected: int
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(module, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 7})

    assert module.cores() == expected


def row(number: int) -> list[Item]:
    fold = Fold()
    for line in range(1, number + 1):
        text = f"line {line} " * (2_000 if line % 400 == 0 else 1)
        fold.add(Message(source=Source("f", line), role=Role.USER, text=text))
    return list(items(fold.transcript("f", "F", ("f",))))


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("number", [3, LONG + 401])
def test_items_and_their_long_texts_are_the_same_wherever_they_are_rendered(
    number: int, *, ahead: bool
) -> None:
    def told(*, beside_: bool) -> list[tuple[str, list[str]]]:
        held, reading = row(number), Reading("run", lambda _: None, Overflow())
        with closing(Rendered(held, reading, ahead=beside_)) as rendered:
            return [
                (rendered.html(index), [text.page for text in reading.overflow.take()])
                for index in range(number)
            ]

    assert told(beside_=ahead) == told(beside_=False)
    longs = [page for _, pages in told(beside_=ahead) for page in pages]
    assert longs == [f"text-L{line}-1.html" for line in range(400, number + 1, 400)]


def no_file() -> IO[bytes]:
    raise OSError(errno.ENOSPC, "no room")


def full_disk() -> IO[bytes]:
    return Path("/dev/full").open("w+b")


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("file", [no_file, full_disk])
def test_items_are_rendered_here_where_there_is_no_room_for_those_of_a_copy(
    file: Callable[[], IO[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kbsite.pages.rendered.nameless", file)
    held, reading = row(LONG), Reading("run", lambda _: None, Overflow())
    with closing(Rendered(held, reading, ahead=True)) as rendered:
        html = [rendered.html(index) for index in range(LONG)]
    assert f"line {LONG} " in html[-1]
    assert len({page.page for page in reading.overflow.take()}) == LONG // 400
