"""No sandbox at all: what still holds, and that nobody gets it without asking."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.sandbox import NONE
from bench.sandbox.box import Box, Limits
from bench.sandbox.plan import python_command
from bench.sandbox.processes import status_of
from kbsite.errors import MachineError


def test_a_command_gets_copies_of_its_files_which_are_removed(tmp_path: Path) -> None:
    box = Box(log=tmp_path / "log", files={"deep/a": b"one"}, environment={"PATH": "/usr/bin:/bin"})
    with NONE.start(["/bin/sh", "-c", "pwd; cat deep/a; exit 3"], box) as running:
        ending = running.wait(30)
    assert ending is not None
    assert ending.exit_code == 3
    folder, text = box.log.read_text().split("\n")
    assert text == "one"
    assert not Path(folder).exists()
    assert running.facts == {"sandbox": "none", "user": "the caller", "memory": "not limited"}


def test_daemons_end_with_the_command(tmp_path: Path) -> None:
    program = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(60)
    print(os.getpid(), flush=True)
    os._exit(0)
os.wait()
"""
    box = Box(log=tmp_path / "log")
    with NONE.start(python_command(Path("-c"), program), box) as running:
        ending = running.wait(30)
    assert ending is not None
    assert ending.exit_code == 0
    session = box.log.read_text().strip()
    left = [
        path
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and _session(path) == session
    ]
    assert left == []


def _session(process: Path) -> str:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[3]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_memory_is_watched(tmp_path: Path) -> None:
    program = "import time\nheld = bytearray(b'x' * (120 << 20))\ntime.sleep(50)"
    box = Box(log=tmp_path / "log", limits=Limits(memory_bytes=64 << 20))
    with NONE.start(python_command(Path("-c"), program), box) as running:
        assert status_of(running.pid, "NoNewPrivs") == "0"
        ending = running.wait(30)
    assert ending is not None
    assert ending.over_memory


def test_a_command_that_does_not_exist_is_an_error_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="/nowhere"):
        NONE.start(["/nowhere"], Box(log=tmp_path / "log", files={"marker-of-this-test": b""}))
    assert not list(Path("/tmp").glob("kbsite-box-*/marker-of-this-test"))


def test_it_can_be_used_everywhere() -> None:
    assert NONE.available() is None
