"""Changes of files, noticed as they happen and told once for many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from threading import Event, Thread

from watchfiles import Change, watch

from kbsite.store.folders import PARTIAL

QUIET = 0.01
"""Seconds without a change after which changes are told: editors write in several steps."""
LONGEST = 0.5
"""Seconds after which they are told although there are more: a run that grows never rests."""
_READY = 0.05
"""Seconds for which the first look waits for changes; it has begun to watch before."""
_POLL = 0.3
"""Seconds between two looks at all files, where the system does not tell of changes."""
_ENDED = 1.0
"""Seconds after which all is watched anew where the system tells no more: it may do so each time,
and a build follows."""


class Changes:
    """What has changed and was not asked for yet; any thread may add to it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._paths: set[str] = set()

    def add(self, paths: Iterable[str]) -> None:
        """Take down that some files have changed."""
        self._loop.call_soon_threadsafe(self._add, frozenset(paths))

    def _add(self, paths: frozenset[str]) -> None:
        self._paths |= paths
        self._changed.set()

    async def wait(self, patience: float | None = None) -> frozenset[str]:
        """The files that have changed, once there are some.

        None of them where nothing has changed for as many seconds as there is `patience`.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), patience)
        paths, self._paths = frozenset(self._paths), set()
        self._changed.clear()
        return paths


@contextmanager
def watched(places: Iterable[Path], told: Callable[[set[str]], None]) -> Iterator[None]:
    """Tells of every change at or below some places until the end of the block.

    Changes are told together when they are quiet or have been unquiet for long. A folder that
    comes is told for all that is in it.
    """
    every = {path.absolute() for path in places}
    end = Event()
    seen = _folders(every)
    try:
        streams = _streams(every, *seen, end, polling=False)
    except FileNotFoundError:
        streams = []  # it went this moment, as is told below
    except (OSError, RuntimeError):
        # The system gives too little to see all of this, or tells of names that are no UTF-8.
        streams = _polled(every, *seen, end)
    threads = [Thread(target=_tell, args=(stream, every, end, told)) for stream in streams]
    for thread in threads:
        thread.start()
    if not streams or _folders(every) != seen:
        # What came or went before it was watched is told by nobody else.
        told(set(map(str, every)))
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


def _folders(places: set[Path]) -> tuple[set[Path], set[Path]]:
    """Those of the places that are folders, and the folders that all of them lie in.

    A file that is replaced is another one, and so is a folder that is deleted and comes back: what
    they lie in tells of it.
    """
    return {path for path in places if path.is_dir()}, {_there(path.parent) for path in places}


def _polled(
    places: set[Path], folders: set[Path], beside: set[Path], end: Event
) -> list[Iterator[set[str]]]:
    """The same as `_streams`, by looking at all files; none where one of these names changed."""
    try:
        return _streams(places, folders, beside, end, polling=True)
    except RuntimeError:
        return []


def _streams(
    places: set[Path], folders: set[Path], beside: set[Path], end: Event, *, polling: bool
) -> list[Iterator[set[str]]]:
    """The changes of folders with all below, and of files; it is watched when this returns."""
    named = {str(path) for path in _with_parents(places)}

    def stream(
        watched: set[Path], concerned: Callable[[str], bool], *, deep: bool
    ) -> Iterator[set[str]]:
        changes = watch(
            *watched, watch_filter=lambda _, path: concerned(path), stop_event=end,
            debounce=_milliseconds(LONGEST), step=_milliseconds(QUIET),
            rust_timeout=_milliseconds(_READY), yield_on_timeout=True,
            force_polling=polling, poll_delay_ms=_milliseconds(_POLL), recursive=deep,
            ignore_permission_denied=True,
        )  # fmt: skip
        return _begun(changes)

    streams = []
    if folders:
        streams.append(stream(folders, concerns, deep=True))
    streams.append(stream(beside, named.__contains__, deep=False))
    return streams


def _there(folder: Path) -> Path:
    """A folder, or the next above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _with_parents(places: Iterable[Path]) -> set[Path]:
    """Places, and all that they lie in."""
    return {path for place in places for path in (place, *place.parents)}


def lost(places: Iterable[Path], changed: Collection[str]) -> bool:
    """Whether some of what changed are places themselves, or what they lie in, and no files.

    A folder that goes, or comes back, is no longer the one that was watched.
    """
    every = _with_parents(path.absolute() for path in places)
    return any(path in every and not path.is_file() for path in map(Path, changed))


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


def _begun(changes: Iterator[set[tuple[Change, str]]]) -> Iterator[set[str]]:
    """The same, when the first look has been taken: nothing is watched before."""
    first = next(changes)

    def paths() -> Iterator[set[str]]:
        yield {path for _, path in first}
        for found in changes:
            yield {path for _, path in found}

    return paths()


def _tell(
    stream: Iterator[set[str]], places: set[Path], end: Event, told: Callable[[set[str]], None]
) -> None:
    """Tell of all changes; of all places where no more is heard of, so that they are `lost`."""
    try:
        for paths in stream:
            if paths:
                told(paths)
    except (RuntimeError, OSError):  # the former is what watchfiles says of any other error
        end.wait(_ENDED)
        told(set(map(str, _with_parents(places))))


def concerns(path: str) -> bool:
    """Whether a change of this file can change a site: not of one that is still being written."""
    parts = PurePath(path).parts
    ignored = any(part.endswith((PARTIAL, "~", ".swp")) or part == "__pycache__" for part in parts)
    return not ignored and not PurePath(path).name.endswith(".pyc")
