"""A site that is begun can be built, checked and filled at once."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from kbsite.build import build
from kbsite.check import check
from kbsite.cli import kbsite
from kbsite.errors import UsageError
from kbsite.store.settings import read_settings
from tests.conftest import MakeRun


def begun(folder: Path) -> Result:
    return CliRunner().invoke(kbsite, ["init", str(folder)])


def test_a_site_that_is_begun_is_sound_and_builds_with_an_empty_board(tmp_path: Path) -> None:
    home = tmp_path / "my bench"
    done = begun(home)

    assert done.exit_code == 0, done.output
    assert done.stdout == f"{home / 'kbsite.yaml'}\n"
    assert f"cd '{home}'" in done.stderr
    assert "kbsite build" in done.stderr
    settings = read_settings(home / "kbsite.yaml")
    assert settings.config.title == "my bench"
    built = build(settings)
    assert list(built.findings) == []
    page = (built.out / "mine" / "index.html").read_text("utf-8")
    assert "No run is on this board yet." in page
    assert "their mean scores cannot be told apart" in page
    assert 'class="totals"' not in page
    assert [one.text for one in check([], settings)] == []


def test_what_its_comments_propose_can_be_taken(tmp_path: Path, make_run: MakeRun) -> None:
    begun(tmp_path)
    path = tmp_path / "kbsite.yaml"
    lines = path.read_text("utf-8").splitlines()
    keys = (
        "contact: |",
        "  Found a flaw",
        "url:",
        "canary:",
        "hardware:",
        "budget_seconds:",
        "deck:",
    )
    taken = [line.replace("# ", "", 1) if line.strip(" #").startswith(tuple(
        key.strip() for key in keys)) else line for line in lines]  # fmt: skip
    assert sum(one != other for one, other in zip(lines, taken, strict=True)) == len(keys)
    path.write_text("\n".join(taken), "utf-8")
    make_run(
        tmp_path / "runs" / "mine",
        problem="rowsum", hardware="h100-sxm", budget_seconds=2700, audit={}, origin="elsewhere",
    )  # fmt: skip

    settings = read_settings(path)
    (board,) = settings.config.boards
    assert UUID(settings.config.canary).version == 4
    assert (board.hardware, board.budget_seconds, board.deck) == ("h100-sxm", 2700, ("rowsum",))
    assert [one.text for one in check([], settings)] == []


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "runs" / "mine" / "one").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("own\n")
    done = begun(tmp_path)

    assert done.exit_code == 0, done.output
    assert (tmp_path / ".gitignore").read_text() == "own\n"
    assert [path.name for path in (tmp_path / "runs" / "mine").iterdir()] == ["one"]
    assert (tmp_path / "problems" / ".gitkeep").is_file()

    held = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (tmp_path / "kbsite.yaml").write_text("title: Own\n")
    again = begun(tmp_path)

    assert isinstance(again.exception, UsageError)
    assert again.stdout == ""
    held[tmp_path / "kbsite.yaml"] = b"title: Own\n"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == held


def test_a_name_that_no_title_can_have_is_escaped(tmp_path: Path) -> None:
    home = tmp_path / 'a"\x1b: \N{SNOWMAN}'
    done = begun(home)

    assert done.exit_code == 0, done.output
    assert read_settings(home / "kbsite.yaml").config.title == 'a"\\x1b: \N{SNOWMAN}'


@pytest.mark.parametrize("name", ["runs", "problems"])
def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    done = begun(tmp_path)

    assert isinstance(done.exception, UsageError)
    assert f"{tmp_path / name} is no folder" in str(done.exception)
    assert not (tmp_path / "kbsite.yaml").exists()


def test_a_folder_that_looks_like_an_option_can_be_entered_as_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(kbsite, ["init", "--", "-mine"])

    assert done.exit_code == 0, done.output
    assert "cd ./-mine\n" in done.stderr
