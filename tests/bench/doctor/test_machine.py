"""What the doctor says of memory, disk and processors, on machines that are made up."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from bench.doctor.form import GIB, Here, Seen, State, gib
from bench.doctor.machine import (
    Disk,
    Memory,
    Processors,
    System,
    groups_of_memory,
    most_of_a_session,
)


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Here:
    return Here(runs=tmp_path / "runs", environment={})


def memory(folder: Path, total: int, free: int, group: str = "", own: str = "0::/a/b\n") -> Memory:
    """A machine with that much memory, in GiB, in a control group of version 2."""
    (folder / "meminfo").write_text(
        f"MemTotal: {total << 20} kB\nMemAvailable: {free << 20} kB\nHugePages_Total: 0\nodd\n"
    )
    (folder / "own").write_text(own)
    place = folder / "groups/a"
    place.mkdir(parents=True)
    if group:
        (place / "memory.max").write_text(group)
    return Memory(
        meminfo=folder / "meminfo", own_groups=folder / "own", groups=folder / "groups"
    )  # fmt: skip


def seen(look: Memory, here: Here) -> tuple[Seen, Seen]:
    first, second = look.look(here)
    return first, second


def test_enough_memory_is_fine(tmp_path: Path, here: Here) -> None:
    whole, folders = seen(memory(tmp_path, 64, 60), here)
    assert whole.state is State.YES
    assert whole.seen.startswith("60.0 GiB free of 64.0 GiB; a session may use 16.0 GiB")
    assert whole.cure == ""
    assert folders.state is State.YES
    assert "room for 4 side by side" in folders.seen


def test_little_memory_is_told_with_what_to_do(tmp_path: Path, here: Here) -> None:
    whole, folders = seen(memory(tmp_path, 64, 8), here)
    assert (whole.state, folders.state) == (State.PARTLY, State.PARTLY)
    assert "limits" in whole.cure
    assert "room for 0" in folders.seen
    assert not whole.forbids


def test_without_memory_no_run_can_be_made(tmp_path: Path, here: Here) -> None:
    look = memory(tmp_path, 64, 1)
    (tmp_path / "meminfo").write_text("MemTotal: 999999 kB\nMemAvailable: 900000 kB\n")
    assert seen(look, here)[0].forbids


@pytest.mark.parametrize("own", ["0::/a/b\n", "0::/a\n"])
def test_the_limit_of_a_group_above_counts(tmp_path: Path, here: Here, own: str) -> None:
    whole, _ = seen(memory(tmp_path, 64, 60, str(4 * GIB), own), here)
    assert whole.state is State.PARTLY
    assert "a control group allows 4.0 GiB" in whole.seen


def test_what_others_of_a_group_use_is_not_free(tmp_path: Path, here: Here) -> None:
    look = memory(tmp_path, 64, 60, str(20 * GIB))
    group = tmp_path / "groups/a"
    (group / "memory.current").write_text(f"{19 * GIB + GIB // 2}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {2 * GIB}\n")
    whole, folders = seen(look, here)
    assert whole.state is State.PARTLY
    assert "a control group allows 20.0 GiB, of which 2.5 GiB are free" in whole.seen
    assert "room for 0" in folders.seen
    (group / "memory.stat").write_text("inactive_file odd\n")
    assert seen(look, here)[0].forbids, "0.5 GiB are left"


def test_what_others_use_of_a_group_of_version_1_is_not_free(tmp_path: Path, here: Here) -> None:
    look = memory(tmp_path, 64, 60, own="4:memory:/a\n")
    group = tmp_path / "groups/memory/a"
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text(f"{8 * GIB}\n")
    (group / "memory.usage_in_bytes").write_text(f"{7 * GIB}\n")
    (group / "memory.stat").write_text(f"inactive_file 0\ntotal_inactive_file {GIB}\n")
    assert "8.0 GiB, of which 2.0 GiB are free" in seen(look, here)[0].seen


def test_a_group_without_a_limit_says_nothing(tmp_path: Path, here: Here) -> None:
    whole, _ = seen(memory(tmp_path, 64, 60, "max\n"), here)
    assert "control group" not in whole.seen


def test_groups_of_version_1_lie_in_a_tree_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("5:cpu,cpuacct:/x\n4:memory:/x\n")
    place = tmp_path / "groups/memory/x"
    place.mkdir(parents=True)
    (place / "memory.limit_in_bytes").write_text("1000\n")
    (tmp_path / "groups/memory/memory.limit_in_bytes").write_text("2000\n")
    found = groups_of_memory(tmp_path / "own", tmp_path / "groups")
    assert list(found) == [(1000, 1000), (2000, 2000)]


def test_disk_is_told_of_the_next_folder_that_there_is(tmp_path: Path) -> None:
    (one,) = Disk().look(Here(runs=tmp_path / "not/yet/there"))
    assert one.seen.endswith(f"free at {tmp_path}")
    assert one.needed


@pytest.mark.parametrize(
    ("free", "state", "forbids"),
    [(30 * GIB, State.YES, False), (3 * GIB, State.PARTLY, False), (99, State.NO, True)],
)
def test_how_much_disk_is_enough(
    here: Here, monkeypatch: pytest.MonkeyPatch, free: int, state: State, forbids: bool
) -> None:
    class Usage:
        pass

    usage = Usage()
    usage.free = free  # type: ignore[attr-defined]
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    (one,) = Disk().look(here)
    assert (one.state, one.forbids) == (state, forbids)
    assert bool(one.cure) == (state is not State.YES)


def test_a_folder_that_cannot_be_written_forbids_runs(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    (one,) = Disk().look(here)
    assert one.forbids
    assert "cannot be written" in one.seen


def test_a_file_in_the_place_of_the_runs_is_told_as_one(here: Here, tmp_path: Path) -> None:
    """Nobody's rights would mend that."""
    (tmp_path / "notes").touch()
    (one,) = Disk().look(replace(here, runs=tmp_path / "notes"))
    assert one.forbids
    assert one.seen == f"{tmp_path / 'notes'} is no folder"


def test_a_busy_machine_is_told(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 9.0, 0.0))
    (busy,) = Processors().look(here)
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 1.0, 9.0))
    (idle,) = Processors().look(here)
    assert (busy.state, idle.state) == (State.PARTLY, State.YES)
    assert busy.seen.startswith("2 of ")
    assert "9.0 were in use" in busy.seen


def test_only_linux_holds_sessions(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    (here_it_is,) = System().look(here)
    assert here_it_is.state is State.YES
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    (other,) = System().look(here)
    assert other.forbids


def test_bytes_in_words() -> None:
    assert gib(16 << 30) == "16.0 GiB"
    assert most_of_a_session() == 16 << 30
