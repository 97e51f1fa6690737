"""The files of a build, looked at again only where somebody said that they changed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from kbsite.assets import PACKAGE
from kbsite.standing import program
from kbsite.store.inputs import COMPILED, changes, inputs
from kbsite.store.swapping import remove
from kbsite.store.writing import write_text


@pytest.mark.parametrize("seed", range(8))
def test_who_looks_where_something_changed_knows_what_who_looks_everywhere_does(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    places = [tmp_path / "runs", tmp_path / "problems"]
    for name in ("runs/a/one", "runs/a/b/two", "runs/c/three", "problems/p/four"):
        write_text(tmp_path / name, name)
    held = inputs(places, {})
    for step in range(20):
        heard: set[str] = set()
        for _ in range(chance.randrange(1, 4)):
            heard.add(str(change_something(tmp_path, chance, f"{step}.{len(heard)}")))
        held = inputs(places, held, heard)
        assert held == inputs(places, {})


def change_something(home: Path, chance: random.Random, text: str) -> Path:
    """Change something; its path."""
    every = [path for path in sorted(home.rglob("*")) if path.parent != home]
    change = chance.choice([_written, _taken_away, _completed, _emptied, _linked, _added])
    return change(chance.choice(every) if every else home / "runs" / "a", text)


def _written(path: Path, text: str) -> Path:
    if path.is_file() and not path.is_symlink():
        path.write_text(text * 3)
    return path


def _taken_away(path: Path, _: str) -> Path:
    remove(path)
    return path


def _completed(path: Path, text: str) -> Path:
    """What is called so until it is whole is told of by its last name alone."""
    write_text(path.parent / "new.partial" / "x" / "y", text)
    return (path.parent / "new.partial").rename(path.parent / f"new {text}")


def _emptied(path: Path, text: str) -> Path:
    (path.parent / f"empty {text}").mkdir(parents=True, exist_ok=True)
    return path.parent / f"empty {text}"


def _linked(path: Path, text: str) -> Path:
    (path.parent / f"link {text}").unlink(missing_ok=True)
    (path.parent / f"link {text}").symlink_to(path)
    return path.parent / f"link {text}"


def _added(path: Path, text: str) -> Path:
    write_text(path.parent / f"file {text}", text)
    return path.parent / f"file {text}"


def test_nobody_looks_into_folders_that_are_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/one", "a/apart/two", "apart-from/three", "four/apart"):
        write_text(tmp_path / name, name)
    read = reads(monkeypatch)
    held = inputs([tmp_path], {}, apart="apart")

    names = [path.removeprefix(f"{tmp_path}/") for path in held]
    assert sorted(names) == ["a/one", "apart-from/three", "four/apart"]
    assert str(tmp_path / "a") in read
    assert str(tmp_path / "a/apart") not in read


def test_compiled_code_is_not_read_to_know_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    before = program({}).files
    read = reads(monkeypatch)
    assert program(before).files == before
    assert str(PACKAGE) in read
    assert not [path for path in read if COMPILED in path]


def test_who_builds_many_sites_reads_the_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = program({}).files
    monkeypatch.setattr("kbsite.store.inputs._digest", lambda *_: pytest.fail("it is read"))

    assert program({}).files == before


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders whose names are read from now on, in this process."""
    read: list[str] = []
    scandir = os.scandir

    def counted(path: str) -> object:
        read.append(str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    return read


def test_a_folder_counts_as_changed_where_anything_in_it_did(tmp_path: Path) -> None:
    for name in ("a/x/one", "a/y/two", "b/three"):
        write_text(tmp_path / name, name)
    before = inputs([tmp_path], {})
    write_text(tmp_path / "a/x/one", "more than one")
    grown = inputs([tmp_path], before)
    (tmp_path / "b/three").rename(tmp_path / "b/four")
    moved = inputs([tmp_path], grown)

    above = {str(path) for path in (tmp_path, *tmp_path.parents)} - {"/"}
    within = {f"{tmp_path}/a", f"{tmp_path}/a/x"}
    assert changes(before, before).folders == frozenset()
    assert changes(before, grown).folders == above | within
    assert changes(before, grown).others == frozenset()
    assert changes(grown, moved).folders == above | {f"{tmp_path}/b"}
    assert changes(grown, moved).others == {f"{tmp_path}/b/three", f"{tmp_path}/b/four"}
