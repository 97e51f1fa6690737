"""Small programs that run into the limits of a box, each in one of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bench.sandbox.box import Box, Claim, Ending, Limits, Sandbox
from bench.sandbox.plan import python_command
from kbsite.errors import MachineError

_LONG_S = 30.0
_MIB = 1024 * 1024
_LIMITS = Limits(memory_bytes=96 * _MIB, processes=16, log_bytes=1000, scratch_bytes=4 * _MIB)

# Each stops by itself soon after the limit, so that it does no harm where there is none.
_EATS = """
import time
held = []
for _ in range(40):
    held.append(b"x" * (8 << 20))
    time.sleep(0.01)
"""
_FORKS = """
import os, time
count = 0
try:
    while count < 64:
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        count += 1
except OSError:
    pass
print(count)
"""
_FILLS = """
import os
count = 0
try:
    with open("/tmp/kbsite-fill", "wb", buffering=0) as stream:
        while count < 16:
            count += stream.write(bytes(1 << 20)) == 1 << 20
except OSError:
    pass
os.unlink("/tmp/kbsite-fill")
print(count)
"""
_PRINTS = "print('x' * 5000)"
_STAYS = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(5)
    os._exit(0)
time.sleep(0.2)
"""


def tried_limits(sandbox: Sandbox, log: Path) -> Iterator[Claim]:
    """What became of five programs: one claim each."""
    ending, _ = _run(sandbox, _EATS, log)
    yield Claim(
        name="limit of memory",
        held=ending.over_memory,
        how=f"a program takes 320 MiB where {_LIMITS.memory_bytes} bytes are allowed",
        seen=ending.sentence,
    )
    _, said = _run(sandbox, _FORKS, log)
    yield Claim(
        name="limit of processes",
        held=said.isdigit() and int(said) < _LIMITS.processes,
        how=f"a program forks 64 times where {_LIMITS.processes} processes are allowed",
        seen=f"children: {said}",
    )
    _, said = _run(sandbox, _FILLS, log)
    yield Claim(
        name="limit of scratch",
        held=said.isdigit() and int(said) * _MIB <= _LIMITS.scratch_bytes,
        how=f"a program writes 16 MiB where {_LIMITS.scratch_bytes} bytes are allowed",
        seen=f"MiB written: {said}",
    )
    ending, said = _run(sandbox, _PRINTS, log)
    kept = log.stat().st_size
    yield Claim(
        name="limit of the log",
        held=kept == _LIMITS.log_bytes and ending.over_log == 5001 - kept,
        how=f"a program prints 5001 bytes where {_LIMITS.log_bytes} are kept",
        seen=f"{kept} bytes kept; {ending.sentence}",
    )
    yield _left(sandbox, log)


def _left(sandbox: Sandbox, log: Path) -> Claim:
    """Whether a daemon outlives the command that made it."""
    with sandbox.start(python_command(Path("-c"), _STAYS), _box(log)) as started:
        namespace = os.stat(f"/proc/{started.pid}/ns/pid").st_ino  # noqa: PTH116
        started.wait(_LONG_S)
    left = [one for one in _processes() if _namespace(one) == namespace]
    return Claim(
        name="nothing left",
        held=not left,
        how="a program leaves a daemon and ends; then all processes of its PID namespace count",
        seen=f"{len(left)} processes",
    )


def _processes() -> Iterator[Path]:
    return (path for path in Path("/proc").iterdir() if path.name.isdigit())


def _namespace(process: Path) -> int | None:
    """The number of a process's PID namespace; None if it ended."""
    try:
        return (process / "ns" / "pid").stat().st_ino
    except OSError:
        return None


def _box(log: Path) -> Box:
    return Box(log=log, limits=_LIMITS)


def _run(sandbox: Sandbox, program: str, log: Path) -> tuple[Ending, str]:
    """How a program ended, and what it printed."""
    with sandbox.start(python_command(Path("-c"), program), _box(log)) as started:
        ending = started.wait(_LONG_S)
    if ending is None:
        raise MachineError(f"a program of the self-test still ran after {_LONG_S:g} s")
    return ending, log.read_text(errors="replace").strip()
