"""Snapshots that an audit quotes: the quoted lines with those around them, all else as gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.model.audit import Quote
from kbsite.model.proof import Proof, ProofState
from kbsite.pages import quoted_copies as module
from kbsite.pages.quoted_copies import FILES, copy_places, quoted_copies
from kbsite.pages.source import AROUND, Gap
from kbsite.store.runs import StoredRun, read_run
from tests.conftest import MakeRun

OLD, NEW = "snapshots/20260102T030405Z.py", "snapshots/20260102T030406Z.py"


@pytest.fixture
def run(tmp_path: Path, make_run: MakeRun) -> StoredRun:
    old = "".join(f"x{n} = {n}\n" for n in range(1, 41))
    new = old.replace("x20 = 20", "x20 = <b>'20'</b>")
    return read_run(make_run(tmp_path / "demo", files={OLD: old.encode(), NEW: new.encode()}))


def proof(file: str, *lines: int, state: ProofState = ProofState.PROVEN) -> Proof:
    return Proof(quote=Quote(file=file, lines=lines, text="x"), state=state)


def shown(copy: module.Copy) -> list[int | tuple[int, int]]:
    """The numbers of the lines that are shown, and the first and last of each gap."""
    return [(row.first, row.last) if isinstance(row, Gap) else row.number for row in copy.rows]


def test_the_quoted_lines_are_shown_with_those_around_them(run: StoredRun) -> None:
    [copy] = quoted_copies(run, (proof(NEW, 20, 21),))

    assert shown(copy) == [(1, 19 - AROUND), *range(20 - AROUND, 22 + AROUND), (22 + AROUND, 40)]
    assert copy.quoted == {20, 21}
    assert "&lt;b&gt;" in "".join(row.html for row in copy.rows if not isinstance(row, Gap))


def test_lines_at_the_ends_leave_no_gap_there(run: StoredRun) -> None:
    [copy] = quoted_copies(run, (proof(OLD, 1), proof(OLD, 40)))

    assert shown(copy) == [*range(1, 2 + AROUND), (2 + AROUND, 39 - AROUND),
                           *range(40 - AROUND, 41)]  # fmt: skip


def test_a_diff_is_a_copy_of_its_own_and_no_file_to_download(run: StoredRun) -> None:
    held = (proof(f"{NEW}.diff", 1), proof(NEW, 2), proof(OLD, 3))
    copies = quoted_copies(run, held)

    assert [(copy.name, copy.prefix, bool(copy.raw)) for copy in copies] == [
        (OLD, "copy-1", True), (NEW, "copy-2", True), (f"{NEW}.diff", "copy-3", False),
    ]  # fmt: skip
    assert copy_places(copies, held) == {
        0: "snapshots.html#copy-3-L1", 1: "snapshots.html#copy-2-L2", 2: "snapshots.html#copy-1-L3",
    }  # fmt: skip


def test_what_is_not_proven_or_no_snapshot_is_not_shown(run: StoredRun) -> None:
    held = (proof(OLD, 3, state=ProofState.DIFFERS), proof("solution.py", 1))

    assert quoted_copies(run, held) == ()
    assert copy_places((), held) == {}


def test_a_copy_that_is_too_long_or_one_too_many_is_left_to_its_file(
    run: StoredRun, tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"snapshots/20260102T0304{n:02}Z.py" for n in range(FILES + 2)]
    many = read_run(make_run(tmp_path / "many", files=dict.fromkeys(names, b"x = 1\n")))
    copies = quoted_copies(many, tuple(proof(name, 1) for name in names))

    assert [copy.name for copy in copies] == names[:FILES]
    monkeypatch.setattr(module, "LONGEST", 10)
    assert quoted_copies(run, (proof(OLD, 1),)) == ()
