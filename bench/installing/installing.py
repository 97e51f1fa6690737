"""CLIs installed below a prefix, each whole or not at all; what is there is left alone."""

from __future__ import annotations

import fcntl
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from bench.installing.calling import printed_version
from bench.installing.lock import NODE, Lock, Locked, read_lock
from bench.installing.registries import from_npm, from_pypi, npm
from bench.installing.stamp import Installed, fingerprint, folder_of, installed, write_stamp
from kbsite.errors import KbsiteError, MachineError

Told = Callable[[str, float | None], None]
"""Whoever is told what is done now, and how much is done in all, 0 to 1."""

AT_ONCE = 2


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A CLI that could not be installed; nothing of it is left."""

    harness: str
    version: str
    error: str


def install(
    ids: Sequence[str], prefix: Path, told: Told, lock: Lock | None = None
) -> list[Installed | Failure]:
    """Install what is missing of these CLIs, all for none; what became of each, Node first.

    A second call at the same time waits for the first. MachineError where npm is needed and not
    there, UsageError for an unknown CLI, InputError for a broken lock file.
    """
    lock = lock or read_lock()
    wanted = lock.chosen(tuple(ids))
    with _alone(prefix, told):
        missing = [one for one in wanted if installed(prefix, one) is None]
        if any(one.source == "npm" for one in missing):
            npm()
        became = _install_all(missing, _Work(prefix, lock, told, len(missing)))
    return [became.get(one.id) or _there(prefix, one) for one in wanted]


def _install_all(missing: Sequence[Locked], work: _Work) -> dict[str, Installed | Failure]:
    """What became of each, some at once: what needs no Node is begun beside it, the rest after it.

    What comes from PyPI takes longest of all, and is not to be left alone at the end.
    """
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        begun = {one.id: pool.submit(work.do, one) for one in missing if not one.needs_node}
        if NODE in begun:
            begun[NODE].result()
        begun |= {one.id: pool.submit(work.do, one) for one in missing if one.needs_node}
        return {name: became.result() for name, became in begun.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def _there(prefix: Path, locked: Locked) -> Installed | Failure:
    said = installed(prefix, locked)
    if said is not None:
        return said
    gone = f"{folder_of(prefix, locked)} was taken away while it was looked at"
    return Failure(harness=locked.id, version=locked.version, error=gone)


@contextmanager
def _alone(prefix: Path, told: Told) -> Iterator[None]:
    """No other installation below this prefix at the same time."""
    try:
        prefix.mkdir(parents=True, exist_ok=True)
        stream = (prefix / ".lock").open("w")
    except OSError as error:
        raise MachineError(f"{prefix}: CLIs cannot be installed there: {error}") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told("waiting for another installation to end", None)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


class _Work:
    """What is installed at the moment, and what was."""

    def __init__(self, prefix: Path, lock: Lock, told: Told, count: int) -> None:
        self._prefix = prefix
        self._lock = lock
        self._told = told
        self._count = count
        self._done = 0
        self._busy: list[str] = []
        self._mutex = threading.Lock()

    def do(self, locked: Locked) -> Installed | Failure:
        """Install one, in any thread; what became of it."""
        self._tell(starts=locked.id)
        try:
            return _installed_now(self._prefix, self._lock, locked)
        except (KbsiteError, OSError) as error:
            return Failure(harness=locked.id, version=locked.version, error=str(error))
        finally:
            self._tell(ends=locked.id)

    def _tell(self, starts: str = "", ends: str = "") -> None:
        with self._mutex:
            if starts:
                self._busy.append(starts)
            else:
                self._busy.remove(ends)
                self._done += 1
            what = f"installing {' and '.join(self._busy)}" if self._busy else f"installed {ends}"
            self._told(what, self._done / self._count)


def _installed_now(prefix: Path, lock: Lock, locked: Locked) -> Installed:
    """Install one beside its place, look whether it is what it has to be, and move it there."""
    began = monotonic()
    place = folder_of(prefix, locked)
    if place.exists():
        shutil.rmtree(place)
    # An npm whose caller was killed may still write into its own: each has another name.
    for old in place.parent.glob("*.partial"):
        shutil.rmtree(old, ignore_errors=True)
    partial = place.with_name(f"{place.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir(parents=True)
    try:
        node = node_program(prefix, lock) if locked.needs_node else None
        facts = (
            from_npm(locked, partial, node, lock.before)
            if locked.source == "npm"
            else from_pypi(locked, partial)
        )
        command = found_command(locked, partial)
        _check_version(locked, on_host(command, partial, node))
        if locked.needs_node:
            facts["node"] = lock.clis[NODE].version
        write_stamp(
            partial,
            Installed(
                harness=locked.id, version=locked.version, package=locked.package,
                bytes=_size(partial), seconds=round(monotonic() - began, 1), command=command,
                facts={**facts, "locked": fingerprint(locked)},
            ),
        )  # fmt: skip
        partial.rename(place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return _known(prefix, locked)


def _known(prefix: Path, locked: Locked) -> Installed:
    said = installed(prefix, locked)
    if said is None:
        raise MachineError(f"{folder_of(prefix, locked)}: the stamp that was written is not there")
    return said


def node_program(prefix: Path, lock: Lock) -> Path:
    """The path of the installed Node; MachineError if it is not installed."""
    locked = lock.clis[NODE]
    said = installed(prefix, locked)
    if said is None:
        raise MachineError(f"Node {locked.version}, which it is installed with, is not there")
    return folder_of(prefix, locked) / said.command[0]


def found_command(locked: Locked, folder: Path) -> tuple[str, ...]:
    """The command of an installation, with each pattern replaced by the file that fits it.

    MachineError where none fits, or several do.
    """
    found = []
    for word in locked.command:
        if not word.startswith("./"):
            found.append(word)
            continue
        fit = sorted(folder.glob(word))
        if len(fit) != 1:
            raise MachineError(f"{locked.id}: {len(fit)} files fit {word}, expected one")
        found.append(f"./{fit[0].relative_to(folder)}")
    return tuple(found)


def on_host(command: Sequence[str], folder: Path, node: Path | None) -> list[str]:
    """A command as this machine starts it, outside of any sandbox."""
    return [
        str(node) if word == NODE and node else str(folder / word) if word[:2] == "./" else word
        for word in command
    ]


def _check_version(locked: Locked, command: Sequence[str]) -> None:
    """Raise MachineError unless a program prints what the lock file says."""
    printed = printed_version(command)
    if not locked.printed_by(printed):
        raise MachineError(
            f"{locked.id}: --version printed {printed[:200]!r}, expected {locked.prints!r}"
        )


def _size(folder: Path) -> int:
    """What the files of a folder take up, those with several names once."""
    held = {(said.st_dev, said.st_ino): said.st_size for said in map(Path.lstat, folder.rglob("*"))}
    return sum(held.values())
