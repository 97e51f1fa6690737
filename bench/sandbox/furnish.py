"""Furnishes a box for an agent with what a grader's has not: carried into the box by its plan.

`enter.py` runs it only where a plan says so, before it gives up its rights; standard library only.
"""

from __future__ import annotations

import _socket
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Plan = dict[str, Any]
    Mount = Callable[[str, str, str | None, int, str], None]

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
TERMINALS = 64  # that a box can have at once
WAITING = 128  # connections that nobody accepted yet


def furnish(plan: Plan, contents: bytes, channel: int, mount: Mount) -> Callable[[], None]:
    """Make folders, files and listener, hand out what is held outside, and return the rest.

    The rest is to be done by the box's user.
    """
    os.umask(0o022)
    for path, options in plan["writable"]:
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options)
    if plan["writable"]:
        # bubblewrap limits its bytes, and not how many files it holds.
        flags = MS_REMOUNT | MS_NOSUID | MS_NODEV
        mount("tmpfs", "/tmp", "tmpfs", flags, plan["scratch_options"])
    give(plan, contents, mount)
    if plan["terminals"]:
        options = f"newinstance,ptmxmode=0666,mode=620,max={TERMINALS}"
        mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options)
        mount("/dev/pts/ptmx", "/dev/ptmx", None, MS_BIND, "")
    for path in plan["hidden"]:
        flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
        mount("tmpfs", path, "tmpfs", flags, "mode=755,size=4096")
    held = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in plan["pinned"]]
    if plan["listen"] is not None:
        held.append(listening(plan["listen"]))
    hand_out(channel, held)
    return lambda: settle(plan, contents)


def give(plan: Plan, contents: bytes, mount: Mount) -> None:
    """Put files into writable folders so that they can be neither written, moved nor removed.

    What is a mount point cannot be moved or removed; a folder that holds files is one as a whole,
    so that it cannot be moved away either.
    """
    for path, start, length in plan["given"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        content = contents[start : start + length]
        with open(path, "xb") as stream:
            stream.write(content)
        os.chmod(path, 0o555 if content.startswith(b"#!") else 0o444)
    for path in plan["sealed"]:
        mount(path, path, None, MS_BIND, "")
        flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
        mount("none", path, None, flags, "")


def listening(port: int) -> int:
    """A socket that listens on a port of 127.0.0.1 in the network namespace of the box."""
    one = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    one.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", port))
    one.listen(WAITING)
    return one.detach()


def hand_out(channel: int, held: list[int]) -> None:
    """Pass open files to whoever holds the other end of the channel, and close them here."""
    one = _socket.socket(fileno=channel)
    rights = struct.pack(f"{len(held)}i", *held)
    ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if held else []
    one.sendmsg([b"furnished\n"], ancillary)
    one.detach()
    for number in held:
        os.close(number)


def settle(plan: Plan, contents: bytes) -> None:
    """Write what the box's user finds in its folders, and have standard input hold its bytes."""
    os.umask(0o077)
    view = memoryview(contents)
    for path, start, length in plan["seeds"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        written(number, view[start : start + length])
        os.close(number)
    start, length = plan["stdin"]
    if length:
        number = os.memfd_create("stdin")
        written(number, view[start : start + length])
        os.lseek(number, 0, os.SEEK_SET)
        os.dup2(number, 0)
        os.close(number)


def written(number: int, content: memoryview) -> None:
    """Write all of it."""
    while content:
        content = content[os.write(number, content) :]
