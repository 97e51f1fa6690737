"""Runs as a person names them: by id, by a part of one, by folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.auditing.named import named_run
from kbsite.errors import UsageError
from tests.conftest import MakeRun


def test_an_id_names_its_run_even_where_it_is_a_part_of_another(
    tmp_path: Path, make_run: MakeRun
) -> None:
    long = make_run(tmp_path / "demo", run_id="20260102_030405_claude_opus-x_softmax-2")
    short = make_run(tmp_path / "demo", run_id="20260102_030405_claude_opus-x_softmax")

    assert named_run(short.name, tmp_path) == short
    assert named_run(long.name, tmp_path) == long


def test_a_part_that_no_other_id_has_is_enough(tmp_path: Path, make_run: MakeRun) -> None:
    one = make_run(tmp_path / "demo", model="opus-x")
    make_run(tmp_path / "demo", model="sonnet-y")

    assert named_run("opus", tmp_path) == one


def test_a_part_of_several_ids_names_them_all_and_no_run(tmp_path: Path, make_run: MakeRun) -> None:
    made = [make_run(tmp_path / "demo") for _ in range(2)]

    with pytest.raises(UsageError, match="could be any of 2 runs") as raised:
        named_run("opus", tmp_path)
    assert all(str(folder) in str(raised.value) for folder in made)


def test_of_many_runs_of_one_name_some_are_told_and_the_rest_counted(
    tmp_path: Path, make_run: MakeRun
) -> None:
    for _ in range(11):
        make_run(tmp_path / "demo")

    with pytest.raises(UsageError, match="and 3 more"):
        named_run("opus", tmp_path)


def test_one_id_on_two_boards_is_ambiguous_until_the_folder_is_named(
    tmp_path: Path, make_run: MakeRun
) -> None:
    first = make_run(tmp_path / "demo")
    second = make_run(tmp_path / "other")
    assert first.name == second.name

    with pytest.raises(UsageError, match="could be any of 2"):
        named_run(first.name, tmp_path)
    assert named_run(str(second), tmp_path) == second


def test_a_folder_names_its_run_as_the_runs_folder_lists_it(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "demo")
    monkeypatch.chdir(folder)

    assert named_run(".", tmp_path) == folder


def test_a_folder_that_lies_elsewhere_names_a_run_too(tmp_path: Path, make_run: MakeRun) -> None:
    elsewhere = make_run(tmp_path / "mine" / "demo")

    assert named_run(str(elsewhere), tmp_path / "runs") == elsewhere


@pytest.mark.parametrize("named", ["", "nothing", "demo", "\x1b[2Jx"])
def test_what_names_no_run_is_wrong_use_and_told_safely(
    named: str, tmp_path: Path, make_run: MakeRun
) -> None:
    make_run(tmp_path / "demo")

    with pytest.raises(UsageError, match="no run") as raised:
        named_run(named, tmp_path)
    assert "\x1b" not in str(raised.value)


def test_a_run_that_was_not_completed_is_not_found_by_a_part_of_its_id(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    folder.rename(folder.with_name(f"{folder.name}.partial"))

    with pytest.raises(UsageError, match="no run"):
        named_run("opus", tmp_path)
