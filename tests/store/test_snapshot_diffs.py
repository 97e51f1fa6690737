"""What changed in a snapshot, as lines that an audit can cite: the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kbsite.store import snapshot_diffs
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.snapshot_diffs import snapshot_diff
from tests.conftest import MakeRun

NAMES = [f"snapshots/20260102T03040{second}Z.py" for second in range(3)]
Held = Callable[..., StoredRun]


@pytest.fixture
def held(tmp_path: Path, make_run: MakeRun) -> Held:
    def make(*copies: bytes) -> StoredRun:
        files = dict(zip(NAMES, copies, strict=False))
        return read_run(make_run(tmp_path / "demo", files=files))

    return make


def test_a_copy_is_held_against_the_one_before_it_and_the_first_against_nothing(held: Held) -> None:
    run = held(b"a\nb\n", b"a\nc\n", b"a\nc\nd\n")

    assert snapshot_diff(run, f"{NAMES[0]}.diff") == ""
    assert snapshot_diff(run, f"{NAMES[1]}.diff") == (
        f"--- {NAMES[0]}\n+++ {NAMES[1]}\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )
    assert snapshot_diff(run, f"{NAMES[2]}.diff") == (
        f"--- {NAMES[1]}\n+++ {NAMES[2]}\n@@ -1,2 +1,3 @@\n a\n c\n+d\n"
    )


@pytest.mark.parametrize("name", [NAMES[0], "snapshots/none.py.diff", "solution.py.diff", ".diff"])
def test_what_is_no_diff_of_a_copy_is_nothing(name: str, held: Held) -> None:
    assert snapshot_diff(held(b"a\n", b"b\n"), name) is None


@pytest.mark.parametrize("after", [b"a\nb\n", b"a\r\nb\r\n", b"a\nb"])
def test_line_ends_are_no_change(after: bytes, held: Held) -> None:
    assert snapshot_diff(held(b"a\nb\n", after), f"{NAMES[1]}.diff") == ""


def test_bytes_that_are_no_text_are_kept(held: Held) -> None:
    told = snapshot_diff(held(b"a\n", b"\xff\x00\n"), f"{NAMES[1]}.diff")

    assert told is not None
    assert told.encode("utf-8", "surrogateescape").endswith(b"-a\n+\xff\x00\n")


def test_copies_with_too_many_lines_alike_are_told_one_after_the_other(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = held(b"x\n" * 20, b"x\n" * 21)
    matched = snapshot_diff(run, f"{NAMES[1]}.diff")
    monkeypatch.setattr(snapshot_diffs, "MATCHES", 100)
    apart = snapshot_diff(run, f"{NAMES[1]}.diff")

    assert matched is not None
    assert matched.count("\n+") == 2
    assert apart is not None
    assert (apart.count("\n-x"), apart.count("\n+x")) == (20, 21)
    assert "@@ -1,20 +1,21 @@" in apart


def test_a_copy_that_is_too_long_has_no_diff_and_neither_has_the_next(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_diffs, "LONGEST", 10)
    run = held(b"a\n", b"b" * 11, b"c\n")

    assert [snapshot_diff(run, f"{name}.diff") for name in NAMES] == ["", None, None]
