"""The place of a line is the one that the run's own pages show it at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.model.audit import Quote
from kbsite.model.solution import LONGEST
from kbsite.pages.line_places import line_place
from kbsite.pages.source import FILES, HERE, PAGE, WHOLE, Shown, sources
from kbsite.store.runs import StoredRun, read_run
from kbsite.text import CodeLine
from tests.conftest import MakeRun


def numbered(count: int, end: bytes = b"\n") -> bytes:
    return end.join(b"x%d = %d" % (n, n) for n in range(1, count + 1)) + end


FILES_OF_RUNS: dict[str, dict[str, bytes]] = {
    "short": {"solution.py": numbered(3)},
    "full": {"solution.py": numbered(HERE)},
    "over": {"solution.py": numbered(HERE + 1)},
    "no last end": {"solution.py": numbered(HERE, b"\n").removesuffix(b"\n")},
    "carriage returns": {"solution.py": numbered(HERE, b"\r\n")},
    "lone returns": {"solution.py": b"a\rb\rc\nd\n"},
    "form feeds": {"solution.py": b"a\x0cb\x0bc\x85\nd\n\n\n"},
    "not UTF-8": {"solution.py": b"\xff\xfe\n\xe2\x80\xa8x\n"},
    "two": {"solution.py": numbered(30), "files/b.cu": numbered(30), "files/a.cu": b"int a;\n"},
    "tiny at the end": {"solution.py": numbered(HERE), "files/a.py": numbered(4)},
    "small at the end": {"solution.py": numbered(HERE), "files/a.py": numbered(5)},
    "empty": {"solution.py": b"", "files/a.py": numbered(2)},
    "binary": {"solution.py": numbered(2), "files/a.bin": b"\0" * 50},
    "holes": {"solution.py": b"a\0b\n" + numbered(20)},
    "many": {"solution.py": numbered(2)} | {f"files/{n:03}.py": b"x\n" for n in range(FILES + 3)},
}


def shown_at(stored: StoredRun) -> dict[tuple[str, int], tuple[str, str]]:
    """Where the pages show each line of each file."""
    found = sources(stored)
    pages: list[tuple[str, tuple[Shown, ...]]] = [("index.html", found.here)]
    if found.page:
        pages = [(found.page, found.whole)]
    return {
        (shown.file.name, row.number): (page, f"{shown.file.prefix}-L{row.number}")
        for page, files in pages
        for shown in files
        for row in shown.rows
        if isinstance(row, CodeLine)
    }


@pytest.mark.parametrize("name", FILES_OF_RUNS)
def test_every_line_s_place_is_where_it_is_shown(
    tmp_path: Path, make_run: MakeRun, name: str
) -> None:
    files = FILES_OF_RUNS[name]
    stored = read_run(make_run(tmp_path / "demo", files=files))
    told = {
        (file, line): line_place(stored, Quote(file=file, lines=(line, line + 1), text="x"))
        for file in files
        for line in range(1, 75)
    }

    assert {key: place for key, place in told.items() if place} == shown_at(stored)


@pytest.mark.parametrize(
    "quote",
    [
        Quote(file="solution.py", text="x"),
        Quote(file="solution.py", lines=(0, 1), text="x"),
        Quote(file="solution.py", lines=(-1,), text="x"),
        Quote(file="check.log", lines=(1,), text="x"),
        Quote(file="files/none.py", lines=(1,), text="x"),
        Quote(file="", lines=(1,), text="x"),
    ],
)
def test_what_is_no_line_of_the_solution_has_no_place(
    tmp_path: Path, make_run: MakeRun, quote: Quote
) -> None:
    stored = read_run(make_run(tmp_path / "demo", files={"check.log": b"x\n"}))

    assert line_place(stored, quote) is None


def test_lines_that_are_left_out_have_no_place(tmp_path: Path, make_run: MakeRun) -> None:
    long = {"solution.py": numbered(WHOLE + 10), "files/a.py": b"x" * (LONGEST + 1)}
    stored = read_run(make_run(tmp_path / "demo", files=long))

    def place(name: str, line: int) -> tuple[str, str] | None:
        return line_place(stored, Quote(file=name, lines=(line,), text="x"))

    assert place("solution.py", 100) == (PAGE, "solution-L100")
    assert place("solution.py", WHOLE) is None
    assert place("files/a.py", 1) is None
