"""What changes is noticed, told once for many, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest
from watchdog.observers.polling import PollingObserver

from kbsite.serving import watching
from kbsite.serving.watching import Changes, concerns, watched
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
    with watched([tmp_path / "runs", tmp_path / "kbsite.yaml"], heard.put):
        yield heard


def expect(heard: Queue[str], path: Path) -> None:
    """Wait until a change of this file is told."""
    told: list[str] = []
    while str(path) not in told:
        told.append(heard.get(timeout=PATIENCE))


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


def test_reading_and_the_neighbours_of_a_file_are_no_change(
    tmp_path: Path, heard: Queue[str]
) -> None:
    (tmp_path / "other.yaml").write_text("x")
    (tmp_path / "kbsite.yaml").read_text()
    list((tmp_path / "runs").iterdir())
    write_text(tmp_path / "kbsite.yaml", "b")
    expect(heard, tmp_path / "kbsite.yaml")

    assert set(heard.queue) <= {str(tmp_path / "kbsite.yaml")}


def test_where_the_system_cannot_tell_it_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(PollingObserver):
        def start(self) -> None:
            raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watching, "Observer", Full)
    heard: Queue[str] = Queue()
    with watched([tmp_path], heard.put):
        write_text(tmp_path / "a.yaml", "a")
        expect(heard, tmp_path / "a.yaml")


def test_many_changes_are_one() -> None:
    async def many() -> tuple[frozenset[str], frozenset[str]]:
        changes = Changes()
        for number in range(50):
            changes.add(str(number))
        first = await changes.wait()
        changes.add("later")
        return first, await changes.wait()

    first, second = run_apart(many())

    assert first == {str(number) for number in range(50)}
    assert second == {"later"}


def test_what_never_rests_is_told_all_the_same() -> None:
    async def growing() -> tuple[frozenset[str], int]:
        changes = Changes()
        written = 0

        async def write() -> None:
            nonlocal written
            while True:
                written += 1
                changes.add(str(written))
                await asyncio.sleep(watching.QUIET / 4)

        writing = asyncio.create_task(write())
        told = await asyncio.wait_for(changes.wait(), PATIENCE)
        writing.cancel()
        return told, written

    told, written = run_apart(growing())

    assert 1 < len(told) <= written
