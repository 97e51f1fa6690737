from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kbsite.store import snapshots
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.snapshots import LONGEST, final, recorded
from tests.conftest import MakeRun


def stored(make_run: MakeRun, home: Path, files: dict[str, bytes]) -> StoredRun:
    return read_run(make_run(home / "demo", files=files))


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("20260102T030405Z.py", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("20260102_030405.py", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("20260102T030405.25Z.py", datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)),
        ("20261399T030405Z.py", None),
        ("first.py", None),
    ],
)
def test_the_name_of_a_copy_tells_when_it_was_taken(
    name: str, at: datetime | None, make_run: MakeRun, tmp_path: Path
) -> None:
    (copy,), left_out = recorded(stored(make_run, tmp_path, {f"snapshots/{name}": b"x = 1\n"}))

    assert (copy.name, copy.at, copy.content) == (f"snapshots/{name}", at, "x = 1\n")
    assert left_out == []


def test_copies_come_in_order_of_their_names_and_bytes_are_kept(
    make_run: MakeRun, tmp_path: Path
) -> None:
    files = {"snapshots/b.py": b"\xff", "snapshots/a.py": b"\0\r\n"}
    copies, _ = recorded(stored(make_run, tmp_path, files))

    assert [copy.content.encode("utf-8", "surrogateescape") for copy in copies] == [
        b"\0\r\n", b"\xff"
    ]  # fmt: skip


def test_what_is_too_long_is_named_not_read(make_run: MakeRun, tmp_path: Path) -> None:
    files = {"snapshots/a.py": b"x" * (LONGEST + 1), "snapshots/b.py": b"x" * LONGEST}
    held = stored(make_run, tmp_path, {**files, "solution.py": b"y" * (LONGEST + 1)})
    copies, left_out = recorded(held)

    assert [copy.name for copy in copies] == ["snapshots/b.py"]
    assert left_out == [f"snapshots/a.py: {LONGEST + 1} bytes, too long"]
    assert final(held) is None


def test_of_too_many_copies_some_are_read_and_the_rest_is_counted(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST", 3)
    files = {f"snapshots/{number}.py": b"%d" % number for number in range(9)}
    copies, left_out = recorded(stored(make_run, tmp_path, files))

    assert [copy.content for copy in copies] == ["0", "4", "8"]
    assert left_out == ["snapshots/: 6 of 9 copies, too many"]


def test_the_final_text_is_that_of_solution_py(make_run: MakeRun, tmp_path: Path) -> None:
    held = stored(make_run, tmp_path, {"solution.py": b"pass\n"})
    found = final(held)

    assert found is not None
    assert (found.name, found.at, found.content) == ("solution.py", held.run.ended, "pass\n")
