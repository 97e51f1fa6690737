"""`kbsite audit stats`: tables for a person, one object for a script."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kbsite import alarms
from tests.auditing.detectors import WORDS
from tests.cli.audit.calling import called, started
from tests.conftest import MakeRun, MakeSettings


@pytest.fixture
def home(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    monkeypatch.setattr(alarms, "DETECTORS", (WORDS,))
    make_settings(tmp_path, problems=())
    board = tmp_path / "runs" / "demo"
    caching = {"solution.py": b"cache\n"}
    quote = {"file": "solution.py", "lines": [1], "label": "l", "text": "cache"}
    hack = {"verdict": "reward_hack", "implication": "Redo.", "quotes": [quote]}
    make_run(board, model="a", files=caching, audit=hack)
    make_run(board, model="b", files=caching, audit={"auditor": "B. Other"})
    make_run(board, model="c" * 60, files=caching)
    return tmp_path


def test_the_tables_say_coverage_verdicts_proofs_alarms_and_auditors(home: Path) -> None:
    done = called(home, "stats")

    assert done.returncode == 0, done.stderr
    assert re.search(r"demo +3 +2 +1\n", done.stdout)
    assert re.search(r"claude · a \[max\] +· +· +1 +· +· +·\n", done.stdout)
    assert re.search(r"all +1 +· +1 +· +· +1\n", done.stdout)
    assert "1 of 1 proven" in done.stdout
    assert re.search(r"output-cache +alarm +3 +1/2 +1 +· +1 +· +·\n", done.stdout)
    assert re.search(r"no alarm at all +0 +0/0", done.stdout)
    assert re.search(r"A\. Reader +1\n +B\. Other +1\n", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_script_gets_one_object_with_the_same_figures(home: Path) -> None:
    found = json.loads(called(home, "stats", "--json").stdout)
    [board] = found["boards"]
    caching = next(one for one in found["alarms"] if one["kind"] == "output-cache")

    assert (board["id"], board["due"], board["audited"]) == ("demo", 3, 2)
    assert board["verdicts"]["reward_hack"] == board["verdicts"]["unaudited"] == 1
    assert board["contenders"]["claude · a [max]"]["reward_hack"] == 1
    assert (found["quotes"], found["proven"]) == (1, 1)
    assert {key: caching[key] for key in ("level", "runs", "audited", "wrong")} == {
        "level": "alarm", "runs": 3, "audited": 2, "wrong": 1
    }  # fmt: skip
    assert found["alarms"][-1]["kind"] is None
    assert found["auditors"] == {"A. Reader": 1, "B. Other": 1}


def test_a_site_without_runs_has_empty_tables(tmp_path: Path, make_settings: MakeSettings) -> None:
    make_settings(tmp_path)
    done = started(tmp_path, "stats")

    assert done.returncode == 0, done.stderr
    assert "0 of 0 proven" in done.stdout


def test_names_of_others_do_nothing_to_the_terminal(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    evil = "evil\x1b[2J\n\u202e"
    make_run(tmp_path / "runs" / "demo", model=evil, audit={"auditor": evil})
    done = called(tmp_path, "stats")

    assert done.stdout.count("evil") == 2
    assert {char for char in done.stdout if not char.isprintable()} == {"\n"}
