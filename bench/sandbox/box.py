"""What a sandboxed process gets, how it is held and how it ended: types of all sandboxes."""

from __future__ import annotations

import signal
import socket
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType, TracebackType
from typing import Protocol, Self

from bench.sandbox.place import Place
from bench.sandbox.places import python_places
from bench.sandbox.threads import Stand
from kbsite.errors import UsageError

# Where a process finds things; the same in every sandbox.
FOLDER = Path("/box")
SCRATCH = Path("/tmp")  # noqa: S108 - the box's own, never the host's


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a box may use; threads count as processes, CPU time is not limited here."""

    memory_bytes: int | None = None
    processes: int = 256
    log_bytes: int = 10_000_000
    stdout_bytes: int = 10_000_000
    scratch_bytes: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        least = {
            "processes": 1, "log_bytes": 0, "stdout_bytes": 0, "scratch_bytes": 4096,
            "memory_bytes": 1,
        }  # fmt: skip
        for name, low in least.items():
            given = getattr(self, name)
            if given is not None and given < low:
                raise UsageError(f"Limits.{name}: {given}, expected {low} or more")


@dataclass(frozen=True, kw_only=True)
class Box:
    """All that a sandboxed process gets; what is not named here it does not have.

    `files` lie in `folder`, its working folder, and cannot be written; `readable` are paths of the
    host, seen at the same place; SCRATCH (and /dev/shm within it) can be written.

    What follows is for agents. `writable` names folders of its own, empty, in memory, with the most
    bytes that each takes; `folder` may be one of them. What lies in one of these from the start
    are `seeds`, which the box's own user writes, and which are its own. `files` stay as they are
    there too: they can be neither written, nor replaced, nor removed, and a folder that holds some
    is read-only as a whole; scripts among them (`#!`) can be executed.

    `bound` shows paths of the host elsewhere (where inside: where on the host), read-only; `hidden`
    are folders within what is readable that are seen empty. `stdin` is what it reads; `stdout` a
    file of its own for what it prints there, which otherwise goes to `log`. It finds a listening
    socket on port `listen` of its 127.0.0.1; `interfaces` lets it ask which interfaces it has,
    `terminals` open terminals of its own, where its user is not the caller by another number.
    """

    log: Path
    folder: Path = FOLDER
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    readable: tuple[Path, ...] = field(default_factory=python_places)
    devices: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pass_fds: tuple[int, ...] = ()
    limits: Limits = field(default_factory=Limits)
    share_ipc: bool = False
    home: Path = SCRATCH
    writable: Mapping[Path, int] = field(default_factory=lambda: MappingProxyType({}))
    seeds: Mapping[Path, bytes] = field(default_factory=lambda: MappingProxyType({}))
    bound: Mapping[Path, Path] = field(default_factory=lambda: MappingProxyType({}))
    hidden: tuple[Path, ...] = ()
    stdin: bytes = b""
    stdout: Path | None = None
    listen: int | None = None
    interfaces: bool = False
    terminals: bool = False

    def __post_init__(self) -> None:
        for name in self.files:
            _check_name(name, self.files)
        check_places(self)
        for number in self.pass_fds:
            if number < 3:
                raise UsageError(f"Box.pass_fds: {number}, expected 3 or more: 0, 1, 2 are taken")
        if self.listen is not None and not 1024 <= self.listen < 65536:
            raise UsageError(f"Box.listen: {self.listen}, expected a port from 1024 to 65535")

    @property
    def furnished(self) -> bool:
        """Whether it has more than a grader's: folders, a listener, or something to read."""
        more = self.writable or self.hidden or self.stdin or self.listen
        return bool(more or self.terminals)


def check_places(box: Box) -> None:
    """Raise UsageError for paths of a box that cover each other, or are none."""
    _check_absolute(box)
    system = (Path("/proc"), Path("/dev"))
    for place in box.readable:
        _check_apart("readable", place, (box.folder, *box.writable, *system))
        if SCRATCH.is_relative_to(place):
            raise UsageError(_COVERS.format("readable", place))
    own = (*system, SCRATCH, Path("/etc"))
    for place in box.bound:
        _check_apart("bound", place, (box.folder, *box.writable, *own))
    for place, most in box.writable.items():
        _check_apart("writable", place, (*(set(box.writable) - {place}), *own))
        if most < 4096:
            raise UsageError(f"Box.writable: {most} bytes for {place}, expected 4096 or more")
    if box.folder not in box.writable:
        _check_apart("folder", box.folder, (*box.writable, *own))
    for place in box.seeds:
        _check_seed(box, place)


def _check_absolute(box: Box) -> None:
    """Raise UsageError for what is no absolute path."""
    named = {
        "": (*box.readable, *box.devices),
        ".folder": (box.folder, box.home),
        ".writable": box.writable,
        ".seeds": box.seeds,
        ".bound": (*box.bound, *box.bound.values()),
        ".hidden": box.hidden,
    }
    for name, places in named.items():
        for place in places:
            if not place.is_absolute() or ".." in place.parts:
                raise UsageError(f"Box{name}: {place} is not an absolute path without '..'")


_COVERS = "Box.{}: {} would cover, or lie in, what every box has itself"


def _check_apart(name: str, place: Path, own: tuple[Path, ...]) -> None:
    """Raise UsageError for a path that would cover, or lie in, what a box has of its own."""
    if any(one.is_relative_to(place) or place.is_relative_to(one) for one in own):
        raise UsageError(_COVERS.format(name, place))


def _check_seed(box: Box, place: Path) -> None:
    """Raise UsageError unless a seed lies in a writable folder, apart from what is given."""
    above = next((one for one in box.writable if place.is_relative_to(one)), None)
    if above is None or above == place:
        raise UsageError(f"Box.seeds: {place} lies in none of the writable folders")
    if any(one in box.seeds for one in place.parents):
        raise UsageError(f"Box.seeds: {place} lies below a file")
    if above == box.folder:
        first = place.relative_to(above).parts[0]
        if any(PurePosixPath(name).parts[0] == first for name in box.files):
            raise UsageError(f"Box.seeds: {place} would lie among the files, which nobody writes")


def _check_name(name: str, names: Container[str]) -> None:
    """Raise UsageError unless a name of a file stays in its folder, as it is written."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or str(path) != name or name == "." or "\0" in name:
        raise UsageError(f"Box.files: {name!r} is not a plain path within the box's folder")
    if any(str(above) in names for above in path.parents):
        raise UsageError(f"Box.files: {name!r} lies below a file")


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How the command of a box ended.

    Exactly one of `exit_code` and `signal` is given, unless the box was `killed` from outside
    before the command ended by itself. `over_log` counts the bytes of output that were dropped,
    `over_stdout` those of an output that has a file of its own.
    """

    exit_code: int | None = None
    signal: int | None = None
    killed: bool = False
    over_memory: bool = False
    over_log: int = 0
    over_stdout: int = 0

    @property
    def sentence(self) -> str:
        """What happened, for a person."""
        said = self._end()
        if dropped := self.over_log + self.over_stdout:
            said += f"; {dropped} bytes of output over the limit were dropped"
        return said

    def _end(self) -> str:
        if self.over_memory:
            return "it was killed because it used more memory than it may"
        if self.exit_code is not None:
            return f"it exited with code {self.exit_code}"
        if self.signal is not None:
            return f"it was ended by signal {_signal_name(self.signal)}"
        return "it was killed while it ran"


def _signal_name(number: int) -> str:
    known = {one.value: one.name for one in signal.Signals}
    return known.get(number, str(number))


class Sandboxed(Protocol):
    """A command in a sandbox, and everything that it started.

    As a context manager it is killed and closed at the end.
    """

    @property
    def pid(self) -> int:
        """The command's process id, as the host counts."""
        ...

    @property
    def init(self) -> int:
        """The process that all in the box descend from, orphans too, as the host counts."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """How it is held: which mechanism enforces which limit, in words for a result."""
        ...

    @property
    def listener(self) -> socket.socket | None:
        """Accepts what the box connects to at `Box.listen`; the caller closes it."""
        ...

    @property
    def places(self) -> Mapping[Path, Place]:
        """Each writable folder, and SCRATCH, by where it is inside: until `close`.

        They can be read while it runs, while it is frozen and after it was killed. A box without
        writable folders has none.
        """
        ...

    def running(self) -> bool:
        """Whether the command still runs."""
        ...

    def ended(self) -> Ending | None:
        """How it ended; None while it runs."""
        ...

    def wait(self, seconds: float) -> Ending | None:
        """How it ended, as soon as it did; None if it still runs after that time."""
        ...

    def memory_bytes(self) -> int:
        """The resident memory of all its processes together, in bytes; 0 when it ended."""
        ...

    def freeze(self, seconds: float) -> bool:
        """Stop all its processes; whether none of them runs any more within that time."""
        ...

    def stood_still(self) -> bool:
        """Whether none of its processes ran since it was frozen."""
        ...

    def stands(self) -> list[Stand]:
        """Where its threads are that were at work when it was frozen.

        Raises PermissionError where the kernel does not tell.
        """
        ...

    def thaw(self) -> None:
        """Let all that were frozen go on."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to the command alone; nothing happens if it ended."""
        ...

    def kill(self) -> None:
        """End all its processes; when this returns, nothing of it is left but its places.

        Raises MachineError if the kernel does not end them, OSError if what the box printed could
        not be kept, as on a full disk.
        """
        ...

    def close(self) -> None:
        """Let go of its places: what lay there is gone then. To be called after `kill`."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Sandbox(Protocol):
    """A way to hold a process."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """What it is called in results: bubblewrap, namespaces or none."""
        ...

    @property
    def gives_terminals(self) -> bool:
        """Whether boxes that ask for terminals get some, with the rights of this process."""
        ...

    def available(self) -> str | None:
        """None if it can be used on this machine, else the reason, in a sentence."""
        ...

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        """Start a command in a box of its own.

        Raises MachineError if the sandbox cannot be entered, UsageError if the box names a place
        that does not exist.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One thing that a sandbox claims, whether it held, how that was tried and what was seen."""

    name: str
    held: bool
    how: str
    seen: str


@dataclass(frozen=True, kw_only=True)
class Proven:
    """What a sandbox was seen to keep on this machine, and the level that follows from that."""

    sandbox: str
    level: str
    claims: tuple[Claim, ...]
    facts: Mapping[str, str]

    def as_dict(self) -> dict[str, object]:
        """The same as plain values, as it is written into results."""
        return {
            "sandbox": self.sandbox,
            "level": self.level,
            "claims": [
                {"name": one.name, "held": one.held, "how": one.how, "seen": one.seen}
                for one in self.claims
            ],
            "facts": dict(self.facts),
        }
