"""What a build tells the next one: whatever became of that, nobody waits for it or fails by it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.store.told import read_sealed, read_told, write_sealed, write_told
from tests.conftest import MakeRun, MakeSettings
from tests.test_incremental import from_nothing
from tests.trees import tree


def a_folder(place: Path) -> None:
    place.mkdir()
    (place / "inside").write_text("mine")


def a_link_to_what_has_no_end(place: Path) -> None:
    place.symlink_to("/dev/zero")


def a_link_to_nothing(place: Path) -> None:
    place.symlink_to(place.parent / "nothing" / "there")


def a_file_of_nobody(place: Path) -> None:
    place.write_bytes(b"\xff{")


ODD: tuple[Callable[[Path], object], ...] = (
    os.mkfifo,
    a_folder,
    a_link_to_what_has_no_end,
    a_link_to_nothing,
    a_file_of_nobody,
)


@pytest.mark.parametrize("put", ODD)
def test_what_stands_in_its_place_tells_nothing_and_goes(
    tmp_path: Path, put: Callable[[Path], object]
) -> None:
    for read, write in ((read_told, write_told), (read_sealed, write_sealed)):
        place = tmp_path / read.__name__
        put(place)
        assert read(place, dict[str, int]) is None
        write(place, {"a": 1})
        assert read(place, dict[str, int]) == {"a": 1}
        assert place.is_file()
        assert not place.is_symlink()


def test_a_build_goes_on_whatever_stands_beside_its_site(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(settings.runs / "demo", audit={})
    build(settings)
    names = [path.name for path in tmp_path.glob(".site.*.json")]
    assert len(names) > 3
    for number, put in enumerate(ODD):
        for name in names:
            (tmp_path / name).unlink()
            put(tmp_path / name)
        text = f"verdict: clean\nsummary: Said {number}.\nauditor: A. Reader\n"
        (run / "audit.yaml").write_text(text)
        assert tree(build(settings).out) == from_nothing(settings)
