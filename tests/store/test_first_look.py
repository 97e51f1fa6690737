"""What a copy of the process sees of all files is what the process itself would have seen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kbsite import beside
from kbsite.store.first_look import FirstLook
from kbsite.store.inputs import inputs


@pytest.fixture(name="places")
def _places(tmp_path: Path) -> list[Path]:
    for name in ("runs/b/run.json", "runs/a/run.json", os.fsdecode(b"problems/\xff.md")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, errors="surrogateescape")
    (tmp_path / "runs" / "empty").mkdir()
    (tmp_path / "runs" / "link").symlink_to("a")
    return [tmp_path / "runs", tmp_path / "problems"]


@pytest.mark.parametrize("cores", [1, 2])
def test_all_is_seen_as_it_is_in_the_same_order(
    places: list[Path], monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(beside, "cores", lambda: cores)
    look = FirstLook(places, lambda _: 1_000)
    seen = look()

    assert list(seen.applied({}).items()) == list(inputs(places, {}).items())
    assert seen.gone == frozenset()
    assert not look.is_under_way()


def test_what_is_seen_is_what_lies_there_when_it_begins(
    places: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "cores", lambda: 2)
    look = FirstLook(places)
    while look.is_under_way():
        pass
    (places[0] / "late").touch()

    assert not [path for path in look().other if path.endswith("late")]


def test_paths_are_held_once(places: list[Path]) -> None:
    assert all(sys.intern(path) is path for path in FirstLook(places)().other)
