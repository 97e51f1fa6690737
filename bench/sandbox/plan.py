"""What `enter.py` is told: a box, written down so that a program that knows nothing can make it."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sandbox.box import FOLDER, Box
from bench.sandbox.seccomp import filter_of_calls
from bench.sandbox.users import User
from kbsite.errors import UsageError

ENTER = Path(__file__).with_name("enter.py")
_OPEN_FILES = 4096
_ROOM = 1024 * 1024  # for folders, links and small files of the root


@dataclass(frozen=True)
class Bind:
    """A path of the host, free of links, and where it is seen inside."""

    source: Path
    target: Path


def python_command(script: Path, *arguments: str) -> list[str]:
    """A command that runs a script with this Python, alone: no site, no environment."""
    return [os.path.realpath(sys.executable), "-I", "-S", str(script), *arguments]


def binds(readable: Iterable[Path]) -> list[Bind]:
    """What has to be bound so that all these paths can be read, parents first.

    A link and what it leads to are both seen. Raises UsageError if a path does not exist.
    """
    wanted: set[tuple[Path, Path]] = set()
    for path in readable:
        if not path.exists():
            raise UsageError(f"Box.readable: {path} does not exist; leave it out or make it")
        real = path.resolve()
        wanted |= {(real, real), (path, real)}
    given: list[Bind] = []
    for target, source in sorted(wanted, key=lambda pair: (len(pair[0].parts), pair)):
        if not any(target.is_relative_to(one.target) for one in given):
            given.append(Bind(source, target))
    return given


def files_of(box: Box, user: User) -> dict[str, bytes]:
    """All files that are made inside, by their absolute paths: the box's, and a few of /etc."""
    name = f"box:x:{user.uid}:"
    return {
        "/etc/passwd": f"{name}{user.uid}:box:/tmp:/bin/sh\n".encode(),
        "/etc/group": f"{name}\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost box\n::1 localhost\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
        **{str(FOLDER / name): content for name, content in sorted(box.files.items())},
    }


def devices_of(box: Box) -> list[str]:
    """The devices of a box; raises UsageError for what is no device, nor a folder of some."""
    for path in box.devices:
        if not (path.is_char_device() or path.is_dir()):
            raise UsageError(f"Box.devices: {path} is neither a character device nor a folder")
    return [str(path) for path in box.devices]


def plan_file(
    command: Sequence[str], box: Box, user: User, *, new_user: bool, more: dict[str, object]
) -> int:
    """An open file in memory with the plan of a box and the contents of its files.

    `new_user` says whether the box has a user namespace in which its user is the caller; without
    one, root becomes the user, and anybody else stays who they are. `more` replaces parts of it.
    """
    table, contents = [], bytearray()
    for path, content in files_of(box, user).items():
        table.append([path, len(contents), len(content)])
        contents += content
    scratch = box.limits.scratch_bytes
    plan = {
        "command": list(command),
        "environment": dict(box.environment),
        "folder": str(FOLDER),
        "fds": list(box.pass_fds),
        "files": table,
        "readable": [[str(one.source), str(one.target)] for one in binds(box.readable)],
        "devices": devices_of(box),
        "uid": user.uid,
        "init_uid": user.uid if new_user else user.init_uid,
        "map_uid": os.getuid() if new_user else None,
        "map_gid": os.getgid() if new_user else None,
        "change_user": os.getuid() == 0 and not new_user,
        "same_rights": False,
        "share_ipc": box.share_ipc,
        "root_options": f"mode=755,size={len(contents) + _ROOM}",
        "scratch_options": f"mode=1777,size={scratch},nr_inodes={max(64, scratch // 4096)}",
        "rlimits": rlimits_of(box, new_user=new_user),
        "filter": filter_of_calls().hex(),
        **more,
    }
    return file_in_memory("plan", marshal.dumps(plan) + contents)


def rlimits_of(box: Box, *, new_user: bool) -> dict[str, int]:
    """Limits that the kernel keeps for each process, by their names."""
    return {
        # Where both have one user, init is counted as well.
        "RLIMIT_NPROC": box.limits.processes + new_user,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
        # Holds for files in memory too, which lie outside the scratch.
        "RLIMIT_FSIZE": box.limits.scratch_bytes,
    }


def file_in_memory(name: str, content: bytes) -> int:
    """An open file that lies nowhere, to be read from its start."""
    number = os.memfd_create(name)
    view = memoryview(content)
    while view:
        view = view[os.write(number, view) :]
    os.lseek(number, 0, os.SEEK_SET)
    return number
