"""The parts of a sandbox, each for itself: plans, places, users, groups, logs, segments."""

from __future__ import annotations

import ctypes
import marshal
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.sandbox import group_places
from bench.sandbox import users as users_module
from bench.sandbox.bait import laid_out
from bench.sandbox.box import FOLDER, Box, Limits
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.groups import Group, make_group
from bench.sandbox.log import Log
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.places import (
    gpu_devices,
    gpu_places,
    our_code,
    own_packages,
    python_places,
    system_places,
)
from bench.sandbox.plan import Bind, binds, plan_file
from bench.sandbox.processes import children, family, resident_bytes, status_of
from bench.sandbox.segments import remove_segments
from bench.sandbox.users import User, give_back, processes_of, take_user, users_missing, users_of
from kbsite.errors import MachineError, UsageError


def test_what_lies_within_another_place_is_bound_with_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "file").write_text("")
    given = [tmp_path / name for name in ("a/b", "a", "link", "file", "a")]
    assert binds(given) == [
        Bind(tmp_path / "a", tmp_path / "a"),
        Bind(tmp_path / "file", tmp_path / "file"),
        Bind(tmp_path / "a" / "b", tmp_path / "link"),
    ]


def test_what_a_link_leads_to_is_bound_as_well(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to(tmp_path / "far")
    targets = [one.target for one in binds([tmp_path / "near", tmp_path / "near" / "link"])]
    assert targets == [tmp_path / "far", tmp_path / "near"]
    with pytest.raises(UsageError, match="no-such does not exist"):
        binds([tmp_path / "no-such"])


def test_our_own_packages_are_hidden_where_they_lie_with_python_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = Path(__file__).parents[3]
    assert our_code() == (root / "src/kbsite", root / "bench")
    assert own_packages() == (), "in a checkout they are not to be seen anyway"
    monkeypatch.setattr(sys, "prefix", str(root))
    assert own_packages() == our_code()


def test_places_exist_and_lie_outside_of_home_and_checkout() -> None:
    places = (*system_places(), *python_places(), *gpu_places())
    assert all(place.exists() for place in places)
    assert Path("/usr") in python_places()
    home, checkout = Path.home(), Path(__file__).parents[3]
    assert not any(home.is_relative_to(place) for place in places)
    assert not any((checkout / "bench").is_relative_to(place) for place in places)
    assert all(path.name.startswith("nvidia") for path in gpu_devices())


def test_a_plan_holds_the_box_and_the_contents_of_its_files() -> None:
    box = Box(log=Path("log"), files={"b": b"two", "a": b"one"}, limits=Limits(processes=9))
    number = plan_file(["x", "y"], box, User(7, 8, 0), new_user=False, more={"folder": "/else"})
    with os.fdopen(number, "rb") as stream:
        plan = marshal.load(stream)
        contents = stream.read()
    placed = {path: contents[start : start + length] for path, start, length in plan["files"]}
    assert placed[str(FOLDER / "a")] == b"one"
    assert placed[str(FOLDER / "b")] == b"two"
    assert placed["/etc/passwd"].startswith(b"box:x:7:7:")
    assert plan["command"] == ["x", "y"]
    assert plan["rlimits"]["RLIMIT_NPROC"] == 9
    assert plan["folder"] == "/else"
    assert (plan["uid"], plan["init_uid"], plan["map_uid"]) == (7, 8, None)


def test_a_plan_with_a_user_namespace_has_one_user() -> None:
    box = Box(log=Path("log"), limits=Limits(processes=9))
    number = plan_file(["x"], box, User(7, 8, 0), new_user=True, more={})
    with os.fdopen(number, "rb") as stream:
        plan = marshal.load(stream)
    assert (plan["uid"], plan["init_uid"], plan["map_uid"]) == (7, 7, os.getuid())
    assert not plan["change_user"]
    assert plan["rlimits"]["RLIMIT_NPROC"] == 10


@pytest.mark.skipif(os.getuid() != 0, reason="boxes of other users share theirs")
def test_processes_of_boxes_are_found_while_they_are_there(tmp_path: Path) -> None:
    with Namespaces().start(["/bin/sleep", "60"], Box(log=tmp_path / "log")) as started:
        found = set(processes_of(os.getpid()))
        below = set(family(os.getpid()))

    assert started.pid in found
    assert len(found) == 2, "process 1 of the box, and the command"
    assert found < below
    assert not found & set(processes_of(os.getpid()))


def test_users_are_given_to_one_box_at_a_time() -> None:
    first, second = take_user(), take_user()
    assert len({first.uid, first.init_uid, second.uid, second.init_uid}) == 4
    assert {first.uid, first.init_uid, second.uid, second.init_uid} < set(users_of(os.getpid()))
    assert not set(users_of(os.getpid())) & set(users_of(os.getpid() + 1))
    assert min(first.uid, second.uid) >= 0x70000000
    assert max(first.init_uid, second.init_uid) < 2**31
    give_back(first)
    assert take_user() == first
    give_back(first)
    give_back(second)


def test_users_that_do_not_exist_here_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert users_missing() is None
    monkeypatch.setattr(users_module, "_FIRST", 2**32 - 10)
    reason = users_missing()
    assert reason is not None
    assert "do not exist in this user namespace" in reason
    if os.getuid() == 0:
        assert Namespaces(new_user=False, name="a test's").available() == reason


def test_bubblewrap_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    reason = Bubblewrap(name="a test's").available()
    assert reason == "bwrap is not installed; on Debian it is the package bubblewrap"


def test_a_sandbox_that_the_kernel_refuses_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise MachineError("the sandbox could not be entered: Operation not permitted")

    monkeypatch.setattr("bench.sandbox.namespaces.launch", refused)
    reason = Namespaces(new_user=True, name="another test's").available()
    assert reason == "the sandbox could not be entered: Operation not permitted"


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the control groups of version 2."""
    folder = tmp_path / f"kbsite-box-{os.getpid()}-5"
    folder.mkdir()
    for name in ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cgroup.procs"):
        (folder / name).write_text("")
    (folder / "memory.events").write_text("low 0\noom 0\noom_kill 0\n")
    monkeypatch.setattr(
        "bench.sandbox.groups.places", lambda: {"memory": tmp_path, "pids": tmp_path}
    )
    return folder


def test_groups_of_version_2_limit_memory_and_processes(version_2: Path) -> None:
    group = make_group(Limits(memory_bytes=1000, processes=7), (), 5)
    group.add(123)
    found = {path.name: path.read_text() for path in version_2.iterdir()}
    assert found["memory.max"] == "1000"
    assert found["memory.swap.max"] == "0"
    assert found["memory.oom.group"] == "1"
    assert found["pids.max"] == "9"
    assert found["cgroup.procs"] == "123"
    assert "memory" in group
    assert "devices" not in group
    assert not group.over()
    (version_2 / "memory.events").write_text("low 0\noom_kill 1\n")
    assert group.over()


def test_no_groups_limit_nothing() -> None:
    group = Group({})
    group.add(os.getpid())
    group.remove()
    assert not group.over()
    assert "memory" not in group


def test_groups_of_processes_that_died_are_removed(tmp_path: Path) -> None:
    gone, here = tmp_path / "kbsite-box-4194305-0", tmp_path / f"kbsite-box-{os.getpid()}-0"
    other = tmp_path / "somebody"
    for folder in (gone, here, other):
        folder.mkdir()
    group_places._remove_old(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([here, other])


def test_a_log_drops_what_is_over_its_limit(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", 10)
    os.write(log.writing, b"0123456")
    assert log.take()
    assert log.text() == "0123456"
    os.write(log.writing, b"789abcdef")
    assert log.take()
    assert log.take()
    assert log.dropped == 6
    assert log.take(), "there may be more while somebody can write"
    log.close_writing()
    assert not log.take()
    log.close()
    assert (tmp_path / "log").read_text() == "0123456789"


def test_a_log_is_written_whole_where_a_disk_takes_it_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, kept = Log(tmp_path / "log", 100), []

    def takes_three(data: memoryview) -> int:
        kept.append(bytes(data[:3]))
        return len(kept[-1])

    log._file.close()
    monkeypatch.setattr(log, "_file", SimpleNamespace(write=takes_three, close=lambda: None))
    os.write(log.writing, b"0123456")
    assert log.take()
    log.close()
    assert (kept, log.failed) == ([b"012", b"345", b"6"], None)


def test_processes_are_found_by_who_started_them() -> None:
    child = os.fork()
    if child == 0:
        os.execv("/bin/sleep", ["sleep", "50"])
    try:
        assert child in children(os.getpid())
        assert child in family(os.getpid())
        assert resident_bytes(child) > 0
        assert status_of(child, "PPid") == str(os.getpid())
        assert status_of(child, "NoSuchLine") == ""
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert children(child) == []
    assert family(child) == [child]
    assert resident_bytes(child) == 0


def test_bait_is_there_while_it_is_wanted(tmp_path: Path) -> None:
    shmget = ctypes.CDLL(None).shmget
    with laid_out(tmp_path) as bait:
        assert bait.canary.read_text() == "a canary"
        assert shmget(bait.shm_key, 0, 0) >= 0
        with pytest.raises(MachineError, match="File exists"), laid_out(tmp_path):
            pass
    assert shmget(bait.shm_key, 0, 0) < 0


def test_segments_of_a_user_are_removed_and_of_no_other() -> None:
    libc = ctypes.CDLL(None)
    mine = libc.shmget(0, 4096, 0o1600)
    try:
        assert remove_segments(1_999_999_999) == 0
        shown = Path("/proc/sysvipc/shm").read_text()
        assert f" {mine} " in shown
    finally:
        libc.shmctl(mine, 0, None)
