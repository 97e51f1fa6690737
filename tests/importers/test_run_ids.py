"""Names of runs: what may name a folder, and what a run made from a transcript is called."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.errors import UsageError
from kbsite.importers.run_ids import begun_run, board_name, free_run_id, is_safe
from kbsite.model.slugs import slug
from kbsite.store.folders import new_run_folder
from tests.conftest import MakeRun

STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RTX PRO 6000 Blackwell", "rtx-pro-6000-blackwell"),
        ("openrouter/lab/Model-2.5", "openrouter-lab-model-2.5"),
        ("../../etc", "etc"),
        ("…", "unknown"),
        ("", "unknown"),
        ("ÄÖÜ a", "a"),
        ("x" * 100, "x" * 60),
    ],
)
def test_slugs(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.text())
def test_every_slug_can_name_a_folder(text: str) -> None:
    assert is_safe(slug(text))


@given(st.text(), st.text())
def test_no_path_can_name_a_folder(before: str, after: str) -> None:
    assert not is_safe(f"{before}/{after}")


@pytest.mark.parametrize(
    ("started", "stamp"),
    [
        (STARTED, "20260102_030405"),
        (datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2))), "20260101_230000"),
        (None, "00000000_000000"),
    ],
)
def test_the_stamp_is_utc_or_says_that_there_is_none(
    tmp_path: Path, started: datetime | None, stamp: str
) -> None:
    name = free_run_id(tmp_path / "demo", started, "claude", "Lab/Model", "add")
    assert name == f"{stamp}_claude_lab-model_add"


def test_collisions_get_a_number(tmp_path: Path) -> None:
    board, names = tmp_path / "demo", []
    for _ in range(3):
        names.append(free_run_id(board, STARTED, "claude", "m", "add"))
        (board / names[-1]).mkdir(parents=True)
    base = "20260102_030405_claude_m_add"
    assert names == [base, f"{base}-2", f"{base}-3"]


def test_a_number_behind_very_many_is_found_by_few_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, looks, lexists = "20260102_030405_claude_m_add", list[str](), os.path.lexists
    for name in (base, *(f"{base}-{number}" for number in range(2, 700))):
        (tmp_path / "demo" / name).mkdir(parents=True)

    def look(at: Path) -> bool:
        looks.append(at.name)
        return lexists(at)

    monkeypatch.setattr(os.path, "lexists", look)

    assert free_run_id(tmp_path / "demo", STARTED, "claude", "m", "add") == f"{base}-700"
    assert len(looks) <= 2 * 11, "as many were looked at as there are: an import took the square"


def test_a_dangling_link_takes_a_name_too(tmp_path: Path) -> None:
    base = "20260102_030405_claude_m_add"
    board = tmp_path / "demo"
    board.mkdir()
    (board / base).symlink_to(tmp_path / "nowhere")
    assert free_run_id(board, STARTED, "claude", "m", "add") == f"{base}-2"


def test_a_run_of_another_board_takes_its_name(tmp_path: Path) -> None:
    base = "20260102_030405_claude_m_add"
    (tmp_path / "runs" / "other" / base).mkdir(parents=True)
    board = tmp_path / "runs" / "demo"
    assert free_run_id(board, STARTED, "claude", "m", "add") == f"{base}-2"
    assert free_run_id(tmp_path / "elsewhere" / "demo", STARTED, "claude", "m", "add") == base


def test_a_run_that_is_still_written_takes_its_name(tmp_path: Path) -> None:
    """It was told to be deleted, under the hands of another import."""
    base, board = "20260102_030405_claude_m_add", tmp_path / "runs" / "demo"
    (tmp_path / "runs" / "other" / f"{base}-2.partial").mkdir(parents=True)
    first, partial = begun_run(board, STARTED, "claude", "m", "add")
    second, other = begun_run(board, STARTED, "claude", "m", "add")

    assert (first, second) == (base, f"{base}-3")
    assert (partial.name, other.name) == (f"{base}.partial", f"{base}-3.partial")


def test_of_two_imports_that_take_a_name_at_once_the_second_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, board = "20260102_030405_claude_m_add", tmp_path / "demo"

    def late(board: Path, run_id: str) -> Path:
        if run_id == base:
            new_run_folder(board, run_id)
        return new_run_folder(board, run_id)

    monkeypatch.setattr("kbsite.importers.run_ids.new_run_folder", late)

    assert begun_run(board, STARTED, "claude", "m", "add")[0] == f"{base}-2"


def test_what_is_wrong_with_a_free_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Path:
        raise UsageError("no")

    monkeypatch.setattr("kbsite.importers.run_ids.new_run_folder", refused)

    with pytest.raises(UsageError, match="no"):
        begun_run(tmp_path / "demo", STARTED, "claude", "m", "add")


@pytest.mark.parametrize("problem", ["", "..", "../x", "a/b", "a b", "x" * 201])
def test_a_problem_that_cannot_name_a_folder_is_refused(tmp_path: Path, problem: str) -> None:
    with pytest.raises(UsageError, match="is no id of a problem"):
        free_run_id(tmp_path, STARTED, "claude", "m", problem)


def test_a_name_that_grows_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too long"):
        free_run_id(tmp_path, STARTED, "claude", "m", "x" * 190)


def test_a_board_is_named_like_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert board_name(tmp_path / "demo") == "demo"
    assert board_name(tmp_path / "demo", "other") == "other"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert board_name(Path()) == "here"


@pytest.mark.parametrize("within", ["", "deeper/still"])
def test_no_run_is_put_into_a_run(tmp_path: Path, make_run: MakeRun, within: str) -> None:
    """Its manifest would not list what came into it, and it could not be graded any more."""
    make_run(tmp_path / "demo", run_id="one")
    with pytest.raises(UsageError, match="demo/one is a run; name the folder of a board"):
        board_name(tmp_path / "demo" / "one" / within)


@pytest.mark.parametrize("name", ["a b", ".hidden", "../x", "Mine", "x" * 201])
def test_a_board_that_no_kbsite_yaml_could_name_is_refused_with_what_to_do(
    tmp_path: Path, name: str
) -> None:
    cure = f"small letters, digits and . _ - only.*; call the folder {slug(name)}, say"
    with pytest.raises(UsageError, match=f"is no id of a board: .*{cure}"):
        board_name(tmp_path / "demo", name)
    if "/" not in name:
        with pytest.raises(UsageError, match=f"is no id of a board: .*{cure}"):
            board_name(tmp_path / name)
