"""The end of a file of events is read, however large the file is and whatever was put there."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from bench.harnesses.asking import as_json, as_toml, bare_version
from bench.harnesses.tails import MOST_LINES, last_rows
from kbsite.harnesses.lines import Record


def values(path: Path, most: int = 1 << 20) -> list[object]:
    return [
        row.value["n"] if isinstance(row, Record) else row.text for row in last_rows(path, most)
    ]


def rows(path: Path, count: int) -> Path:
    path.write_text("".join(f'{{"n": {number}}}\n' for number in range(count)))
    return path


def test_all_of_a_small_file_is_read(tmp_path: Path) -> None:
    assert values(rows(tmp_path / "file", 3)) == [0, 1, 2]


def test_of_a_large_file_the_last_whole_lines_are_read(tmp_path: Path) -> None:
    found = values(rows(tmp_path / "file", 100_000), 100)

    assert found[-1] == 99_999
    assert found == list(range(100_000 - len(found), 100_000))
    assert 5 < len(found) < 10


def test_a_line_that_is_longer_than_what_is_read_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('{"n": "' + "x" * 1000 + '"}\n{"n": 1}\n')

    assert values(path, 500) == [1]


def test_no_more_than_so_many_lines_are_read(tmp_path: Path) -> None:
    found = values(rows(tmp_path / "file", MOST_LINES + 500))

    assert found[-1] == MOST_LINES + 499
    assert MOST_LINES - 2 < len(found) <= MOST_LINES


def test_lines_that_are_no_json_come_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'Error: \xff\n\n{"n": 1}{"n": 2}\n{"n": ')

    assert values(path) == ["Error: \udcff", 1, 2, '{"n": ']


@pytest.mark.parametrize("kind", ["nothing", "folder", "link", "pipe"])
def test_nothing_comes_from_what_is_no_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    match kind:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(rows(tmp_path / "other", 3))
        case "pipe":
            os.mkfifo(path)
        case _:
            assert not path.exists()

    assert values(path) == []


@pytest.mark.parametrize("text", ["", "a", 'a"b\\c', "a\nb\tc", "é\U0001f680", "\x00\x1f\x7f"])
def test_a_string_of_a_configuration_is_read_as_it_was_written(text: str) -> None:
    assert tomllib.loads(f"key = {as_toml(text)}") == {"key": text}
    assert json.loads(as_json({"key": text})) == {"key": text}


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("1.2.3", "1.2.3"),
        (" 1.2.3-beta.1+x \n", "1.2.3-beta.1+x"),
        ("1.2", None),
        ("v1.2.3", None),
        ("1.2.3\n4.5.6", None),
        ("1.2.3 (Name)", None),
        ("", None),
    ],
)
def test_a_version_stands_alone(printed: str, version: str | None) -> None:
    assert bare_version(printed) == version
