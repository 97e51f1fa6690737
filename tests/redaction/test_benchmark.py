"""The benchmark of redaction looks at what it says, and tells what it found."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.redaction import Speed, main, speed, table, write_hostile
from kbsite.redaction.scan import Looker
from tests.redaction.secrets import planted


def test_it_looks_at_every_file_of_a_folder(tmp_path: Path) -> None:
    text = planted(1, "groq").text
    (tmp_path / "a.jsonl").write_text(f"{text}\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.log").write_text(f"{text} and {planted(2, 'npm').text}\n")
    found = speed(tmp_path)

    assert found.hidden == 3
    assert found.size == sum(path.stat().st_size for path in tmp_path.rglob("*.*"))
    assert found.looked > 0
    assert found.whole > 0


def test_it_prints_megabytes_a_second() -> None:
    console = Console(width=100, file=StringIO())
    with console.capture() as captured:
        console.print(table([Speed("a session", 50_000_000, 0.5, 2.0, 1234)]))
    row = captured.get().splitlines()[-2]

    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "a session", "50.0", "100", "25", "1,234"
    ]  # fmt: skip


def test_it_makes_a_session_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--megabytes", "1"])

    told = capsys.readouterr().out
    assert "redaction" in told
    assert "hostile line" in told


def test_its_hostile_line_is_too_crowded_to_be_looked_at(tmp_path: Path) -> None:
    write_hostile(tmp_path / "a.jsonl", 400_000)
    row = (tmp_path / "a.jsonl").read_bytes()

    assert json.loads(row)["type"] == "user"
    assert Looker().look(row).crowded
