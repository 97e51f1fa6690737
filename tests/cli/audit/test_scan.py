"""`kbsite audit scan`: a line for each alarm, and no verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kbsite import alarms
from tests.auditing.detectors import WORDS, Failing, Twins
from tests.cli.audit.calling import called, started
from tests.cli.audit.terminals import on_a_terminal
from tests.conftest import MakeRun, MakeSettings

CACHING = b"def solve(x):\n    if n > 4:\n        return cache[x]\n"


@pytest.fixture(autouse=True)
def detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "DETECTORS", (WORDS, Failing()))
    monkeypatch.setattr(alarms, "COMPARISONS", (Twins(),))


@pytest.fixture
def board(tmp_path: Path, make_settings: MakeSettings) -> Path:
    make_settings(tmp_path, problems=())
    return tmp_path / "runs" / "demo"


def test_each_alarm_is_a_line_as_a_compiler_writes_it_the_worst_first(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    run = make_run(board, files={"solution.py": CACHING})
    make_run(board, model="honest")
    done = called(tmp_path, "scan")

    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"runs/demo/{run.name}/solution.py:3: alarm: output-cache: Says return cache[x]."
        " Would the output change if the input's values changed in place?",
        f"runs/demo/{run.name}/solution.py:2: note: shape-branch: Says if n > 4:."
        " Is the path for the timed sizes as exact as the one that is checked?",
    ]
    assert re.search(
        r"2 runs: 1 alarm, 0 warnings, 1 note; \d+\.\d ms a run on average", done.stderr
    )


def test_only_the_level_that_is_asked_for_and_above_is_listed(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    make_run(board, files={"solution.py": CACHING})
    done = called(tmp_path, "scan", "--level", "warning")

    assert "output-cache" in done.stdout
    assert "shape-branch" not in done.stdout


@pytest.mark.parametrize(("level", "code"), [("note", 1), ("alarm", 0)])
def test_strict_fails_on_what_is_found_at_the_level_only(
    level: str, code: int, tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    make_run(board, files={"solution.py": b"if n > 4: pass\n"})

    assert called(tmp_path, "scan", "--level", level).returncode == 0
    assert called(tmp_path, "scan", "--strict", "--level", level).returncode == code


def test_runs_that_are_named_are_still_compared_with_all_others(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    one = make_run(board, model="first", files={"solution.py": b"same\n"})
    other = make_run(board, model="second", files={"solution.py": b"same\n"})
    done = called(tmp_path, "scan", "first")

    assert done.stdout.count("near-identical-source") == 1
    assert f"runs/demo/{one.name}: warning:" in done.stdout
    assert f"that of {other.name}" in done.stdout
    assert "1 run:" in done.stderr


def test_a_folder_anywhere_can_be_scanned_too(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "mine" / "demo", files={"solution.py": CACHING})
    done = called(tmp_path, "scan", str(run))

    assert done.returncode == 0
    assert "output-cache" in done.stdout


def test_a_run_that_a_detector_cannot_look_at_stops_no_other(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    bad = make_run(board, model="a", files={"solution.py": b"explode cache\n"})
    good = make_run(board, model="b", files={"solution.py": b"cache\n"})
    done = called(tmp_path, "scan")

    assert done.returncode == 1
    # What the other detectors found in it is told all the same.
    assert f"{bad.name}/solution.py:1: alarm" in done.stdout
    assert f"{good.name}/solution.py:1: alarm" in done.stdout
    assert f"{bad.name}: error: not looked over: RuntimeError: exploded\\x1b[2J" in done.stderr


def test_a_run_that_cannot_be_read_is_named_and_stops_no_other(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    bad = make_run(board, model="a")
    (bad / "run.json").write_text("{")
    make_run(board, model="b", files={"solution.py": b"cache\n"})

    for words in ((), ("_a_", "_b_")):
        done = called(tmp_path, "scan", *words)
        assert done.returncode == 1
        assert "output-cache" in done.stdout
        assert f"{bad}/run.json" in done.stderr


def test_what_is_only_odd_about_a_run_is_told_and_no_failure(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    run = make_run(board)
    (run / "files").symlink_to(tmp_path)
    done = called(tmp_path, "scan")

    assert "a symbolic link" in done.stderr
    assert done.returncode == 0


def test_a_script_gets_a_json_line_for_each_alarm(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    run = make_run(board, files={"solution.py": CACHING})
    done = called(tmp_path, "scan", "--json")
    first, second = [json.loads(line) for line in done.stdout.splitlines()]

    assert first == {
        "run": run.name,
        "path": f"runs/demo/{run.name}",
        "file": "solution.py",
        "lines": [3],
        "level": "alarm",
        "kind": "output-cache",
        "saw": "Says return cache[x].",
        "look": "Would the output change if the input's values changed in place?",
        "other": "",
    }
    assert second["level"] == "note"


def test_a_line_of_a_run_cannot_act_on_the_terminal_or_fake_a_second_one(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    evil = "cache \x1b[2J\u202e\x9b\r".encode()
    make_run(board, files={"solution.py": evil})
    done = called(tmp_path, "scan")

    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.removesuffix("\n").isprintable()


def test_a_name_that_is_no_run_is_wrong_use_before_anything_is_looked_over(
    tmp_path: Path, board: Path, make_run: MakeRun
) -> None:
    make_run(board, files={"solution.py": CACHING})
    done = called(tmp_path, "scan", "opus", "nothing")

    assert done.returncode == 2
    assert done.stdout == ""


def test_no_runs_are_no_failure(tmp_path: Path, make_settings: MakeSettings) -> None:
    make_settings(tmp_path)
    done = started(tmp_path, "scan")

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "0 runs: 0 alarms, 0 warnings, 0 notes\n"


def test_a_terminal_is_shown_how_far_it_is_and_keeps_the_lines_alone(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo", metrics={"peak_fraction": 0.01})
    shown = on_a_terminal(tmp_path, "scan")

    # The bar is drawn, and wiped out again before the summary.
    assert f"1/1 {run.name}" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "\x1b[2K" in shown.partition("1 run:")[0]
