"""Large files are read by a thread: what comes of it is what comes of reading them in turn."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from kbsite import beside
from kbsite.store import inputs as module
from kbsite.store.inputs import Input, inputs
from kbsite.store.read_beside import ReadBeside


def test_it_reads_all_in_their_order_by_one_thread() -> None:
    reading = ReadBeside[int, tuple[int, int]](lambda number: (number, threading.get_ident()))
    for number in range(50):
        reading.ask(number)
    found = reading.found()
    assert [number for number, _ in found] == list(range(50))
    assert {ident for _, ident in found}.isdisjoint({threading.get_ident()})
    assert len({ident for _, ident in found}) == 1


def test_nothing_asked_is_nothing_found_and_no_thread() -> None:
    before = threading.active_count()
    assert ReadBeside(str).found() == []
    assert threading.active_count() == before


def test_what_goes_wrong_is_raised_where_it_is_waited_for() -> None:
    reading = ReadBeside[int, int](lambda number: 1 // number)
    for number in (1, 0, 2):
        reading.ask(number)
    with pytest.raises(ZeroDivisionError):
        reading.found()


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for name, size in (("a", 5), ("b", 2_000), ("c/d", 3_000), ("c/e", 7)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(os.urandom(size))
    return folder


@pytest.mark.parametrize("cores", [1, 2])
def test_large_files_are_seen_as_small_ones_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    told: Mapping[str, Input] = inputs([folder], {})
    monkeypatch.setattr(module, "_LARGE", 1_000)
    monkeypatch.setattr(beside, "cores", lambda: cores)
    assert list(inputs([folder], {}).items()) == list(told.items())
    (folder / "b").write_bytes(os.urandom(2_001))
    (folder / "c" / "d").unlink()
    changed = inputs([folder], told)
    assert set(told) - set(changed) == {str(folder / "c" / "d")}
    assert {path for path, file in changed.items() if told[path] is not file} == {str(folder / "b")}


def test_a_large_file_that_goes_meanwhile_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LARGE", 1_000)
    monkeypatch.setattr(beside, "cores", lambda: 2)
    gone, read = threading.Event(), module._Look._read

    def late(look: module._Look, asked: module._Asked) -> module._Read:
        gone.wait(60)
        return read(look, asked)

    def found(reading: ReadBeside[module._Asked, module._Read]) -> list[module._Read]:
        (folder / "b").unlink()
        gone.set()
        return wait(reading)

    wait = ReadBeside.found
    monkeypatch.setattr(module._Look, "_read", late)
    monkeypatch.setattr(ReadBeside, "found", found)
    held = inputs([folder], {})
    assert sorted(Path(path).name for path in held) == ["a", "d", "e"]
