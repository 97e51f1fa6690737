"""A sandbox made by bubblewrap (bwrap), which other projects keep well: preferred where it is."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from bench.sandbox.box import FOLDER, SCRATCH, Box, Sandboxed
from bench.sandbox.enter import LINKS, NODES
from bench.sandbox.launch import Way, facts_of, launch
from bench.sandbox.places import python_places
from bench.sandbox.plan import (
    ENTER,
    Bind,
    binds,
    devices_of,
    file_in_memory,
    files_of,
    folders_of,
    hidden_of,
    kernels_own,
    python_command,
)
from bench.sandbox.trial import first_failure
from bench.sandbox.users import User, needs_new_user, users_missing

# What init needs to become the box's user and to give up all else.
_RIGHTS = {"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"}
# What it needs besides to furnish a box: to mount, and to write into folders of the box's user.
_RIGHTS_TO_FURNISH = {"CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_SETPCAP"}
_INSIDE = FOLDER.with_name(".enter.py")


@dataclass(frozen=True)
class Bubblewrap:
    """Bubblewrap makes namespaces and root; `enter.py` is process 1 in there.

    `new_user` is that of `Namespaces`.
    """

    new_user: bool | None = None
    name: str = "bubblewrap"

    @property
    def gives_terminals(self) -> bool:
        """Whether boxes get terminals: not where root is no user of theirs."""
        return not needs_new_user(self.new_user)

    def available(self) -> str | None:
        """None if it can be used here, else the reason, in a sentence."""
        return _reason(self)

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        """Start a command in a box of its own; raises MachineError if that cannot be entered."""
        new_user = needs_new_user(self.new_user)

        def argv(channel: int, plan: int, user: User) -> tuple[Sequence[str], tuple[int, ...]]:
            inner = python_command(_INSIDE, "inside", str(channel), str(plan))
            return _argv(box, user, inner, new_user=new_user)

        bound = binds(_readable(box), box.bound) if box.hidden else ()
        way = Way(
            argv=argv,
            facts=facts_of(self.name, new_user=new_user),
            new_user=new_user,
            more={"hidden": hidden_of(box, bound)},
        )
        return launch(way, command, box)


@lru_cache
def _reason(sandbox: Bubblewrap) -> str | None:
    if shutil.which("bwrap") is None:
        return "bwrap is not installed; on Debian it is the package bubblewrap"
    if not needs_new_user(sandbox.new_user) and (missing := users_missing()):
        return missing
    return first_failure(sandbox)


def _argv(
    box: Box, user: User, inner: Sequence[str], *, new_user: bool
) -> tuple[list[str], tuple[int, ...]]:
    """The command line of bwrap, and the open files that it reads contents from."""
    given: list[int] = []

    def given_file(content: bytes) -> str:
        given.append(file_in_memory("file", content))
        return str(given[-1])

    own = files_of(box, user, new_user=new_user)
    files = {**own, str(_INSIDE): ENTER.read_bytes()}
    words = [
        *_namespaces(box, user, new_user=new_user),
        *_root(box, files, folders_of(box, new_user=new_user)),
        *_shown(kernels_own(new_user=new_user)),
        *(word for path in files for word in _file(path, given_file(files[path]))),
        *("--remount-ro", "/", "--chdir", "/"),
    ]
    arguments = file_in_memory("arguments", b"".join(word.encode() + b"\0" for word in words))
    program = shutil.which("bwrap") or "bwrap"
    return [program, "--args", str(arguments), "--", *inner], (arguments, *given)


def _namespaces(box: Box, user: User, *, new_user: bool) -> Iterator[str]:
    yield from ("--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "box", "--as-pid-1", "--cap-drop", "ALL")
    if not box.share_ipc:
        yield "--unshare-ipc"
    if new_user:
        yield from ("--unshare-user", "--uid", str(user.uid), "--gid", str(user.uid))
    rights = set() if new_user else _RIGHTS
    for right in rights | (_RIGHTS_TO_FURNISH if box.furnished else set()):
        yield from ("--cap-add", right)


def _root(box: Box, files: Iterable[str], own: Iterable[str]) -> Iterator[str]:
    yield from ("--proc", "/proc", "--perms", "0755", "--dir", "/dev")
    yield from ("--perms", "1777", "--size", str(box.limits.scratch_bytes))
    yield from ("--tmpfs", str(SCRATCH), "--perms", "1777", "--dir", LINKS["/dev/shm"])  # noqa: S108
    bound = binds(_readable(box), box.bound)
    for folder in _folders((*(str(one.target) for one in bound), *files, *own)):
        yield from ("--perms", "0755", "--dir", folder)
    yield from _shown(bound)
    for node in [f"/dev/{name}" for name in NODES] + devices_of(box):
        yield from ("--dev-bind", node, node)
    for link, target in LINKS.items():
        yield from ("--symlink", target, link)
    for path in own:
        yield from ("--perms", "0755", "--dir", path)


def _shown(bound: Iterable[Bind]) -> Iterator[str]:
    for one in bound:
        yield from ("--ro-bind", str(one.source), str(one.target))


def _readable(box: Box) -> tuple[Path, ...]:
    """What can be read inside: process 1 needs Python, whatever the command needs."""
    return (*box.readable, *python_places())


def _folders(paths: Iterable[str]) -> list[str]:
    """All folders above some paths, parents first: bwrap itself would close them to others."""
    above = {str(one) for path in paths for one in PurePosixPath(path).parents}
    return sorted(above - {"/", str(SCRATCH)})


def _file(path: str, number: str) -> Iterator[str]:
    yield from ("--perms", "0444", "--file", number, path)
