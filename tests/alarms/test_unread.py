"""What no detector can look into is told, and never passes in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.alarms import scan
from kbsite.alarms.evidence import LONGEST, Evidence
from kbsite.alarms.unread import MOST, Unread
from kbsite.model.alarm import Alarm, Level
from kbsite.store.runs import read_run
from tests.conftest import MakeRun

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM


def found(folder: Path) -> list[Alarm]:
    return list(Unread().alarms(Evidence(read_run(folder))))


@pytest.mark.parametrize(
    ("name", "data", "level", "says"),
    [
        ("files/kernel.so", b"\x7fELF\x02\x01\x01\x00", ALARM, "a program or a library"),
        ("files/kernel.fatbin", b"\x50\xed\x55\xba\x00", ALARM, "machine code of a GPU"),
        ("files/kernel.zip", b"PK\x03\x04\x00", ALARM, "an archive"),
        ("files/table.bin", b"\x01\x00\x02", WARNING, "is no text"),
        ("files/long.cu", b"x" * (LONGEST + 1), WARNING, "2,000,001 bytes"),
        ("solution.py", b"x = 1\n" * (LONGEST // 5), WARNING, "bytes, more than is looked into"),
        ("solution.py", b"x = '\0'\n", WARNING, "is no text"),
    ],
    ids=["library", "cubin", "archive", "data", "long", "long solution", "NUL"],
)
def test_a_file_that_is_not_looked_into_is_told(
    name: str, data: bytes, level: Level, says: str, tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo", files={name: data})
    told = found(folder)

    assert [(one.kind, one.level, one.file) for one in told] == [("obfuscation", level, name)]
    assert says in told[0].saw
    assert told[0] in scan(Evidence(read_run(folder)))


def test_texts_and_empty_files_are_left_to_others(tmp_path: Path, make_run: MakeRun) -> None:
    files = {"files/kernel.cu": b"int x;\n", "files/empty.bin": b"", "other.bin": b"\0\1"}

    assert found(make_run(tmp_path / "demo", files=files)) == []


def test_of_many_files_the_first_are_told(tmp_path: Path, make_run: MakeRun) -> None:
    files = {f"files/{number:03}.bin": b"\0" for number in range(MOST + 5)}
    told = found(make_run(tmp_path / "demo", files=files))

    assert [one.file for one in told] == [f"files/{number:03}.bin" for number in range(MOST)]


@pytest.mark.parametrize(("status", "level"), [("passed", WARNING), ("build_failed", NOTE)])
def test_a_solution_that_passed_and_cannot_be_parsed_has_to_be_read(
    status: str, level: Level, tmp_path: Path, make_run: MakeRun
) -> None:
    source = {"solution.py": b"def solve(x:\n"}
    folder = make_run(tmp_path / "demo", metrics={"status": status}, files=source)
    told = [one for one in scan(Evidence(read_run(folder))) if one.kind == "obfuscation"]

    assert told[0].level is level
    assert "line 1 is no Python" in told[0].saw
