"""`kbsite audit queue`: what waits, on stdout; how much is done, on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbsite import alarms
from kbsite.cli import kbsite
from kbsite.cli.audit import COMMANDS
from tests.auditing.detectors import WORDS
from tests.cli.audit.calling import called, started
from tests.conftest import MakeRun, MakeSettings


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    shown = CliRunner().invoke(kbsite, ["audit", command, "--help"])

    assert shown.exit_code == 0, shown.output
    assert f"Example:\n    kbsite audit {command}" in shown.output


def test_what_waits_is_listed_with_reasons_score_alarms_and_path(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo")
    done = started(tmp_path, "queue")

    assert done.returncode == 0, done.stderr
    assert ".420" in done.stdout
    assert "best of its problem" in done.stdout
    assert f"runs/demo/{run.name}" in done.stdout
    assert "1 wait" in done.stderr
    assert "audited 0 of 1 due" in done.stderr


def test_alarms_are_counted_by_level_the_heaviest_first(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alarms, "DETECTORS", (WORDS,))
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", files={"solution.py": b"if n > 1: cache\nif n > 2: y\n"})
    done = called(tmp_path, "queue")
    [line] = called(tmp_path, "queue", "--json").stdout.splitlines()

    assert "flagged (alarm)" in done.stdout
    assert "     1 alarm, 2 notes\n" in done.stdout
    assert json.loads(line)["alarms"] == {"alarm": 1, "warning": 0, "note": 2}


def test_an_empty_queue_says_so_and_is_no_failure(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", audit={})
    done = started(tmp_path, "queue")

    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing waits; audited 1 of 1 due" in done.stderr


def test_the_path_can_be_typed_where_the_auditor_stands(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo")
    done = called(tmp_path / "runs", "queue")

    assert f"     demo/{run.name}\n" in done.stdout


def test_one_board_can_be_listed_alone(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo")
    other = make_run(tmp_path / "runs" / "other", model="else")
    done = called(tmp_path, "queue", "--board", "other")

    assert other.name in done.stdout
    assert "runs/demo/" not in done.stdout
    assert "audited 0 of 1 due" in done.stderr


def test_a_board_that_is_not_there_is_wrong_use_and_names_those_that_are(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path, problems=())
    done = started(tmp_path, "queue", "--board", "hard")

    assert done.returncode == 2
    assert "there are demo" in done.stderr
    assert done.stdout == ""


def test_a_script_gets_a_json_line_for_each_run(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    board = tmp_path / "runs" / "demo"
    best = make_run(board, model="a")
    low = make_run(board, model="b", metrics={"peak_fraction": 0.01})
    lines = [json.loads(line) for line in called(tmp_path, "queue", "--json").stdout.splitlines()]
    more = [
        json.loads(line)
        for line in called(tmp_path, "queue", "--json", "--all").stdout.splitlines()
    ]

    assert [line["run"] for line in lines] == [best.name]
    assert [line["run"] for line in more] == [best.name, low.name]
    assert lines[0]["score"] == 0.42
    assert lines[0]["best"] is True
    assert lines[0]["board"] == "demo"
    assert lines[0]["path"] == f"runs/demo/{best.name}"
    assert more[1]["reasons"] == []


def test_what_a_run_calls_itself_does_nothing_to_the_terminal(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", model="\x1b[2J\x9b\u202eevil\n99. .999 a\u200bline")
    done = called(tmp_path, "queue")

    assert "evil" in done.stdout
    assert all(char.isprintable() or char == "\n" for char in done.stdout)
    assert not any(line.startswith("99.") for line in done.stdout.splitlines())
