"""A command in a box: what it gets, how it ends, what the starter learns of it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.sandbox import NONE, SANDBOXES, best, named
from bench.sandbox.box import FOLDER, Box, Limits, Sandbox
from bench.sandbox.held import Held
from bench.sandbox.places import python_places
from bench.sandbox.plan import python_command
from kbsite.errors import MachineError, UsageError
from tests.bench.sandbox.boxes import (
    LONG_S,
    MIB,
    left_over,
    outcome,
    processes_of_boxes,
    sandbox,
    started,
    traces,
    works,
)

__all__ = ["sandbox"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def run(sandbox: Sandbox, box: Box, *command: str) -> str:
    """What a command printed that exits with 0."""
    with sandbox.start(command, box) as running:
        ending = running.wait(LONG_S)
    assert ending is not None
    assert ending.exit_code == 0, box.log.read_text()
    return box.log.read_text()


def test_a_command_gets_its_files_its_folder_and_its_environment(
    sandbox: Sandbox, log: Path
) -> None:
    files = {"a.txt": b"one", "deep/er/b.bin": bytes(range(256)), "empty": b""}
    box = Box(log=log, files=files, environment={"NAME": "a value", "EMPTY": ""})
    script = "pwd; cat a.txt; wc -c < deep/er/b.bin; wc -c < empty; env | grep -v -e PWD -e _="
    said = run(sandbox, box, "/bin/sh", "-c", script).split("\n")
    assert said == [str(FOLDER), "one256", "0", "NAME=a value", "EMPTY=", ""]
    assert box.folder == FOLDER


def test_a_command_is_found_on_the_path_that_it_gets(sandbox: Sandbox, log: Path) -> None:
    box = Box(log=log, environment={"PATH": "/usr/bin"})
    assert run(sandbox, box, "basename", "a/b") == "b\n"


def test_python_and_what_is_installed_for_it_can_be_used(sandbox: Sandbox, log: Path) -> None:
    said = run(sandbox, Box(log=log), sys.executable, "-c", "import yaml; print(yaml.dump([1]))")
    assert said == "- 1\n\n"


def test_what_may_be_read_lies_where_it_lies_on_the_host(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "text").write_text("shown")
    (tmp_path / "hidden").write_text("hidden")
    (tmp_path / "link").symlink_to(tmp_path / "shown")
    readable = (*python_places(), tmp_path / "link")
    box = Box(log=tmp_path / "log", readable=readable)
    script = f"cd {tmp_path}; cat link/text shown/text; ls; echo x > shown/text || echo kept"
    said = run(sandbox, box, "/bin/sh", "-c", script)
    assert said.startswith("shownshownlink\nshown\n")
    assert said.endswith("kept\n")
    assert (tmp_path / "shown" / "text").read_text() == "shown"


def test_a_command_that_does_not_exist_is_an_error_of_the_start(
    sandbox: Sandbox, log: Path
) -> None:
    before = traces()
    with pytest.raises(MachineError, match="No such file or directory: '/nowhere'"):
        sandbox.start(["/nowhere"], Box(log=log))
    assert processes_of_boxes() == []
    assert left_over(before) == set()
    assert works(sandbox, log)


def test_a_path_that_does_not_exist_is_named(sandbox: Sandbox, log: Path) -> None:
    before = traces()
    with pytest.raises(UsageError, match=r"Box\.readable: /no/such does not exist"):
        sandbox.start(["/bin/true"], Box(log=log, readable=(Path("/no/such"),)))
    with pytest.raises(UsageError, match=r"Box\.devices: /etc/passwd is neither"):
        sandbox.start(["/bin/true"], Box(log=log, devices=(Path("/etc/passwd"),)))
    assert left_over(before) == set()
    assert works(sandbox, log)


def test_a_device_that_is_given_can_be_opened_and_no_other(sandbox: Sandbox, log: Path) -> None:
    program = """
for name in ("tty", "null", "mem", "kmsg", "fuse"):
    try: open("/dev/" + name, "rb", buffering=0).close()
    except OSError as error: print(name, error.errno)
    else: print(name, "opened")
"""
    box = Box(log=log, devices=(Path("/dev/fuse"),))
    given = run(sandbox, box, *python_command(Path("-c"), program))
    assert given.split("\n")[:4] == ["tty 2", "null opened", "mem 2", "kmsg 2"]
    assert "fuse 2" not in given
    assert "fuse 2" in run(sandbox, Box(log=log), *python_command(Path("-c"), program))


def test_the_pid_is_that_of_the_command_as_the_host_counts(sandbox: Sandbox, log: Path) -> None:
    with sandbox.start(["/bin/sleep", "50"], Box(log=log)) as running:
        assert Path(f"/proc/{running.pid}/comm").read_text() == "sleep\n"
        assert running.running()
        assert running.ended() is None
        assert running.wait(0.01) is None
    assert not running.running()
    assert not Path(f"/proc/{running.pid}").exists()


def test_the_memory_of_all_its_processes_counts(sandbox: Sandbox, log: Path) -> None:
    program = """
import time
pid = os.fork()
held = bytearray(b"x" * (40 << 20))
print("ready", flush=True)
time.sleep(50)
"""
    with started(sandbox, log, program, limits=Limits(log_bytes=100)) as running:
        until(lambda: running.memory_bytes() >= 80 * MIB)
        assert 80 * MIB <= running.memory_bytes() <= 200 * MIB
    assert running.memory_bytes() == 0


def test_memory_is_watched_where_no_control_group_can_be_had(
    sandbox: Sandbox, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.sandbox.groups.places", dict)
    program = "import time\nheld = bytearray(b'x' * (300 << 20))\ntime.sleep(50)"
    with started(sandbox, log, program) as running:
        assert running.facts["memory"] == "resident memory, looked at every 50 ms"
    found = outcome(sandbox, log, program)
    assert found.ending.over_memory
    assert found.ending.killed


def test_a_log_is_kept_up_to_its_limit(sandbox: Sandbox, log: Path) -> None:
    program = "print('a' * 90, file=sys.stderr, flush=True)\nprint('b' * 90)"
    kept = outcome(sandbox, log, program, limits=Limits(log_bytes=100))
    assert kept.said == "a" * 90 + "\n" + "b" * 9
    assert kept.ending.over_log == 82
    assert kept.ending.sentence.endswith("82 bytes of output over the limit were dropped")
    whole = outcome(sandbox, log, program, limits=Limits(log_bytes=182))
    assert whole.ending.over_log == 0


def test_what_a_command_prints_last_is_not_lost(sandbox: Sandbox, log: Path) -> None:
    program = "sys.stdout.write('y' * 60000)\nsys.stdout.flush()\nos._exit(7)"
    for _ in range(2):
        found = outcome(sandbox, log, program, limits=Limits(log_bytes=100_000))
        assert found.ending.exit_code == 7
        assert len(found.said) == 60_000


def test_boxes_know_nothing_of_each_other(sandbox: Sandbox, tmp_path: Path) -> None:
    program = "import os\nprint(sum(map(str.isdigit, os.listdir('/proc'))), os.getuid())"
    said = set()
    with sandbox.start(["/bin/sleep", "50"], Box(log=tmp_path / "first")) as first:
        for number in range(2):
            log = tmp_path / f"log{number}"
            said.add(
                run(sandbox, Box(log=log), *python_command(Path("-c"), "import os\n" + program))
            )
        assert first.running()
    assert len(said) == 1
    assert said.pop().startswith("2 ")


def test_boxes_start_in_threads_that_end_before_them(sandbox: Sandbox, log: Path) -> None:
    held = []
    thread = threading.Thread(
        target=lambda: held.append(sandbox.start(["/bin/sleep", "50"], Box(log=log)))
    )
    thread.start()
    thread.join()
    assert held[0].wait(0.2) is None
    held[0].kill()
    held[0].kill()
    ending = held[0].ended()
    assert ending is not None
    assert ending.killed


def test_too_many_boxes_at_once_are_refused(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.sandbox.users._EACH", 8)
    sandbox = best()
    before = traces()
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(sandbox.start(["/bin/sleep", "50"], Box(log=log)))
        with pytest.raises(MachineError, match="4 sandboxes are open"):
            sandbox.start(["/bin/sleep", "50"], Box(log=log))
    assert left_over(before) == set()
    assert works(sandbox, log)


def test_the_best_sandbox_is_one_that_can_be_used() -> None:
    assert best().available() is None
    assert best() in SANDBOXES
    assert NONE not in SANDBOXES


def test_sandboxes_are_known_by_name() -> None:
    assert named("none") is NONE
    assert [named(one.name) for one in SANDBOXES] == list(SANDBOXES)
    with pytest.raises(UsageError, match="'chroot' is no sandbox; expected one of: bubblewrap, n"):
        named("chroot")


def test_a_box_that_the_kernel_does_not_end_is_an_error(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = traces()
    waits: list[tuple[int, float]] = []

    def never(process: int, seconds: float) -> bool:
        waits.append((process, seconds))
        return False

    with monkeypatch.context() as patched:
        patched.setattr("bench.sandbox.held.ended_within", never)
        running = best().start(["/bin/sleep", "50"], Box(log=log))
        with pytest.raises(MachineError, match=r"a box cannot be ended: process \d+ was still"):
            running.kill()
    assert len(waits) == 2
    assert not running.running()
    assert running.ended() is None
    assert isinstance(running, Held)
    running._tidy()
    assert left_over(before) == set()


def test_a_kernel_that_tells_no_children_is_an_error(
    sandbox: Sandbox, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = traces()
    monkeypatch.setattr("bench.sandbox.launch.children", lambda _: [])
    with pytest.raises(MachineError, match="this kernel does not say who is a child"):
        sandbox.start(["/bin/true"], Box(log=log))
    assert left_over(before) == set()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail if it does not within a long time."""
    deadline = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
