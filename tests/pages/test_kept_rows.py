"""Rows of lists that were made already: what is taken from another build, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.pages.kept_rows import KeptRows


def rows(folder: Path, frame: str = "f", templates: str = "t", *, fresh: bool = False) -> KeptRows:
    """Those of a process that has just started."""
    held = KeptRows()
    held.begin(frame, templates, folder, fresh=fresh)
    return held


def asked(held: KeptRows, made_of: str = "1") -> list[str]:
    """Two rows, as they were kept or as they are made anew; the next build knows them."""
    told = [
        held.text("csv", "r", made_of, lambda: "anew"),
        held.html("listed", "r", made_of, lambda: "anew"),
    ]
    held.write()
    return told


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    held = rows(tmp_path / "rows")
    held.text("csv", "r", "1", lambda: "kept \udcff")
    held.html("listed", "r", "1", lambda: "kept")
    held.write()
    return tmp_path / "rows"


def test_a_row_of_an_earlier_process_is_not_made_anew(folder: Path) -> None:
    assert asked(rows(folder)) == ["kept \udcff", "kept"]


def test_a_row_that_hangs_on_something_else_now_is_made_anew(folder: Path) -> None:
    assert asked(rows(folder), "2") == ["anew", "anew"]
    assert asked(rows(folder), "2") == ["anew", "anew"]
    assert asked(rows(folder, "other"), "2") == ["anew", "anew"]


def test_a_template_that_changed_remakes_what_templates_make(folder: Path) -> None:
    assert asked(rows(folder, templates="other")) == ["kept \udcff", "anew"]


def test_what_cannot_be_told_is_never_kept(folder: Path) -> None:
    assert asked(rows(folder), "") == ["anew", "anew"]
    assert asked(rows(folder)) == ["kept \udcff", "kept"]


def test_whoever_makes_all_anew_reads_none_and_writes_them(folder: Path) -> None:
    assert asked(rows(folder, fresh=True)) == ["anew", "anew"]
    assert asked(rows(folder)) == ["anew", "anew"]


@pytest.mark.parametrize("damage", [b"", b"\n", b"[]", b"{}\n", b"no", None])
def test_a_damaged_file_is_thrown_away(folder: Path, damage: bytes | None) -> None:
    for path in folder.iterdir():
        # One letter of a row is damage too, which JSON does not show.
        path.write_bytes(path.read_bytes().replace(b"kept", b"kapt") if damage is None else damage)

    assert asked(rows(folder)) == ["anew", "anew"]
    assert asked(rows(folder)) == ["anew", "anew"]


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("no folder")

    assert asked(rows(tmp_path / "rows")) == ["anew", "anew"]


def test_a_build_that_asks_for_no_row_forgets_none(folder: Path) -> None:
    held = rows(folder, frame="new")
    asked(held)
    held.row("figures", "r", "1", lambda: "anew")
    held.begin("new", "t", folder)
    held.begin("new", "t", folder)

    assert held.row("figures", "r", "1", lambda: "lost") == "anew"
    assert held.text("csv", "r", "1", lambda: "lost") == "anew"


def test_a_process_that_stays_knows_them_without_reading(folder: Path) -> None:
    held = rows(folder)
    asked(held, "2")
    for path in folder.iterdir():
        path.unlink()
    held.begin("f", "t", folder)

    assert [held.text("csv", "r", "2", lambda: "lost"), *folder.iterdir()] == ["anew"]


def test_of_many_rows_those_are_made_that_are_not_known_and_they_stand_in_their_order(
    folder: Path,
) -> None:
    held, made = rows(folder), list[str]()

    def make(about: str) -> str:
        made.append(about)
        return f"anew {about}"

    asked_of = {"b": "1", "r": "1", "c": ""}
    told = held.texts("csv", asked_of, make)
    held.write()

    assert told == ["anew b", "kept \udcff", "anew c"]
    assert made == ["b", "c"]
    assert rows(folder).texts("csv", {"r": "2", "b": "1"}, make) == ["anew r", "anew b"]
    assert made == ["b", "c", "r"]
    # What this process made last is newer, and is known without a folder too.
    held.begin("f", "t", folder)
    assert held.texts("csv", asked_of, make) == told
    assert made == ["b", "c", "r", "c"]
