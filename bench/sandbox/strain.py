"""Small programs that run into the limits of a box, each in one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.sandbox.box import Box, Claim, Ending, Limits, Sandbox
from bench.sandbox.plan import python_command
from kbsite.errors import MachineError
from kbsite.model.counts import number_of

_LONG_S = 30.0
_MIB = 1024 * 1024
_LIMITS = Limits(
    memory_bytes=64 * _MIB,
    processes=16,
    log_bytes=1000,
    stdout_bytes=2000,
    scratch_bytes=4 * _MIB,
)
_MANY = 4096  # files

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
# Both for each folder that it is given, so that the largest count tells.
_FILLS_FOLDERS = f"""
import os, sys
most, many = 0, 0
for folder in sys.argv[1:]:
    for number in range({_MANY}):
        try: os.close(os.open(folder + "/" + str(number), os.O_WRONLY | os.O_CREAT))
        except OSError: break
        many = max(many, number + 1)
    try:
        with open(folder + "/0", "wb", buffering=0) as stream:
            for count in range(16):
                if stream.write(bytes(1 << 20)) < 1 << 20: break
                most = max(most, count + 1)
    except OSError:
        pass
print(most, many)
"""
_PRINTS = "import sys; print('x' * 5000, file=sys.stderr)"
_PRINTS_MORE = "print('x' * 5000)"
_TRIES = 10
"""Programs that are started until one is seen while it runs."""

_STAYS = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(5)
    os._exit(0)
time.sleep(0.2)
"""


def tried_limits(sandbox: Sandbox, like: Box) -> Iterator[Claim]:
    """What became of five programs in boxes of a kind, and two more where that has folders."""
    box = replace(like, limits=_LIMITS, listen=None)
    ending, _ = _run(sandbox, _EATS, box)
    yield Claim(
        name="limit of memory",
        held=ending.over_memory,
        how=f"a program takes 320 MiB where {_LIMITS.memory_bytes} bytes are allowed",
        seen=ending.sentence,
    )
    _, said = _run(sandbox, _FORKS, box)
    yield Claim(
        name="limit of processes",
        held=said.isdigit() and int(said) < _LIMITS.processes,
        how=f"a program forks 64 times where {_LIMITS.processes} processes are allowed",
        seen=f"children: {said}",
    )
    _, said = _run(sandbox, _FILLS, box)
    yield Claim(
        name="limit of scratch",
        held=said.isdigit() and int(said) * _MIB <= _LIMITS.scratch_bytes,
        how=f"a program writes 16 MiB where {_LIMITS.scratch_bytes} bytes are allowed",
        seen=f"MiB written: {said}",
    )
    ending, said = _run(sandbox, _PRINTS, box)
    kept = box.log.stat().st_size
    yield Claim(
        name="limit of the log",
        held=kept == _LIMITS.log_bytes and ending.over_log == 5001 - kept,
        how=f"a program prints 5001 bytes where {_LIMITS.log_bytes} are kept",
        seen=f"{kept} bytes kept; {ending.sentence}",
    )
    yield _left(sandbox, box)
    if box.stdout is not None and box.writable:
        yield from _of_agents(sandbox, box, box.stdout)


def _of_agents(sandbox: Sandbox, box: Box, stdout: Path) -> Iterator[Claim]:
    """What becomes of who fills the folders, with bytes and with files, or prints without end."""
    _, said = _run(sandbox, _FILLS_FOLDERS, box, *map(str, box.writable))
    most, many = (int(word) for word in said.split()) if said else (_MANY, _MANY)
    room = max(box.writable.values())
    yield Claim(
        name="limit of folders",
        held=0 < most * _MIB <= room,
        how=f"a program writes 16 MiB to each folder, where {room} bytes are allowed",
        seen=f"MiB written: {most}",
    )
    yield Claim(
        name="limit of files",
        held=0 < many < _MANY,
        how=f"a program makes {_MANY} files in each folder",
        seen=f"files made: {many}",
    )
    ending, _ = _run(sandbox, _PRINTS_MORE, box)
    kept = stdout.stat().st_size
    yield Claim(
        name="limit of standard output",
        held=kept == _LIMITS.stdout_bytes and ending.over_stdout == 5001 - kept,
        how=f"a program prints 5001 bytes where {_LIMITS.stdout_bytes} are kept",
        seen=f"{kept} bytes kept; {ending.sentence}",
    )


def _left(sandbox: Sandbox, box: Box) -> Claim:
    """Whether a daemon outlives the command that made it."""
    namespace, tries = None, 0
    while namespace is None:
        tries += 1
        if tries > _TRIES:
            raise MachineError("a program of the self-test was over each time before it was seen")
        with sandbox.start(python_command(Path("-c"), _STAYS), box) as started:
            # On a busy machine it may be over by now: then another one is looked at.
            namespace = _namespace(Path(f"/proc/{started.pid}"))
            started.wait(_LONG_S)
    left = [one for one in _processes() if _namespace(one) == namespace]
    return Claim(
        name="nothing left",
        held=not left,
        how="a program leaves a daemon and ends; then all processes of its PID namespace count",
        seen=number_of(len(left), "process", "processes"),
    )


def _processes() -> Iterator[Path]:
    return (path for path in Path("/proc").iterdir() if path.name.isdigit())


def _namespace(process: Path) -> int | None:
    """The number of a process's PID namespace; None if it ended."""
    try:
        return (process / "ns" / "pid").stat().st_ino
    except OSError:
        return None


def _run(sandbox: Sandbox, program: str, box: Box, *arguments: str) -> tuple[Ending, str]:
    """How a program ended, and what it printed."""
    with sandbox.start(python_command(Path("-c"), program, *arguments), box) as started:
        ending = started.wait(_LONG_S)
    if ending is None:
        raise MachineError(f"a program of the self-test still ran after {_LONG_S:g} s")
    return ending, (box.stdout or box.log).read_text(errors="replace").strip()
