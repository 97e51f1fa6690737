"""A folder that takes the place of another: it is always one of the two, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.store import swapping
from kbsite.store.swapping import put_in_place, recover


@pytest.fixture(name="both")
def _both(tmp_path: Path) -> tuple[Path, Path]:
    new, place = tmp_path / "new", tmp_path / "place"
    for folder in (new, place):
        folder.mkdir()
        (folder / "says").write_text(folder.name)
    return new, place


def says(folder: Path) -> str:
    return (folder / "says").read_text()


def not_known(one: Path, other: Path) -> bool:
    assert one.is_dir()
    assert other.is_dir()
    return False


def test_two_folders_are_exchanged(both: tuple[Path, Path]) -> None:
    new, place = both
    held = new.stat().st_ino, place.stat().st_ino
    put_in_place(new, place)

    assert (says(place), says(new)) == ("new", "place")
    assert (place.stat().st_ino, new.stat().st_ino) == held


def test_a_folder_goes_where_none_stood(tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / "says").write_text("new")
    put_in_place(new, tmp_path / "place")

    assert says(tmp_path / "place") == "new"
    assert not new.exists()


def test_where_names_cannot_be_exchanged_the_outcome_is_the_same(
    both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    new, place = both
    monkeypatch.setattr(swapping, "_exchanged", not_known)
    put_in_place(new, place)

    assert (says(place), says(new)) == ("new", "place")
    assert sorted(path.name for path in place.parent.iterdir()) == ["new", "place"]


@pytest.mark.parametrize("renamed", [1, 2])
def test_what_was_put_aside_is_brought_back_after_a_kill(
    both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    """The same renames as above, of which only some were done."""
    new, place = both
    done: list[Path] = []
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if len(done) == renamed:
            raise KeyboardInterrupt
        done.append(self)
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(swapping, "_exchanged", not_known)
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            put_in_place(new, place)
    recover(place)

    assert says(place) == ("place" if renamed == 1 else "new")


def test_nothing_is_brought_back_over_what_stands(both: tuple[Path, Path]) -> None:
    new, place = both
    new.rename(place.with_name("place.old.partial"))
    recover(place)

    assert says(place) == "place"


def test_a_folder_that_is_not_there_is_a_failure_and_no_swap(both: tuple[Path, Path]) -> None:
    new, place = both
    with pytest.raises(FileNotFoundError, match="gone"):
        put_in_place(new.with_name("gone"), place)

    assert says(place) == "place"
