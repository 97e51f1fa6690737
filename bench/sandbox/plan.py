"""What `enter.py` is told: a box, written down so that a program that knows nothing can make it."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import CodeType

from bench.sandbox.box import SCRATCH, Box
from bench.sandbox.seccomp import filter_of_calls
from bench.sandbox.users import User
from kbsite.errors import UsageError

ENTER = Path(__file__).with_name("enter.py")
_FURNISH = Path(__file__).with_name("furnish.py")
_OPEN_FILES = 4096
_ROOM = 1024 * 1024  # for folders, links and small files of the root
_MOST_FILES = 262_144  # in a folder of an agent's: each takes memory of the kernel's besides
_SHELL = Path("/bin/bash")
_TERMINALS, _PTMX = "/dev/pts", "/dev/ptmx"
_KERNELS = (
    *("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"),
    "/proc/scsi",
)


@dataclass(frozen=True)
class Bind:
    """A path of the host, free of links, and where it is seen inside."""

    source: Path
    target: Path


def python_command(script: Path, *arguments: str) -> list[str]:
    """A command that runs a script with this Python, alone: no site, no environment."""
    return [os.path.realpath(sys.executable), "-I", "-S", str(script), *arguments]


def binds(readable: Iterable[Path], bound: Mapping[Path, Path] | None = None) -> list[Bind]:
    """What has to be bound so that all these paths can be read, parents first.

    A link and what it leads to are both seen; `bound` are paths that are seen elsewhere. Raises
    UsageError if a path does not exist.
    """
    wanted: set[tuple[Path, Path]] = set()
    for path in readable:
        real = _real("readable", path)
        wanted |= {(real, real), (path, real)}
    wanted |= {(target, _real("bound", path)) for target, path in (bound or {}).items()}
    given: list[Bind] = []
    for target, source in sorted(wanted, key=lambda pair: (len(pair[0].parts), pair)):
        if not any(target.is_relative_to(one.target) for one in given):
            given.append(Bind(source, target))
        elif target in (bound or {}):
            raise UsageError(f"Box.bound: {target} lies within, or is, what can be read already")
    return given


def _real(name: str, path: Path) -> Path:
    if not path.exists():
        raise UsageError(f"Box.{name}: {path} does not exist; leave it out or make it")
    return path.resolve()


def kernels_own(*, new_user: bool) -> list[Bind]:
    """What of /proc is shown read-only, because root would be let write there without any rights.

    It is for boxes whose user is the caller by another number, where the caller is root.
    """
    if not (new_user and os.getuid() == 0):
        return []
    return [Bind(place, place) for place in map(Path, _KERNELS) if place.exists()]


def hidden_of(box: Box, bound: Iterable[Bind]) -> list[str]:
    """Where folders that are to be hidden are seen inside, by whatever name; parents first."""
    seen: set[Path] = set()
    for path in box.hidden:
        real = path.resolve()
        if real.is_dir():
            seen |= {
                one.target / real.relative_to(one.source)
                for one in bound
                if real.is_relative_to(one.source)
            }
    return sorted(map(str, seen))


def has_terminals(box: Box, *, new_user: bool) -> bool:
    """Whether a box has terminals: the kernel makes none where root is no user."""
    return box.terminals and not new_user


def folders_of(box: Box, *, new_user: bool) -> list[str]:
    """Folders that are made in its root, empty."""
    more = [_TERMINALS] if has_terminals(box, new_user=new_user) else []
    return [str(path) for path in dict.fromkeys((box.folder, *box.writable))] + more


def files_of(box: Box, user: User, *, new_user: bool) -> dict[str, bytes]:
    """The files of its root, by their absolute paths: the box's, and a few of /etc."""
    agent = box.home != SCRATCH
    name, shell = ("agent", _SHELL) if agent and _SHELL.exists() else ("box", Path("/bin/sh"))
    line = f"{name}:x:{user.uid}:"
    return {
        "/etc/passwd": f"{line}{user.uid}:{name}:{box.home}:{shell}\n".encode(),
        "/etc/group": f"{line}\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost box\n::1 localhost\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
        **({} if box.folder in box.writable else _files(box)),
        **({_PTMX: b""} if has_terminals(box, new_user=new_user) else {}),
    }


def _files(box: Box) -> dict[str, bytes]:
    """The box's files by their absolute paths."""
    return {str(box.folder / name): content for name, content in sorted(box.files.items())}


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
    contents = bytearray()
    plan = {
        "command": list(command),
        "environment": dict(box.environment),
        "folder": str(box.folder),
        "folders": folders_of(box, new_user=new_user),
        "fds": list(box.pass_fds),
        "files": _table(files_of(box, user, new_user=new_user), contents),
        "devices": devices_of(box),
        "uid": user.uid,
        "init_uid": user.uid if new_user else user.init_uid,
        "map_uid": os.getuid() if new_user else None,
        "map_gid": os.getgid() if new_user else None,
        "change_user": os.getuid() == 0 and not new_user,
        "same_rights": False,
        "share_ipc": box.share_ipc,
        "root_options": f"mode=755,size={len(contents) + _ROOM}",
        "scratch_options": _options(box.limits.scratch_bytes, "1777", box),
        "rlimits": rlimits_of(box, new_user=new_user),
        "filter": (filter_of_calls(interfaces=True) if box.interfaces else filter_of_calls()).hex(),
        **_binding(box, new_user=new_user),
        **_furniture(box, user, contents),
        "terminals": has_terminals(box, new_user=new_user),
        **more,
    }
    return file_in_memory("plan", marshal.dumps(plan) + contents)


def _table(files: Mapping[str, bytes], contents: bytearray) -> list[list[object]]:
    """Each path with where its content begins and how long it is; the contents are added."""
    table: list[list[object]] = []
    for path, content in files.items():
        table.append([path, len(contents), len(content)])
        contents += content
    return table


def _binding(box: Box, *, new_user: bool) -> dict[str, object]:
    """What of the host is seen, and what of that is not."""
    bound = binds(box.readable, box.bound)
    shown = (*bound, *kernels_own(new_user=new_user))
    return {
        "readable": [[str(one.source), str(one.target)] for one in shown],
        "hidden": hidden_of(box, bound),
    }


def _furniture(box: Box, user: User, contents: bytearray) -> dict[str, object]:
    """What furnish.py is told; nothing is furnished where there is nothing to tell."""
    if not box.furnished:
        return {"furnisher": None}
    owner = f"uid={user.uid},gid={user.uid}"
    given = _files(box) if box.folder in box.writable else {}
    first = {str(box.folder / PurePosixPath(name).parts[0]) for name in box.files if given}
    seeds = {str(path): content for path, content in sorted(box.seeds.items())}
    stdin = len(contents)
    contents += box.stdin
    return {
        "furnisher": _furnisher(),
        "writable": [
            [str(path), f"{owner},{_options(most, '755', box)}"]
            for path, most in box.writable.items()
        ],
        "given": _table(given, contents),
        "sealed": sorted(first),
        "pinned": [str(path) for path in (*box.writable, SCRATCH)] if box.writable else [],
        "listen": box.listen,
        "seeds": _table(seeds, contents),
        "stdin": [stdin, len(box.stdin)],
    }


def _options(most: int, mode: str, box: Box) -> str:
    """Options of a file system in memory: the most bytes, the most files, its mode."""
    files = max(64, most // 4096)
    return f"mode={mode},size={most},nr_inodes={min(files, _MOST_FILES) if box.writable else files}"


@lru_cache(maxsize=1)
def _furnisher() -> CodeType:
    """The program of furnish.py, which takes its time to be read only once."""
    return compile(_FURNISH.read_text(), _FURNISH.name, "exec")


def rlimits_of(box: Box, *, new_user: bool) -> dict[str, int]:
    """Limits that the kernel keeps for each process, by their names."""
    return {
        # Where both have one user, init is counted as well.
        "RLIMIT_NPROC": box.limits.processes + new_user,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
        # Holds for files in memory too, which lie outside the scratch.
        "RLIMIT_FSIZE": max(box.limits.scratch_bytes, *box.writable.values(), 0),
    }


def file_in_memory(name: str, content: bytes) -> int:
    """An open file that lies nowhere, to be read from its start."""
    number = os.memfd_create(name)
    view = memoryview(content)
    while view:
        view = view[os.write(number, view) :]
    os.lseek(number, 0, os.SEEK_SET)
    return number
