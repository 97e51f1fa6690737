"""The program that enters a box, its steps one by one: in a child, which gives up what it has."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.sandbox import enter
from bench.sandbox.plan import ENTER, python_command
from bench.sandbox.seccomp import filter_of_calls

PLAN = {"uid": 0x7FFFFFF0, "change_user": os.getuid() == 0, "same_rights": False}


def in_child(work: Callable[[], object]) -> str:
    """What a piece of work gave, as text, or the error that it raised, done in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, _tried(work).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said


def _tried(work: Callable[[], object]) -> str:
    try:
        return repr(work())
    except OSError as error:
        return f"{type(error).__name__}: {error}"


def test_calls_that_fail_say_what_was_done() -> None:
    assert enter.checked("a thing", 5) == 5
    ctypes.set_errno(errno.ENODEV)
    with pytest.raises(OSError, match="a thing: No such device") as caught:
        enter.checked("a thing", -1)
    assert caught.value.errno == errno.ENODEV


def test_a_mount_that_fails_names_its_place(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=f"mounting no-such-kind at {tmp_path}"):
        enter.mount("none", str(tmp_path), "no-such-kind", 0)


@pytest.mark.parametrize("kept", [(9, 1, 21), (3, 4, 5), ()])
def test_files_are_closed_but_for_those_that_are_kept(kept: tuple[int, ...]) -> None:
    program = f"""
import os, runpy
enter = runpy.run_path({str(ENTER)!r})
for number in (3, 4, 5, 7, 9, 20, 21, 1000): os.dup2(0, number)
enter["close_all_but"]({kept!r})
for number in range(1001):
    try: os.fstat(number)
    except OSError: continue
    print(number)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True, text=True
    )
    assert [int(line) for line in done.stdout.split()] == sorted({0, 1, 2, *kept})


def test_rights_are_given_up_for_good() -> None:
    def work() -> list[str]:
        enter.give_up_rights(PLAN, PLAN["uid"])
        lines = Path("/proc/self/status").read_text().splitlines()
        return [line.split()[1] for line in lines if line.startswith(("Cap", "NoNew", "Uid"))]

    uid = str(PLAN["uid"]) if os.getuid() == 0 else str(os.getuid())
    assert in_child(work) == repr([uid, *(["0000000000000000"] * 5), "1"])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_cannot_come_back() -> None:
    def work() -> None:
        enter.give_up_rights(PLAN, PLAN["uid"])
        os.setuid(0)

    assert in_child(work).startswith("PermissionError")


def test_a_filter_of_calls_is_in_force_from_then_on() -> None:
    def work() -> tuple[int, int, str]:
        enter.give_up_rights(PLAN, PLAN["uid"])
        enter.deny_calls(filter_of_calls())
        done = enter.libc.unshare(0)
        number = ctypes.get_errno()
        with subprocess.Popen(["/bin/echo", "children run"], stdout=subprocess.PIPE) as child:
            said, _ = child.communicate()
        return done, number, said.decode().strip()

    assert in_child(work) == f"(-1, {errno.EPERM}, 'children run')"


def test_no_filter_refuses_nothing() -> None:
    def work() -> int:
        enter.deny_calls(b"")
        return int(enter.libc.unshare(0))

    assert in_child(work) == "0"


def test_a_limit_is_lowered_and_never_raised() -> None:
    def work() -> tuple[int, int]:
        enter.lower_limit(resource.RLIMIT_NOFILE, 100)
        enter.lower_limit(resource.RLIMIT_NOFILE, 200)
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    assert in_child(work) == "(100, 100)"


def test_files_are_written_for_all_to_read(tmp_path: Path) -> None:
    first, second = tmp_path / "deep" / "er" / "first", tmp_path / "second"
    enter.put_files([[str(first), 0, 3], [str(second), 3, 0]], b"one two")
    assert first.read_bytes() == b"one"
    assert second.read_bytes() == b""
    assert first.stat().st_mode & 0o7777 == 0o444
    with pytest.raises(FileExistsError):
        enter.put_files([[str(second), 0, 1]], b"x")


def test_a_line_is_a_line_whatever_it_says() -> None:
    reading, writing = os.pipe()
    enter.tell(writing, "failed a name\nwith a line break")
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert stream.read() == "failed a name with a line break\n"


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (lambda: os._exit(3), "exit 3\n"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9\n"),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), "signal 10\n"),
    ],
)
def test_how_the_command_ended_is_told(end: Callable[[], None], told: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = os.fork()
        if command == 0:
            end()
        os.waitid(os.P_PID, command, os.WEXITED | os.WNOWAIT)
        assert enter.reap(theirs.fileno(), command)
        assert ours.recv(100).decode() == told


def test_others_that_ended_are_reaped_and_not_told() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        other = os.fork()
        if other == 0:
            os._exit(0)
        os.waitid(os.P_PID, other, os.WEXITED | os.WNOWAIT)
        assert not enter.reap(theirs.fileno(), other + 1)
        assert not Path(f"/proc/{other}").exists()
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(1)


def test_all_children_are_killed_and_theirs() -> None:
    def work() -> list[bool]:
        enter.libc.prctl(enter.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        reading, writing = os.pipe()
        if os.fork() == 0:
            middle = os.fork()
            if middle == 0:
                os.write(writing, struct.pack("i", os.getpid()))
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(60)
            os.setsid()
            time.sleep(60)
        (grandchild,) = struct.unpack("i", os.read(reading, 4))
        enter.kill_children()
        return [Path(f"/proc/{grandchild}").exists(), bool(enter_children())]

    assert in_child(work) == "[False, False]"


def enter_children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def test_a_plan_that_cannot_be_read_ends_the_program() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        number = os.memfd_create("empty")
        done = subprocess.run(
            python_command(ENTER, "namespaces", str(theirs.fileno()), str(number)),
            pass_fds=(theirs.fileno(), number),
            capture_output=True,
            check=False,
        )
        os.close(number)
    assert done.returncode != 0
    assert b"EOFError" in done.stderr


def test_it_starts_without_what_takes_long_to_import() -> None:
    # Without its arguments it ends at once; to tell why loads more than it does, since 3.13.
    program = (
        "import sys; sys.excepthook = lambda *_: None; sys.argv = [''];"
        f" exec(compile(open({str(ENTER)!r}).read(), '', 'exec'), {{'__name__': '__main__'}})"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", program],
        capture_output=True,
        check=False,
        text=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ctypes" in imported
    slow = {"json", "re", "pathlib", "typing", "socket", "subprocess", "threading", "logging"}
    assert imported & slow == set()
