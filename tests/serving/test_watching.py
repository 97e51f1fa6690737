"""What changes is noticed, told once for many, and nothing else is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest
import watchfiles

from kbsite.serving import watching
from kbsite.serving.watching import Changes, concerns, lost, watched
from kbsite.store.writing import write_text
from tests.serving.running import PATIENCE, run_apart, until


@pytest.mark.parametrize(
    ("path", "told"),
    [("runs/demo/a/audit.yaml", True), ("runs/demo/a/transcript/stdout.jsonl", True),
     ("runs/demo/a.partial/run.json", False), ("runs/demo/a.partial", False),
     ("runs/demo/a/.0123.partial", False), ("kbsite.yaml~", False), (".kbsite.yaml.swp", False),
     ("src/__pycache__/x.py", False), ("src/x.pyc", False), ("src/x.py", True)],
)  # fmt: skip
def test_what_is_still_written_concerns_nobody(path: str, told: bool) -> None:
    assert concerns(path) == told


@pytest.fixture(name="heard")
def _heard(tmp_path: Path) -> Iterator[Queue[str]]:
    heard: Queue[str] = Queue()
    (tmp_path / "runs").mkdir()
    write_text(tmp_path / "kbsite.yaml", "a")
    with watched([tmp_path / "runs", tmp_path / "kbsite.yaml"], each(heard)):
        yield heard


def each(heard: Queue[str]) -> Callable[[set[str]], None]:
    """Who is told puts every path there."""

    def told(paths: set[str]) -> None:
        for path in paths:
            heard.put(path)

    return told


def expect(heard: Queue[str], path: Path) -> None:
    """Wait until a change of this file is told, or of a folder that it has come with."""
    while heard.get(timeout=PATIENCE) not in map(str, (path, *path.parents)):
        pass


def test_changes_are_told_wherever_they_are(tmp_path: Path, heard: Queue[str]) -> None:
    run = tmp_path / "runs" / "demo" / "a"
    write_text(run / "audit.yaml", "verdict: clean")
    expect(heard, run / "audit.yaml")
    with (run / "audit.yaml").open("a") as stream:
        stream.write("more")
    expect(heard, run / "audit.yaml")
    write_text(tmp_path / "kbsite.yaml", "b")
    expect(heard, tmp_path / "kbsite.yaml")


def test_a_run_is_told_of_when_it_is_complete(tmp_path: Path, heard: Queue[str]) -> None:
    board = tmp_path / "runs" / "demo"
    write_text(board / "a.partial" / "transcript" / "stdout.jsonl", "{}")
    (board / "a.partial").rename(board / "a")
    expect(heard, board / "a")
    audit = str(board / "a" / "audit.yaml")

    def told() -> bool:
        # What is written right after the folder came is told with the folder, and no more.
        write_text(Path(audit), "verdict: clean")
        return audit in heard.queue

    until(told)
    assert not [path for path in heard.queue if ".partial" in path]


@pytest.mark.parametrize("from_outside", [True, False])
def test_a_folder_that_is_moved_at_once_is_watched_from_then_on(
    tmp_path: Path, heard: Queue[str], from_outside: bool
) -> None:
    board = tmp_path / "runs" / "demo"
    board.mkdir()
    for number in range(50):
        run = (tmp_path if from_outside else board) / f"{number}.partial"
        (run / "transcript").mkdir(parents=True)
        run.rename(board / str(number))
    missing = {str(run / "transcript" / "stdout.jsonl") for run in board.iterdir()}

    def told() -> bool:
        # What is written right after a folder came is told with the folder, and no more.
        for path in missing:
            write_text(Path(path), "{}")
        missing.difference_update(heard.queue)
        return not missing

    until(told)


def test_reading_and_the_neighbours_of_a_file_are_no_change(
    tmp_path: Path, heard: Queue[str]
) -> None:
    (tmp_path / "other.yaml").write_text("x")
    (tmp_path / "kbsite.yaml").read_text()
    list((tmp_path / "runs").iterdir())
    write_text(tmp_path / "kbsite.yaml", "b")
    expect(heard, tmp_path / "kbsite.yaml")

    assert set(heard.queue) <= {str(tmp_path / "kbsite.yaml")}


@pytest.mark.parametrize(
    "error",
    [OSError(28, "OS file watch limit reached"), RuntimeError("Too many open files (os error 24)")],
)
def test_what_the_system_cannot_tell_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*places: Path, force_polling: bool, **settings: Any) -> Iterator[object]:
        if not force_polling:
            raise error
        return watchfiles.watch(*places, force_polling=True, **settings)

    monkeypatch.setattr(watching, "watch", full)
    heard: Queue[str] = Queue()
    with watched([tmp_path], each(heard)):
        write_text(tmp_path / "a.yaml", "a")
        expect(heard, tmp_path / "a.yaml")


def test_a_name_that_is_no_utf_8_keeps_nothing_from_being_told(tmp_path: Path) -> None:
    # To watch a folder is to open it, which the system tells of, and nobody can say whose name.
    odd = tmp_path / "runs" / "demo" / os.fsdecode(b"odd\xff")
    odd.mkdir(parents=True)
    heard: Queue[str] = Queue()
    with watched([tmp_path / "runs"], each(heard)):
        write_text(tmp_path / "runs" / "demo" / "a.yaml", "a")
        expect(heard, tmp_path / "runs" / "demo" / "a.yaml")
        (odd / "b.txt").write_text("b")
        expect(heard, odd / "b.txt")


@pytest.mark.parametrize("error", [RuntimeError("error in underlying watcher"), OSError(5, "gone")])
def test_where_the_system_tells_no_more_all_is_to_be_watched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def ends(*_: Path, **__: object) -> Iterator[set[tuple[watchfiles.Change, str]]]:
        yield set()
        raise error

    monkeypatch.setattr(watching, "watch", ends)
    monkeypatch.setattr(watching, "_ENDED", 0.01)
    heard: Queue[set[str]] = Queue()
    (tmp_path / "a.yaml").touch()
    with watched([tmp_path / "a.yaml"], heard.put):
        assert lost([tmp_path / "a.yaml"], heard.get(timeout=PATIENCE))

    # A system that does so each time would have builds follow upon each other without a pause.
    monkeypatch.setattr(watching, "_ENDED", 3600)
    with watched([tmp_path / "a.yaml"], heard.put), pytest.raises(Empty):
        heard.get(timeout=0.2)
    assert lost([tmp_path / "a.yaml"], heard.get_nowait())


def test_many_changes_are_one() -> None:
    async def many() -> tuple[frozenset[str], frozenset[str]]:
        changes = Changes()
        for number in range(50):
            changes.add([str(number)])
        first = await changes.wait()
        changes.add(["later"])
        return first, await changes.wait()

    first, second = run_apart(many())

    assert first == {str(number) for number in range(50)}
    assert second == {"later"}


def test_what_never_rests_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than a machine at work takes for a file: there is no rest in between.
    monkeypatch.setattr(watching, "QUIET", 0.3)
    heard: Queue[set[str]] = Queue()
    end = time.monotonic() + PATIENCE
    with watched([tmp_path], heard.put):
        for number in count():
            (tmp_path / str(number)).touch()
            time.sleep(0.003)
            if not heard.empty() or time.monotonic() > end:
                break
    told = heard.get_nowait()

    assert told <= {str(tmp_path / str(other)) for other in range(number + 1)}
