"""Processes are told apart by what the kernel says of them, whatever they call themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.running.processor import Processor
from bench.sandbox import processes
from bench.sandbox.processes import status_of, stopped
from bench.sandbox.threads import Code
from bench.sweeps import tries

Program = Callable[[str], int]

NAMES = [
    b"\xff\xfe",
    "программа".encode()[:15],  # as the kernel cuts it: in the middle of a letter
    b"a) Z 1 2 3",
    b"\nUid:\t7",
    b"\x0cUid:\t7",
    b"\x85\x1c\rUid:\t7",
    "\u2028Uid:\t7".encode(),
]


@pytest.fixture
def program() -> Iterator[Program]:
    """Starts a program that prints a line when it is ready; its process."""
    started: list[subprocess.Popen[bytes]] = []

    def start(text: str) -> int:
        command = [sys.executable, "-I", "-S", "-c", text]
        one = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        started.append(one)
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
        return one.pid

    yield start
    for one in started:
        one.kill()
        one.communicate()


@pytest.mark.parametrize("name", NAMES)
def test_no_name_hides_a_field_or_stands_for_one(program: Program, name: bytes) -> None:
    pid = program(
        f"import ctypes\nctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)\n"
        "print('ready', flush=True)\ninput()"
    )
    assert Path(f"/proc/{pid}/comm").read_bytes() == name + b"\n"
    assert status_of(pid, "Uid").split() == [str(os.getuid())] * 4
    assert status_of(pid, "Pid") == str(pid)
    assert not stopped(pid)
    assert Processor(pid).seconds >= 0
    one = tries.Holder(
        pid=pid, started=tries._started(pid), boot=tries.boot(), host=os.uname().nodename
    )
    assert one.started > 0
    assert tries.alive(one)


def test_a_thread_that_goes_meanwhile_stops_no_other(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = program("print('ready', flush=True)\ninput()")
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: ["4194304", *real(path)])
    assert not stopped(pid)


def test_a_process_that_is_gone_has_stopped(program: Program) -> None:
    pid = program("print('ready', flush=True)\ninput()")
    assert not stopped(pid)
    os.kill(pid, 19)
    until = time.monotonic() + 30
    while not stopped(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert stopped(pid)
    assert stopped(4_194_304)
    assert processes.threads_of(4_194_304) == []


@pytest.mark.parametrize("mark", ["\x0c", "\x1c", "\u2028", "\x85", "\n", "\r", " "])
def test_no_path_hides_what_is_executed_or_stands_for_it(
    program: Program, tmp_path: Path, mark: str
) -> None:
    # Were this a line, something of the C library's would lie at 0x1000.
    forged = tmp_path / f"a{mark}1000-2000 r-xp 00000000 00:00 0 " / "usr" / "lib" / "libc.so.6"
    forged.parent.mkdir(parents=True)
    shutil.copy(_ctypes_file(), forged)
    pid = program(
        f"import ctypes\nctypes.CDLL({str(forged)!r})\nprint('ready', flush=True)\ninput()"
    )
    code = Code(pid)
    assert code.at(0x1000) is None
    assert any(one.path.startswith(f"{tmp_path}/a") for one in code.files())


def _ctypes_file() -> str:
    """A library that is there wherever Python is."""
    import _ctypes

    return _ctypes.__file__
