"""What a session leaves, copied out of its folders: everything in there may be made to mislead.

A `Place` follows no link and opens nothing but files; here is bounded how many and how large.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path, PurePosixPath

from bench.harnesses.form import Kept
from bench.proxy.clock import time_of_day
from bench.sandbox.place import MOST_NAMES, Found, Place
from kbsite.harnesses.form import matches
from kbsite.store.run_folders import SOLUTION
from kbsite.store.snapshots import LONGEST, MOST
from kbsite.store.writing import write_bytes

MIB = 1 << 20
SNAPSHOTS_BYTES = 64 * MIB
"""All copies of solution.py together."""

MOST_NOTES = 20
_GROWING = (".jsonl", ".log", ".txt")
"""Files that CLIs only append to; all others are copied whole when they change."""
_UNWANTED = ("__pycache__", "node_modules")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much of what a session left is copied."""

    files: int
    file_bytes: int
    bytes: int


TRANSCRIPT = Bounds(files=3000, file_bytes=256 * MIB, bytes=512 * MIB)
SIDECARS = Bounds(files=300, file_bytes=16 * MIB, bytes=48 * MIB)


@dataclass
class Notes:
    """Sentences about what was odd, each once and not too many of them."""

    _said: dict[str, None] = field(default_factory=dict)
    _many: int = 0

    def add(self, sentence: str, *, few: bool = False) -> None:
        """Take note of something.

        `few` says that there cannot be many of its kind: it is told however much else was odd.
        Else who leaves many odd files would hide that he changed what was given, say.
        """
        if sentence in self._said:
            return
        if not few and self._many >= MOST_NOTES:
            sentence = "There was more of that kind, which is not listed."
        self._said[sentence] = None
        self._many += not few

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was noted, in order."""
        return tuple(self._said)


@dataclass
class _Copied:
    bytes: int = 0
    changed_ns: int = -1


class Transcript:
    """The logs of a CLI, copied while they grow, and once more whole when it is over."""

    def __init__(self, kept: Sequence[Kept], folder: Path, notes: Notes) -> None:
        self._kept = kept
        self._folder = folder
        self._notes = notes
        self._copied: dict[PurePosixPath, _Copied] = {}

    @property
    def bytes(self) -> int:
        """How much was copied so far."""
        return sum(one.bytes for one in self._copied.values())

    def grow(self, home: Place) -> None:
        """Copy what came since the last time."""
        for found, target in self._found(home):
            held = self._copied.setdefault(found.path, _Copied())
            if held.changed_ns == found.changed_ns:
                continue
            appended = found.path.suffix in _GROWING and found.bytes >= held.bytes
            self._copy(home, found, target, held.bytes if appended else 0)

    def finish(self, home: Place) -> None:
        """Copy all once more, from the beginning: a log may have been written anew."""
        before = set(self._copied)
        self._copied = {path: _Copied() for path in before}
        seen = set()
        for found, target in self._found(home):
            seen.add(found.path)
            self._copy(home, found, target, 0)
        for path in sorted(before - seen):
            self._notes.add(f"{path} was removed by the session; its copy is kept.")
        for folder in dict.fromkeys(before_stars(kept.glob) for kept in self._kept):
            if home.crowded(below=folder):
                said = f"Below {folder} of the home lie more than {MOST_NAMES} names"
                self._notes.add(f"{said}: logs among them may be missing.", few=True)

    def _found(self, home: Place) -> Iterator[tuple[Found, Path]]:
        """Files that belong to the transcript, and where their copies go."""
        seen: set[PurePosixPath] = set()
        for kept in self._kept:
            # Only where it can be: whoever fills other folders with names hides no log.
            for found in home.walk(below=before_stars(kept.glob)):
                name = str(found.path)
                if found.path in seen or not matches(name, kept.glob):
                    continue
                seen.add(found.path)
                yield found, self._folder / kept.to / name.removeprefix(kept.below).lstrip("/")

    def _copy(self, home: Place, found: Found, target: Path, start: int) -> None:
        self._copied.setdefault(found.path, _Copied())
        room = min(TRANSCRIPT.file_bytes - start, TRANSCRIPT.bytes - self.bytes)
        if room <= 0 or len(self._copied) > TRANSCRIPT.files:
            self._notes.add(f"{found.path} was not copied whole: the transcript is too large.")
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            before = None if start else _put_aside(target)
            count = home.copy(found.path, target, room, start)
            if before is not None:
                self._hold_against(before, target, found.path)
        except OSError as error:
            self._notes.add(f"{found.path} was not copied: {error.strerror}.")
            return
        self._copied[found.path] = _Copied(start + count, found.changed_ns)
        if start + count < found.bytes and count == room:
            self._notes.add(f"{found.path} was not copied whole: it is too large.")

    def _hold_against(self, before: Path, target: Path, path: PurePosixPath) -> None:
        """Keep an earlier copy of a log that does not begin as that: somebody wrote it over."""
        if not target.exists():
            before.rename(target)
        elif _begins_with(target, before):
            before.unlink()
        else:
            said = f"{path} was written anew by the session"
            self._notes.add(f"{said}; what it held before lies beside it, as {before.name}.")


def _put_aside(target: Path) -> Path | None:
    """Where the copy of a log that is only appended to was moved to; the first one stays there."""
    before = target.with_name(f"{target.name}.before")
    if target.suffix not in _GROWING or not target.is_file() or before.exists():
        return None
    return target.rename(before)


def _begins_with(path: Path, start: Path) -> bool:
    with path.open("rb") as whole, start.open("rb") as first:
        while piece := first.read(MIB):
            if whole.read(len(piece)) != piece:
                return False
    return True


def before_stars(glob: str) -> PurePosixPath:
    """The folder that all files of a glob lie in."""
    parts = PurePosixPath(glob).parts[:-1]
    return PurePosixPath(*takewhile(lambda part: "*" not in part, parts))


class Snapshots:
    """solution.py after each change, in snapshots/ of a run, named by the time."""

    def __init__(self, folder: Path, notes: Notes) -> None:
        self._folder = folder
        self._notes = notes
        self._bytes = 0
        self._last: bytes | None = None
        self.count = 0

    def look(self, workspace: Place) -> None:
        """Take a copy, if it is another one than the last."""
        held = workspace.read(PurePosixPath(SOLUTION), LONGEST + 1)
        if held is None or held == self._last:
            return
        self._last = held
        if len(held) > LONGEST:
            self._notes.add(f"{SOLUTION} was longer than {LONGEST} bytes for a time.")
        elif self.count >= MOST or self._bytes + len(held) > SNAPSHOTS_BYTES:
            self._notes.add(f"Not every change of {SOLUTION} was copied: there were too many.")
        else:
            name = f"{time_of_day():%Y%m%dT%H%M%S.%fZ}.py"
            write_bytes(self._folder / name, held)
            self.count += 1
            self._bytes += len(held)


def solution(workspace: Place) -> bytes | None:
    """solution.py as it stands; None where there is none, or one that is too large."""
    held = workspace.read(PurePosixPath(SOLUTION), SIDECARS.file_bytes + 1)
    return None if held is None or len(held) > SIDECARS.file_bytes else held


def no_solution(workspace: Place) -> str:
    """Why what lies there as solution.py is none, as a sentence; empty where nothing does.

    Links and the like are told by who looks for what is odd.
    """
    path = PurePosixPath(SOLUTION)
    if workspace.read(path, 1) is not None:
        most = SIDECARS.file_bytes // MIB
        return f"{SOLUTION} was left in the workspace: it has more than {most} MiB."
    if any(workspace.walk(below=path)):
        return f"{SOLUTION} is a folder; a solution is a file."
    return ""


class Sidecars:
    """What lies beside solution.py, but what was given, what is hidden, and caches."""

    def __init__(self, folder: Path, given: Collection[str], notes: Notes) -> None:
        self._folder = folder
        self._given = given
        self._notes = notes
        self._taken: dict[PurePosixPath, Found] = {}

    def take(self, workspace: Place) -> None:
        """Copy it as it stands."""
        room, count = SIDECARS.bytes, 0
        if workspace.crowded(into=_is_wanted):
            said = f"In the workspace lie more than {MOST_NAMES} names"
            self._notes.add(f"{said}: files that {SOLUTION} needs may be missing.", few=True)
        self._taken = self._there(workspace)
        for path, found in sorted(self._taken.items(), key=lambda one: str(one[0])):
            if found.bytes > min(room, SIDECARS.file_bytes) or count >= SIDECARS.files:
                said = f"{path} ({found.bytes} bytes) was left in the workspace: too much."
                self._notes.add(said)
                continue
            place = self._folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            room -= workspace.copy(path, place, found.bytes)
            count += 1

    def tell_of_changes(self, workspace: Place) -> None:
        """Note what is not as it was when it was copied, which counts."""
        now = self._there(workspace)
        for path in sorted({*self._taken, *now}):
            if self._taken.get(path) != now.get(path):
                self._notes.add(
                    f"{path} was changed while the session was ended; what it was before counts."
                )

    def _there(self, workspace: Place) -> dict[PurePosixPath, Found]:
        found = workspace.walk(into=_is_wanted)
        return {one.path: one for one in found if self._is_sidecar(one.path)}

    def _is_sidecar(self, path: PurePosixPath) -> bool:
        return _is_wanted(path) and str(path) not in self._given and str(path) != SOLUTION


def _is_wanted(path: PurePosixPath) -> bool:
    return not any(part.startswith(".") or part in _UNWANTED for part in path.parts)
