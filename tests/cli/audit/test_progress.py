"""Commands that look all runs over tell a terminal how far they are, and nobody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.audit.calling import called
from tests.cli.audit.terminals import on_a_terminal
from tests.conftest import MakeRun, MakeSettings

COMMANDS = {
    "queue": ("queue",),
    "stats": ("stats",),
    "show": ("show", "_first_", "--no-pager"),
    "new": ("new", "_first_", "--no-edit"),
    "scan of one": ("scan", "_first_"),
}


@pytest.fixture
def site(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    make_settings(tmp_path)
    for model in ("first", "second"):
        make_run(tmp_path / "runs" / "demo", model=model)
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_terminal_is_shown_how_far_it_is(words: tuple[str, ...], site: Path) -> None:
    second = next(site.glob("runs/demo/*_second_*")).name
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", on_a_terminal(site, *words))

    assert f"2/2 {second}" in shown


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_bar_gets_into_what_is_no_terminal(words: tuple[str, ...], site: Path) -> None:
    done = called(site, *words)

    assert done.returncode == 0
    assert not re.search("[━\x1b]|2/2", done.stdout + done.stderr)
