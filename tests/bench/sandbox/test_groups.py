"""Control groups: where they can be made, and which devices they open."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from threading import Barrier

import pytest

from bench.sandbox import group_places
from bench.sandbox.box import Box, Limits
from bench.sandbox.device_program import device_program, open_devices_only
from bench.sandbox.group_places import places
from bench.sandbox.groups import make_group
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.plan import python_command

NULL, ZERO = (1, 3), (1, 5)
CHARACTER, BLOCK = 2, 1
MAKE, READ, WRITE = 1, 2, 4


def verdict(program: bytes, kind: int, access: int, major: int, minor: int) -> int:
    """What the program says, run by a machine of the instructions that it is made of."""
    given = struct.pack("III", access << 16 | kind, major, minor)
    code = [struct.unpack("BBhi", program[at : at + 8]) for at in range(0, len(program), 8)]
    registers = [0] * 11
    at = 0
    while True:
        operation, both, offset, value = code[at]
        to, of = both & 15, both >> 4
        at += 1
        match operation:
            case 0x61:
                assert of == 1
                (registers[to],) = struct.unpack_from("I", given, offset)
            case 0x57:
                registers[to] &= value
            case 0x77:
                registers[to] >>= value
            case 0xB7:
                registers[to] = value
            case 0xBF:
                registers[to] = registers[of]
            case 0x55:
                at += offset if registers[to] != value else 0
            case 0x05:
                at += offset
            case 0x95:
                return registers[0]
            case _:
                pytest.fail(f"instruction {operation:#x}")


def test_only_devices_of_the_list_are_opened() -> None:
    program = device_program([NULL, (195, 255), (1, 9)])
    for major in (0, 1, 3, 9, 195, 255):
        for minor in (0, 1, 3, 9, 195, 255):
            opened = (major, minor) in {NULL, (195, 255), (1, 9)}
            for access in (READ, WRITE, READ | WRITE):
                assert verdict(program, CHARACTER, access, major, minor) == opened
                assert verdict(program, BLOCK, access, major, minor) == 0
            assert verdict(program, CHARACTER, MAKE, major, minor) == 0
            assert verdict(program, CHARACTER, MAKE | READ, major, minor) == 0


def test_no_list_opens_nothing() -> None:
    assert verdict(device_program([]), CHARACTER, READ, *NULL) == 0


def test_a_folder_that_is_no_group_takes_no_program(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="bpf"):
        open_devices_only(tmp_path, [NULL])


@pytest.fixture
def unified() -> Iterator[Path | None]:
    """A control group of version 2, where one can be made."""
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        group = root / f"kbsite-test-{os.getpid()}"
        if (root / "cgroup.controllers").exists() and os.access(root, os.W_OK):
            group.mkdir()
            yield group
            group.rmdir()
            return
    yield None


def test_the_kernel_runs_the_program(unified: Path | None) -> None:
    if unified is None or not group_places._takes_programs(unified):
        # Then nobody relies on it: no place is found for devices in version 2.
        assert "unified" not in str(places().get("devices"))
        return
    open_devices_only(unified, [NULL])
    script = f"""
echo $$ >{unified}/cgroup.procs
for node in null zero full; do (: <>/dev/$node) 2>&- && echo $node; done
"""
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "null\n"


def test_a_box_is_held_by_version_2_where_there_is_no_other(
    unified: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes = unified is not None and group_places._takes_programs(unified)
    # Both in one tree: the group that is frozen lies within the one that opens devices.
    wanted = ("devices", "freezer") if takes else ()
    above = dict.fromkeys(wanted, unified.parent if unified else tmp_path)
    monkeypatch.setattr("bench.sandbox.groups.places", lambda: above)
    box = Box(log=tmp_path / "log")
    program = "open('/dev/null').close(); print('null')"
    with Namespaces().start(python_command(Path("-c"), program), box) as running:
        facts = running.facts
        assert running.freeze(10)
        running.thaw()
        running.wait(30)
    assert box.log.read_text() == "null\n"
    assert facts["devices"] == ("control group" if takes else "no other node, and none can be made")
    assert facts["freezing"] == ("control group" if takes else "signals")
    if unified is not None:
        assert not list(unified.parent.glob(f"kbsite-box-{os.getpid()}-*"))


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of groups that is made of plain folders; none can be entered or takes programs."""
    monkeypatch.setattr(group_places, "_GROUPS", tmp_path)
    monkeypatch.setattr(group_places, "_can_be_entered", lambda _: True)
    monkeypatch.setattr(group_places, "_takes_programs", lambda _: False)
    return tmp_path


def offer(monkeypatch: pytest.MonkeyPatch, offered: dict[Path, set[str]]) -> list[Path]:
    """Have groups offer this; the list tells which were asked."""
    asked: list[Path] = []

    def answer(above: Path, _: object) -> set[str]:
        asked.append(above)
        return offered.get(above, set())

    monkeypatch.setattr(group_places, "_offered", answer)
    return asked


def own_groups(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have this process be in these groups."""
    real = Path.read_text

    def read_text(self: Path, *given: str | None, **named: str | None) -> str:
        return text if str(self) == "/proc/self/cgroup" else real(self, *given, **named)

    monkeypatch.setattr(Path, "read_text", read_text)


def test_version_1_has_a_place_for_each_limit(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_groups(monkeypatch, "4:memory:/a/b\n3:pids:/\n2:cpu,devices:/x\n0::/\n")
    offered = {
        pretended / "memory" / "a" / "b": {"memory"},
        pretended / "pids": {"pids"},
        pretended / "cpu,devices": {"devices"},
    }
    asked = offer(monkeypatch, offered)
    assert places.__wrapped__() == {
        "memory": pretended / "memory" / "a" / "b",
        "pids": pretended / "pids",
        "devices": pretended / "cpu,devices",
    }
    assert pretended / "memory" / "a" not in asked, "the own group offers all that is wanted"
    assert pretended / "unified" in asked, "nothing freezes in version 1"


def test_version_2_has_one_place_for_all(pretended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pretended / "cgroup.controllers").touch()
    own_groups(monkeypatch, "0::/user/session\n")
    offered = {
        pretended / "user" / "session": {"devices"},
        pretended / "user": {"memory", "pids", "devices", "freezer"},
        pretended: {"memory", "pids", "devices", "freezer"},
    }
    asked = offer(monkeypatch, offered)
    above = pretended / "user"
    wanted = ("memory", "pids", "devices", "freezer")
    assert places.__wrapped__() == dict.fromkeys(wanted, above)
    assert pretended not in asked


def test_version_2_adds_what_version_1_does_not_have(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_groups(monkeypatch, "4:memory:/\n0::/\n")
    offer(
        monkeypatch,
        {pretended / "memory": {"memory"}, pretended / "unified": {"memory", "devices"}},
    )
    assert places.__wrapped__() == {
        "memory": pretended / "memory",
        "devices": pretended / "unified",
    }


def test_where_nothing_is_offered_nothing_is_found(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_groups(monkeypatch, "4:memory:/a\n0::/b\n")
    assert offer(monkeypatch, {}) == []
    assert places.__wrapped__() == {}
    assert not (pretended / "memory").exists()


def test_a_place_that_cannot_be_written_offers_nothing(pretended: Path) -> None:
    assert group_places._offered(pretended / "no-such", {"memory": "memory.max"}) == set()


def test_two_threads_that_look_at_once_do_not_disturb_each_other(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes a group to try, and removes it: that of the other one was gone, or in use."""
    monkeypatch.setattr(group_places, "_SWAPS", pretended / "no swaps")
    both = Barrier(2, timeout=20)
    monkeypatch.setattr(group_places, "_can_be_entered", lambda _: both.wait() >= 0)
    marks = {"pids": "."}
    with ThreadPoolExecutor(2) as threads:
        looks = [threads.submit(group_places._offered, pretended, marks) for _ in range(2)]
        assert [look.result() for look in looks] == [{"pids"}] * 2
    assert list(pretended.iterdir()) == []


def test_plain_folders_are_no_groups(pretended: Path) -> None:
    assert group_places._offered(pretended, {"memory": "memory.max"}) == set()
    assert list(pretended.iterdir()) == []


@pytest.mark.parametrize(
    ("mark", "more", "swaps", "kept"),
    [
        ("memory.max", "memory.swap.max", True, True),
        ("memory.max", "", True, False),
        ("memory.max", "", False, True),
        ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", True, True),
        ("memory.limit_in_bytes", "memory.swappiness", True, True),
        ("memory.limit_in_bytes", "", True, False),
    ],
)
def test_memory_that_can_be_swapped_out_of_its_limit_is_not_limited(
    pretended: Path, monkeypatch: pytest.MonkeyPatch, mark: str, more: str, swaps: bool, kept: bool
) -> None:
    real = Path.mkdir

    def mkdir(self: Path, *given: bool, **named: bool) -> None:
        real(self, *given, **named)
        for name in filter(None, (mark, more, "pids.max")):
            (self / name).touch()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmtree)
    monkeypatch.setattr(group_places, "_SWAPS", pretended if swaps else pretended / "none")
    offered = group_places._offered(pretended, {"memory": mark, "pids": "pids.max"})
    assert offered == ({"memory", "pids"} if kept else {"pids"})


def test_groups_of_this_machine_hold_what_they_are_told() -> None:
    limits = Limits(memory_bytes=64 << 20, processes=11)
    group = make_group(limits, (Path("/dev/null"), Path("/dev/full")), 1_000_000)
    assert set(group.folders) == set(places()) - {"freezer"}
    assert bool(group.freezer) == ("freezer" in places())
    read = {
        name: (folder / mark).read_text().strip()
        for name, folder in group.folders.items()
        for mark in ("memory.limit_in_bytes", "memory.max", "pids.max", "devices.list")
        if (folder / mark).exists()
    }
    assert read.get("memory", str(64 << 20)) == str(64 << 20)
    if (swapped := group.folders.get("memory", Path()) / "memory.swappiness").exists():
        assert swapped.read_text() == "0\n"
    assert read.get("pids", "13") == "13"
    if "devices" in read:
        listed = read["devices"].splitlines()
        assert sorted(listed) == sorted(f"c 1:{minor} rw" for minor in (3, 5, 7, 8, 9))
    assert not group.over()
    group.remove()
    assert not any(folder.exists() for folder in group.folders.values())
