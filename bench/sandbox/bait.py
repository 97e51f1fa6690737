"""What lies on the host for a probe to find, if it can: open to every user, so that walls count."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kbsite.errors import MachineError

_IPC_CREAT, _IPC_EXCL, _IPC_RMID = 0o1000, 0o2000, 0


@dataclass(frozen=True)
class Bait:
    """A canary, two sockets that listen, a segment of shared memory."""

    canary: Path
    port: int
    abstract: str
    shm_key: int


@contextmanager
def laid_out(folder: Path) -> Iterator[Bait]:
    """All of it, while the context lasts; the canary lies in the folder."""
    folder.chmod(0o755)
    canary = folder / "canary"
    canary.write_text("a canary")
    abstract = f"kbsite-canary-{folder.name}"
    key = 0x6B000000 + os.getpid() % 0x1000000
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as named,
        _segment(key),
    ):
        named.bind("\0" + abstract)
        named.listen()
        yield Bait(canary, listener.getsockname()[1], abstract, key)


@contextmanager
def _segment(key: int) -> Iterator[None]:
    """A segment of System V shared memory under a key, for all users."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(key, 4096, _IPC_CREAT | _IPC_EXCL | 0o666)
    if number < 0:
        why = os.strerror(ctypes.get_errno())
        raise MachineError(f"a segment of shared memory under key {key:#x}: {why}")
    try:
        yield
    finally:
        libc.shmctl(number, _IPC_RMID, None)
