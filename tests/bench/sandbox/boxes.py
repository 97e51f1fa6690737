"""Programs let loose in a box, and what may be left of them: nothing."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.sandbox import SANDBOXES
from bench.sandbox.box import Box, Ending, Limits, Sandbox, Sandboxed
from bench.sandbox.plan import python_command

MIB = 1024 * 1024
LONG_S = 30.0
LIMITS = Limits(memory_bytes=256 * MIB, processes=32, log_bytes=20_000, scratch_bytes=8 * MIB)
# Whatever goes wrong with a sandbox, what is meant for one never runs outside of one.
WALLED_IN = """
import os, sys
if os.getppid() != 1 or b"enter.py" not in open("/proc/1/cmdline", "rb").read():
    sys.exit("this is no sandbox")
"""


@dataclass(frozen=True)
class Outcome:
    """How a program ended, and what it printed."""

    ending: Ending
    said: str


@pytest.fixture(params=[sandbox.name for sandbox in SANDBOXES])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that can be used here; in CI, where `make` installs all, each of all."""
    found = next(one for one in SANDBOXES if one.name == request.param)
    reason = found.available()
    if reason is not None:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    return found


@contextmanager
def started(
    sandbox: Sandbox,
    log: Path,
    program: str,
    *,
    files: Mapping[str, bytes] | None = None,
    limits: Limits = LIMITS,
    pass_fds: tuple[int, ...] = (),
    share_ipc: bool = False,
) -> Iterator[Sandboxed]:
    """A Python program in a box; killed at the end, with nothing left of it."""
    before = traces()
    box = Box(
        log=log, files=files or {}, limits=limits, pass_fds=pass_fds, share_ipc=share_ipc,
        environment={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    command = python_command(Path("-c"), WALLED_IN + program)
    with sandbox.start(command, box) as running:
        yield running
    assert processes_of_boxes() == []
    assert left_over(before) == set()


def outcome(
    sandbox: Sandbox,
    log: Path,
    program: str,
    *,
    files: Mapping[str, bytes] | None = None,
    limits: Limits = LIMITS,
    pass_fds: tuple[int, ...] = (),
) -> Outcome:
    """How a program ends by itself; and the next start works, whatever it did."""
    with started(sandbox, log, program, files=files, limits=limits, pass_fds=pass_fds) as running:
        ending = running.wait(LONG_S)
    assert ending is not None, "it did not end by itself"
    said = log.read_text(errors="replace").strip()
    assert works(sandbox, log)
    return Outcome(ending, said)


def works(sandbox: Sandbox, log: Path) -> bool:
    """Whether a command that does nothing runs."""
    with sandbox.start(["/bin/true"], Box(log=log)) as running:
        ending = running.wait(LONG_S)
    return ending is not None and ending.exit_code == 0


def traces() -> set[str]:
    """What boxes of this process could leave on the host: mounts, control groups, open files."""
    mounts = set(Path("/proc/self/mounts").read_text().splitlines())
    # Others' groups come and go meanwhile, which this walk does not mind.
    walked = os.walk("/sys/fs/cgroup")
    ours = f"kbsite-box-{os.getpid()}-"
    groups = {f"{above}/{name}" for above, names, _ in walked for name in names if ours in name}
    files = {f"open {path.name}" for path in Path("/proc/self/fd").iterdir()}
    return mounts | groups | files


def left_over(before: set[str]) -> set[str]:
    """What is there that was not; what goes by itself within two seconds is of other tests."""
    for _ in range(40):
        found = traces() - before
        if not found:
            break
        gc.collect()
        time.sleep(0.05)
    return found


def processes_of_boxes() -> list[str]:
    """All processes of the users of this process's boxes.

    One that ended is left out where only the host's own init has still to take note of that.
    """
    ours = range(user_of_box(0), user_of_box(0) + 64)
    found = []
    for path in Path("/proc").iterdir():
        try:
            text = (path / "status").read_text() if path.name.isdigit() else ""
        except (FileNotFoundError, ProcessLookupError):
            continue
        if "\nState:\tZ" in text and "\nPPid:\t1\n" in text:
            continue
        if text and int(text.partition("\nUid:")[2].split()[0]) in ours:
            found.append(text)
    return found


def user_of_box(slot: int) -> int:
    """The user that a box of this process has."""
    return 0x70000000 + os.getpid() % 4_194_304 * 64 + slot
