"""Changes of files, noticed as they happen and told once for many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from threading import Thread

from watchdog.events import (
    EVENT_TYPE_CLOSED_NO_WRITE,
    EVENT_TYPE_OPENED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from kbsite.store.folders import PARTIAL

QUIET = 0.04
"""Seconds without a change after which a build starts: editors write in several steps."""
LONGEST = 0.5
"""Seconds after which it starts although there are more: a run that grows never rests."""


class Changes:
    """What has changed and was not asked for yet; any thread may add to it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._paths: set[str] = set()

    def add(self, path: str) -> None:
        """Take down that a file has changed."""
        self._loop.call_soon_threadsafe(self._add, path)

    def _add(self, path: str) -> None:
        self._paths.add(path)
        self._changed.set()

    async def wait(self, patience: float | None = None) -> frozenset[str]:
        """The files that have changed, when they are quiet or have been unquiet for long.

        None of them where nothing has changed for as many seconds as there is `patience`.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), patience)
        end = self._loop.time() + LONGEST
        count = 0
        while count < len(self._paths) and self._loop.time() < end:
            count = len(self._paths)
            await asyncio.sleep(QUIET)
        paths, self._paths = frozenset(self._paths), set()
        self._changed.clear()
        return paths


@contextmanager
def watched(places: Iterable[Path], told: Callable[[str], None]) -> Iterator[None]:
    """Tells of every change at or below some places until the end of the block."""
    every = sorted({path.absolute() for path in places})
    observer = _started(Observer(), every, told) or _started(PollingObserver(), every, told)
    try:
        yield
    finally:
        if observer:
            observer.stop()
            # It waits for its threads longer than anybody who ends a server wants to.
            Thread(target=observer.join, daemon=True).start()


def _started(
    observer: BaseObserver, places: list[Path], told: Callable[[str], None]
) -> BaseObserver | None:
    """An observer at work; None where the system gives it too little to see all of this."""
    try:
        for path in places:
            if path.is_dir():
                observer.schedule(_Handler(told), str(path), recursive=True)
            elif path.parent.is_dir():
                # A file that is replaced is another one: its folder tells of it.
                observer.schedule(_Handler(told, path), str(path.parent), recursive=False)
        observer.start()
    except OSError:
        return None
    return observer


class _Handler(FileSystemEventHandler):
    def __init__(self, told: Callable[[str], None], only: Path | None = None) -> None:
        self._told = told
        self._only = only

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Tell of a change; that a file was read is none."""
        if event.event_type in (EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE):
            return
        if event.is_directory and event.event_type == "modified":
            return  # what changed in it is told as well
        for path in (event.src_path, event.dest_path):
            text = path if isinstance(path, str) else bytes(path).decode("utf-8", "replace")
            if text and concerns(text) and self._only in (None, Path(text)):
                self._told(text)


def concerns(path: str) -> bool:
    """Whether a change of this file can change a site: not of one that is still being written."""
    parts = PurePath(path).parts
    ignored = any(part.endswith((PARTIAL, "~", ".swp")) or part == "__pycache__" for part in parts)
    return not ignored and not PurePath(path).name.endswith(".pyc")
