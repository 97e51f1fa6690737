"""The probe, on this side of the walls: each attempt sees what a sandbox would have to hide."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.sandbox import probe, strain
from bench.sandbox.bait import Bait, laid_out
from bench.sandbox.box import Box, Claim, Ending, Limits, Sandbox, Sandboxed
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.plan import python_command
from kbsite.errors import MachineError
from tests.bench.sandbox.boxes import outcome, sandbox, works

__all__ = ["sandbox"]
PROBE = Path(probe.__file__)


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[Bait]:
    with laid_out(tmp_path) as found:
        yield found


def test_others_are_seen() -> None:
    held, seen = probe.processes({"parent": os.getppid()})
    assert not held
    assert "processes" in seen


def test_what_lies_on_the_host_is_seen(bait: Bait) -> None:
    held, seen = probe.root({"hidden": ["/no/such", str(bait.canary)], "emptied": []})
    assert (held, seen) == (False, f"{bait.canary} is there")


def test_memory_that_can_be_opened_is_seen() -> None:
    held, seen = probe.memory_of_others({"parent": os.getpid()})
    assert (held, seen) == (False, f"/proc/{os.getpid()}/mem can be opened")


def test_a_folder_that_can_be_written_is_seen_and_left_as_it_was(tmp_path: Path) -> None:
    held, seen = probe.scratch({"unwritable": ["/no/such", str(tmp_path)], "kernels": []})
    assert (held, seen) == (False, f"{tmp_path} can be written")
    assert list(tmp_path.iterdir()) == []


def test_a_setting_of_the_kernels_that_can_be_written_is_seen(tmp_path: Path) -> None:
    setting = tmp_path / "core_pattern"
    setting.write_text("core")
    held, seen = probe.scratch({"unwritable": [], "kernels": ["/no/such", str(setting)]})
    assert (held, seen) == (False, f"{setting} can be written")
    assert setting.read_text() == "core"


def test_a_scratch_of_the_hosts_is_seen(bait: Bait, monkeypatch: pytest.MonkeyPatch) -> None:
    (bait.canary.parent / "kbsite-canary-x").touch()
    monkeypatch.setattr(probe, "SCRATCH", bait.canary.parent)
    held, seen = probe.scratch({"unwritable": ["/no/such"], "kernels": ["/no/such"]})
    assert (held, seen) == (False, f"{bait.canary.parent} is the host's")


def test_sockets_that_answer_are_seen(bait: Bait, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {"/proc/net/dev": ["", "", " lo: 0"], "/proc/net/route": ["Iface"]}
    monkeypatch.setattr(probe, "_lines", alone.__getitem__)
    held, seen = probe.network({"port": bait.port, "abstract": bait.abstract})
    assert not held
    assert f"'127.0.0.1', {bait.port}" in seen
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        held, seen = probe.network({"port": nobody.getsockname()[1], "abstract": bait.abstract})
        assert not held
        assert bait.abstract in seen
        held, _ = probe.network({"port": nobody.getsockname()[1], "abstract": "nobody"})
        assert held


@pytest.mark.parametrize(
    ("devices", "routes", "seen"),
    [
        (["", "", " lo: 0", " eth0: 1"], ["Iface"], "interfaces: lo, eth0"),
        (["", "", " lo: 0"], ["Iface", "eth0"], "there is a route"),
    ],
)
def test_ways_out_are_seen(
    devices: list[str], routes: list[str], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {"/proc/net/dev": devices, "/proc/net/route": routes}
    monkeypatch.setattr(probe, "_lines", lines.__getitem__)
    assert probe.network({"port": 1, "abstract": "nobody"}) == (False, seen)


def test_shared_memory_is_seen(bait: Bait) -> None:
    assert probe.ipc({"shm_key": bait.shm_key}) == (False, "the parent's segment is there")
    assert probe.ipc({"shm_key": bait.shm_key + 1})[0]


def test_calls_that_go_through_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    held, seen = probe.calls({"interfaces": False})
    assert (held, seen) == (False, "ptrace is not refused: No such process")
    monkeypatch.setattr(probe, "REFUSED", {})
    monkeypatch.setattr(probe, "FAMILIES", {"inet": 2})
    assert probe.calls({"interfaces": False}) == (False, "a socket of family inet is not refused")
    monkeypatch.setattr(probe, "FAMILIES", {"none": 999})
    assert probe.calls({"interfaces": False})[0]


def test_devices_that_were_not_given_are_seen() -> None:
    held, seen = probe.devices({"devices": ["/dev/null"]})
    assert not held
    assert seen.startswith("also there: /dev/")


def test_open_files_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["probe.py", "5"])
    assert probe.open_files({"open": [0, 1, 2, 5]})[0]
    assert not probe.open_files({"open": [0, 1, 2, 4, 5]})[0]
    assert not probe.open_files({"open": [0, 2, 5]})[0]


def test_the_probe_answers_every_attempt_once(bait: Bait) -> None:
    ours, theirs = socket.socketpair()
    asked = {
        "parent": os.getpid(), "hidden": [str(bait.canary)],
        "unwritable": [str(bait.canary.parent)], "port": bait.port, "abstract": bait.abstract,
        "shm_key": bait.shm_key, "devices": [], "emptied": [], "interfaces": False, "given": None,
        "kernels": [],
    }  # fmt: skip
    with ours, theirs:
        ours.sendall(json.dumps(asked).encode() + b"\n")
        command = python_command(PROBE, str(theirs.fileno()))
        subprocess.run(command, pass_fds=(theirs.fileno(),), check=True, stdin=subprocess.DEVNULL)
        answers = json.loads(ours.recv(100_000))
    assert set(answers) == set(probe.ATTEMPTS)
    assert [name for name, (held, _) in answers.items() if held] == ["open files"]


class Canned:
    """A sandbox in which every program ends the same way, having printed the same."""

    name = "canned"
    gives_terminals = False

    def __init__(self, ending: Ending | None, said: str) -> None:
        self.ending = ending
        self.said = said

    def available(self) -> str | None:
        return None

    def start(self, command: object, box: Box) -> Sandboxed:  # noqa: ARG002 - all are alike
        box.log.write_text(self.said)
        return CannedRun(self.ending)  # type: ignore[return-value]


class CannedRun:
    def __init__(self, ending: Ending | None) -> None:
        self.pid = os.getpid()
        self.ending = ending

    def wait(self, _: float) -> Ending | None:
        return self.ending

    def __enter__(self) -> CannedRun:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was started."""


def tried(ending: Ending | None, said: str, log: Path) -> dict[str, Claim]:
    sandbox: Sandbox = Canned(ending, said)
    return {claim.name: claim for claim in strain.tried_limits(sandbox, Box(log=log))}


def test_limits_that_do_not_hold_are_seen(tmp_path: Path) -> None:
    claims = tried(Ending(exit_code=0), "64", tmp_path / "log")
    assert [name for name, claim in claims.items() if claim.held] == []
    assert claims["limit of processes"].seen == "children: 64"
    assert claims["limit of scratch"].seen == "MiB written: 64"
    assert "2 bytes kept" in claims["limit of the log"].seen


def test_programs_that_say_nothing_prove_nothing(tmp_path: Path) -> None:
    claims = tried(Ending(exit_code=1), "", tmp_path / "log")
    assert not any(claim.held for claim in claims.values())


def test_programs_of_the_test_that_do_not_end_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="a program of the self-test still ran after 30 s"):
        tried(None, "", tmp_path / "log")


MORE_TRICKS = {
    "a lower chance to be killed": "open('/proc/self/oom_score_adj', 'wb', 0).write(b'-1000')",
    "a higher priority": "os.nice(-5)",
    "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))",
    "more processes": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (10**6, 10**6))"
    ),
    "larger files": "os.truncate(os.memfd_create('x'), 1 << 30)",
    "a clock": "import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)",
    "a way back by an open folder": "os.chroot('/tmp')",
    "another owner": "open('/tmp/x', 'w')\nos.chown('/tmp/x', 0, 0)",
    "a file of root's": "os.chmod('/tmp/.shm', 0o700)",
    "the kernel's log": "open('/dev/kmsg')",
    "the machine's memory": "open('/proc/kcore', 'rb').read(1)",
    "settings of the kernel": "open('/proc/sys/vm/drop_caches', 'w').write('1')",
    "a kernel that restarts": "open('/proc/sysrq-trigger', 'w').write('b')",
    "what process 1 has open": "os.listdir('/proc/1/fd')",
    "where process 1 works": "os.readlink('/proc/1/cwd')",
    "a terminal": "open('/dev/tty')",
    "a new terminal": "os.openpty()",
    "a folder for ever": "os.rmdir('/tmp')",
    "a name of the box": "open('/proc/sys/kernel/hostname', 'w').write('x')",
    "control groups": "open('/sys/fs/cgroup/cgroup.procs', 'w').write('0')",
    "a port below 1024 of the host": (
        "import socket\nsocket.create_connection(('127.0.0.1', 22), 5)"
    ),
}


def test_what_else_is_tried_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    program = f"""
for name, trick in {MORE_TRICKS!r}.items():
    try: exec(trick)
    except (OSError, ValueError): continue
    print("done:", name)
print("over")
"""
    assert outcome(sandbox, tmp_path / "log", program).said == "over"


def test_a_box_within_a_box_cannot_be_made(sandbox: Sandbox, tmp_path: Path) -> None:
    program = """
import subprocess
for command in (["/usr/bin/unshare", "-Ur", "/bin/true"], ["/usr/bin/unshare", "-n", "/bin/true"],
                ["/usr/bin/nsenter", "-t", "1", "-m", "/bin/true"]):
    print(subprocess.run(command, capture_output=True).returncode)
"""
    assert outcome(sandbox, tmp_path / "log", program).said.split() == ["1"] * 3


def test_many_small_files_fill_the_scratch(tmp_path: Path) -> None:
    program = """
count = 0
try:
    while count < 5000:
        open(f"/tmp/{count}", "w").close()
        count += 1
except OSError as error:
    print(error.errno)
"""
    limits = Limits(scratch_bytes=4 << 20)
    said = outcome(Namespaces(), tmp_path / "log", program, limits=limits).said
    assert said == str(errno.ENOSPC)
    assert works(Namespaces(), tmp_path / "log")


def test_a_folder_too_deep_to_be_named_breaks_no_look_at_nodes(tmp_path: Path) -> None:
    """Shared memory of others may hold one, and is below /dev."""
    (tmp_path / "node").touch()
    name, here = "d" * 250, os.open(tmp_path, os.O_RDONLY)
    held = [here]
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        here = os.open(name, os.O_RDONLY, dir_fd=here)
        held.append(here)
    os.close(os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    try:
        assert list(probe._nodes(tmp_path)) == [tmp_path / "node"]
        with pytest.raises(NotADirectoryError):
            list(probe._nodes(tmp_path / "node"))
    finally:
        last = held.pop()
        os.unlink("deep", dir_fd=last)
        os.close(last)
        for parent in reversed(held):
            os.rmdir(name, dir_fd=parent)
            os.close(parent)
