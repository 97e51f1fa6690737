"""The files of a build, looked at again only where somebody said that they changed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from kbsite.store.inputs import changes, inputs
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
            heard.add(str(_changed(tmp_path, chance, f"{step}.{len(heard)}")))
        held = inputs(places, held, heard)
        assert held == inputs(places, {})


def _changed(home: Path, chance: random.Random, text: str) -> Path:
    """Change something; its path."""
    every = [path for path in sorted(home.rglob("*")) if path.parent != home]
    path = chance.choice(every) if every else home / "runs" / "a"
    match chance.randrange(6):
        case 0 if path.is_file():
            path.write_text(text * chance.randrange(9))
        case 1:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        case 2 if path.is_dir() and not path.is_symlink():
            # What is called so until it is whole is told of by its last name alone.
            write_text(path / "new.partial" / "x" / "y", text)
            path = (path / "new.partial").rename(path / f"new {text}")
        case 3:
            path = path.parent / f"empty {text}"
            path.mkdir(exist_ok=True)
        case 4:
            path = path.parent / f"link {text}"
            path.unlink(missing_ok=True)
            path.symlink_to(home)
        case _:
            path = path.parent / f"file {text}"
            path.write_text(text)
    return path


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
    assert not changes(before, grown).elsewhere
    assert changes(grown, moved).folders == above | {f"{tmp_path}/b"}
    assert changes(grown, moved).elsewhere
