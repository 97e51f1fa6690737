"""The folder of a try: what is started there, and who holds it.

Whoever works on a try holds a lock on a file of its folder for as long as it lives; the kernel lets
go of it however the process ends. So a driver that comes after a dead one knows what is still at
work, and can make sure that what has not started yet never will.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.sandbox.processes import fields_of
from bench.sealed import json_bytes, write_whole
from bench.sweeps.states import Kind
from kbsite.errors import InputError

TASK = "task.json"
LOCK = "lock"
STOP = "stop"
"""Written where a try has to end: the number of the signal for it."""
SILENT = "silent"
"""Written where a try is ended because it gave no sign of life: its end was nobody's wish."""
ORDER = "order.json"
OUT, ERR = "out", "err"
REVOKED = b"revoked\n"
ELSEWHERE = "elsewhere"
"""Written where nothing was started, for another sweep works on the cell, or has made it."""

HIDDEN = ".sweeps"
"""Folder within a board's, hidden from the site."""

ORDER_PLACE = "{order}"
"""Stands in a command for the file of the order."""

SCRATCH = "kbsite-try-"
"""Begins the names of folders for temporary files."""

_MOST = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Task:
    """What an executor starts."""

    folder: Path
    """Of the try; its name is the try's id."""
    cell: str
    kind: Kind
    command: tuple[str, ...]
    order: Mapping[str, Any] | None = None
    """What the supervisor of a session reads; its GPU is filled in where it starts."""
    provider: str | None = None
    gpu: bool = False
    """Whether it needs a GPU."""
    board: Path | None = None
    """Folder of the board on which it claims its cell; None: it claims none."""
    run: str | None = None
    """Name of the run that is graded."""

    @property
    def id(self) -> str:
        """The try's."""
        return self.folder.name


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The process that works on a try."""

    pid: int
    started: int
    """When it started, in ticks since the machine did."""
    boot: str
    """Which start of the machine that was."""
    host: str
    gpu: str | None = None


def write_task(task: Task) -> None:
    """Make the folder of a try."""
    told = {
        "cell": task.cell, "kind": task.kind.value, "command": list(task.command),
        "order": task.order, "provider": task.provider, "gpu": task.gpu,
        "board": str(task.board) if task.board else None, "run": task.run,
    }  # fmt: skip
    write_whole(task.folder / TASK, json_bytes(told))


def read_task(folder: Path) -> Task:
    """What is started in a folder; InputError if its file is none of ours."""
    path = folder / TASK
    told = read_bounded(path)
    try:
        return Task(
            folder=folder, cell=told["cell"], kind=Kind(told["kind"]),
            command=tuple(told["command"]), order=told["order"], provider=told["provider"],
            gpu=told["gpu"], board=Path(told["board"]) if told["board"] else None, run=told["run"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not the task of a try: {error!r}", path=path) from error


def read_bounded(path: Path) -> dict[str, Any]:
    """The keys and values in a small JSON file; InputError if it is none, or a link."""
    try:
        data = json.loads(read_first(path, _MOST))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error
    if not isinstance(data, dict):
        raise InputError("expected keys and values", path=path)
    return data


def read_first(path: Path, most: int, start: int = 0) -> bytes:
    """Bytes of a regular file that is no link; OSError if it is anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if start:
            stream.seek(start)
        return stream.read(most)


def hold(folder: Path, gpu: str | None) -> int | None:
    """Take the lock of a try for this process; its descriptor, which a new program keeps.

    None if another process has it, or a driver gave the try up: then nothing may be started.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if os.pread(descriptor, _MOST, 0):
        os.close(descriptor)
        return None
    os.pwrite(descriptor, json_bytes(asdict(this_process(gpu))), 0)
    os.fsync(descriptor)
    os.set_inheritable(descriptor, True)  # noqa: FBT003 - its second parameter has no name
    return descriptor


def this_process(gpu: str | None = None) -> Holder:
    """What others know this process by."""
    own = os.getpid()
    return Holder(pid=own, started=_started(own), boot=boot(), host=socket.gethostname(), gpu=gpu)


def alive(one: Holder) -> bool:
    """Whether a process is there still; one on another host is taken for gone."""
    here = one.host == socket.gethostname() and one.boot == boot()
    return here and _started(one.pid) == one.started


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether this process has the lock of a file, while the context lasts."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def at_work(folder: Path) -> bool:
    """Whether somebody works on a try; if not, from now on nobody ever will."""
    if not folder.is_dir():
        return False
    with locked(folder / LOCK) as free:
        if free and not (folder / LOCK).read_bytes():
            (folder / LOCK).write_bytes(REVOKED)
        return not free


def holder(folder: Path) -> Holder | None:
    """Who took a try, whether it is still at work or not; None if nobody did."""
    try:
        return Holder(**read_bounded(folder / LOCK))
    except (InputError, TypeError):
        return None


def scratch(folder: Path) -> Path:
    """Where a try has its temporary files, on whichever host: one who is killed removes none."""
    return Path(tempfile.gettempdir()) / f"{SCRATCH}{folder.name}"


def clear(folder: Path) -> None:
    """Remove the temporary files of a try that nobody works on, if they lie on this host."""
    place = scratch(folder)
    if not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)


def end(folder: Path, number: int) -> None:
    """Send a signal to whoever works on a try; what carries it on another host sees it asked for.

    Nothing if it has ended: its number may be another process's by now.
    """
    write_whole(folder / STOP, str(number).encode())
    one = holder(folder)
    if one is None or one.host != socket.gethostname() or one.boot != boot():
        return
    try:
        descriptor = os.pidfd_open(one.pid)
    except ProcessLookupError:
        return
    try:
        # From here on the descriptor is of one process, whatever becomes of its number.
        if _started(one.pid) == one.started and first_to_send(folder, number):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def asked_to_end(folder: Path) -> int | None:
    """The signal that somebody wants sent to a try; None if nobody does."""
    try:
        return int(read_first(folder / STOP, 10))
    except (OSError, ValueError):
        return None


def first_to_send(folder: Path, number: int) -> bool:
    """Whether a signal is the caller's to send: to a session a second one says something else."""
    try:
        os.close(os.open(folder / f"sent-{number}", os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def start_words(folder: Path, gpu: str | None) -> list[str]:
    """The command line that starts what a folder asks for, and holds it."""
    words = [sys.executable, "-m", "bench.sweeps.hold", str(folder)]
    return [*words, gpu] if gpu else words


def boot() -> str:
    """Which start of this machine this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> int:
    """When a process started, in ticks since the machine did; -1 if it has ended."""
    try:
        told = fields_of(f"/proc/{pid}")
    except PermissionError:
        # Somebody else's by now: of ours the kernel tells.
        return -1
    return -1 if not told or told[0] in "ZX" else int(told[19])
