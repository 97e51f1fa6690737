"""What a sandboxed process gets, how it is held and how it ended: types of all sandboxes."""

from __future__ import annotations

import signal
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType, TracebackType
from typing import Protocol, Self

from bench.sandbox.places import python_places
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
    scratch_bytes: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        least = {"processes": 1, "log_bytes": 0, "scratch_bytes": 4096, "memory_bytes": 1}
        for name, low in least.items():
            given = getattr(self, name)
            if given is not None and given < low:
                raise UsageError(f"Limits.{name}: {given}, expected {low} or more")


@dataclass(frozen=True, kw_only=True)
class Box:
    """All that a sandboxed process gets; what is not named here it does not have.

    `files` lie in FOLDER, its working folder, and cannot be written; `readable` are paths of the
    host, seen at the same place; SCRATCH (and /dev/shm within it) is all that it can write to.
    """

    log: Path
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    readable: tuple[Path, ...] = field(default_factory=python_places)
    devices: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pass_fds: tuple[int, ...] = ()
    limits: Limits = field(default_factory=Limits)
    share_ipc: bool = False

    def __post_init__(self) -> None:
        for name in self.files:
            _check_name(name, self.files)
        for place in (*self.readable, *self.devices):
            if not place.is_absolute() or ".." in place.parts:
                raise UsageError(f"Box: {place} is not an absolute path without '..'")
        for place in self.readable:
            _check_readable(place)
        for number in self.pass_fds:
            if number < 3:
                raise UsageError(f"Box.pass_fds: {number}, expected 3 or more: 0, 1, 2 are taken")

    @property
    def folder(self) -> Path:
        """Where `files` lie inside, and where the process starts."""
        return FOLDER


def _check_readable(place: Path) -> None:
    """Raise UsageError for a path of the host that would cover what a box has of its own."""
    own = (FOLDER, SCRATCH, Path("/proc"), Path("/dev"))
    covers = any(one.is_relative_to(place) for one in own)
    if covers or any(place.is_relative_to(one) for one in own if one != SCRATCH):
        raise UsageError(f"Box.readable: {place} would cover, or lie in, what every box has itself")


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
    before the command ended by itself. `over_log` counts the bytes of output that were dropped.
    """

    exit_code: int | None = None
    signal: int | None = None
    killed: bool = False
    over_memory: bool = False
    over_log: int = 0

    @property
    def sentence(self) -> str:
        """What happened, for a person."""
        said = self._end()
        if self.over_log:
            said += f"; {self.over_log} bytes of output over the limit were dropped"
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

    As a context manager it is killed at the end.
    """

    @property
    def pid(self) -> int:
        """The command's process id, as the host counts."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """How it is held: which mechanism enforces which limit, in words for a result."""
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

    def thaw(self) -> None:
        """Let all that were frozen go on."""
        ...

    def kill(self) -> None:
        """End all its processes; when this returns, nothing of it is left.

        Raises MachineError if the kernel does not end them.
        """
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
