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

    told = held.joined("list", {"r": "1", "ä": "1", "s": "1"}, make, ", ")
    assert told.decode() == "anew r, anew ä, anew s"
    held.write()
    made.clear()
    # One that comes between, one that cannot be told, one that changed.
    asked_of = {"b": "1", "r": "1", "ä": "1", "c": "", "s": "2"}
    held = rows(folder)
    told = held.joined("list", asked_of, make, ", ")
    held.write()

    assert told.decode() == "anew b, anew r, anew ä, anew c, anew s"
    assert made == ["b", "c", "s"]
    assert rows(folder).joined("list", {"s": "2", "r": "1"}, make, ", ") == b"anew s, anew r"
    assert rows(folder).joined("list", {}, make, ", ") == b""
    assert made == ["b", "c", "s"]
    # What this process made last is newer, and is known without a folder too.
    held.begin("f", "t")
    assert held.joined("list", asked_of, make, ", ") == told
    assert made == ["b", "c", "s", "c"]


def test_joined_rows_of_another_frame_of_other_templates_or_of_a_damaged_file_are_made_anew(
    folder: Path,
) -> None:
    def joined(held: KeptRows, made: str = "anew") -> list[str]:
        told = [held.joined("list", {"r": "1"}, lambda _: made).decode()]
        told.append(held.joined_html("page", {"r": "1"}, lambda _: made))
        held.write()
        return told

    joined(rows(folder), "kept")

    assert joined(rows(folder)) == ["kept", "kept"]
    assert joined(rows(folder, templates="other"), "new") == ["kept", "new"]
    assert joined(rows(folder, "other")) == ["anew", "anew"]
    assert joined(rows(folder, "other", fresh=True), "new") == ["new", "new"]
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"new", b"now"))
    assert joined(rows(folder, "other")) == ["anew", "anew"]


def test_a_process_that_stays_reads_rows_that_no_build_of_it_asked_for(folder: Path) -> None:
    held = rows(folder)
    asked(held)
    held.begin("f", "t", folder)
    other = rows(folder)
    other.text("told", "r", "1", lambda: "kept")
    other.joined("list", {"r": "1"}, lambda _: "kept")
    other.write()

    assert held.text("told", "r", "1", lambda: "lost") == "kept"
    assert held.joined("list", {"r": "1"}, lambda _: "lost") == b"kept"
