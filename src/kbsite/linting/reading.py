"""The pages of a built site, read where nothing that one of them holds costs more than it may.

A parser that does as browsers are told to may take the square of a page's size: it goes through
all open elements for each that begins, and begins anew in each paragraph whatever of `<b>` was left
open. 100,000 `<div>` that nobody closes take a minute, and 30 KB of the other 2 GB of memory. So
pages are read by copies of this process that end where one takes more than a page of kbsite does.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selectolax.lexbor import SelectolaxError

from kbsite import beside
from kbsite.engines import Lost
from kbsite.engines.copies import LEAST, Copies
from kbsite.linting.page_facts import PageFacts, page_facts
from kbsite.model.work import Tick
from kbsite.store.files import Stored

PAGES = (".html", ".htm", ".shtml", ".xhtml", ".xht")
"""How names end of what browsers show as pages; kbsite writes the first kind."""

MOST_BYTES = 32_000_000
"""Bytes of a page that is read; kbsite cuts long ones into parts of a hundredth of that."""

MOST_SECONDS = 5.0
"""Of processor time that a page may take: those of kbsite take a tenth of one."""

MOST_MEMORY = 1_000_000_000
"""Bytes of memory that pages may take while they are read, where the system can see to that."""

_AT_ONCE = 100_000
"""Bytes of pages that one copy takes before it tells what they say; so few take no long time."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A page that says nothing, and why."""

    reason: str


Read = PageFacts | Unread


def read_pages(files: Mapping[str, Stored], tick: Tick | None) -> dict[str, Read]:
    """What each page says of itself, on as many cores as there are."""
    names = [name for name in files if name.lower().endswith(PAGES)]
    found: dict[str, Read] = {}

    def told(name: str, read: Read) -> None:
        found[name] = read
        if tick:
            tick(name, len(found), len(names))

    reading = _Reading(files, os.getpid())
    # Who is killed tells of none of the pages that it took: each of these is read alone then.
    lost = _read(reading, [*_batches(files, names)], told)
    alone = [batch for batch in lost if len(batch) == 1]
    alone += _read(reading, [[name] for batch in lost if len(batch) > 1 for name in batch], told)
    for (name,) in alone:
        told(name, Unread(f"takes more than {MOST_SECONDS} s to read, {_NO_PAGE}"))
    return {name: found[name] for name in names}


_NO_PAGE = "which no page of kbsite does: expected elements within each other, and each closed"


def _batches(files: Mapping[str, Stored], names: Sequence[str]) -> Iterator[list[str]]:
    """Pages to be read one after the other; long ones are alone."""
    held: list[str] = []
    size = 0
    for name in names:
        if held and size + files[name].size > _AT_ONCE:
            yield held
            held, size = [], 0
        held.append(name)
        size += files[name].size
    if held:
        yield held


def _read(
    reading: _Reading, batches: Sequence[list[str]], told: Callable[[str, Read], None]
) -> list[list[str]]:
    """Have batches of pages read, and tell of each; the batches that are lost."""
    lost: list[list[str]] = []

    def given(number: int, held: list[Read] | Lost) -> None:
        if isinstance(held, Lost):
            lost.append(batches[number])
            return
        for name, read in zip(batches[number], held, strict=True):
            told(name, read)

    # However few they are, nobody knows what they hold.
    Copies(beside.cores()).each(reading, batches, [LEAST] * len(batches), given)
    return lost


@dataclass(frozen=True, slots=True)
class _Reading:
    """What reads pages: within bounds where that is not done by the process that asks."""

    files: Mapping[str, Stored]
    asking: int

    def __call__(self, names: Sequence[str]) -> list[Read]:
        bounded = os.getpid() != self.asking
        if bounded:
            beside.bound(MOST_MEMORY)
        return [self._one(self.files[name], bounded=bounded) for name in names]

    def _one(self, file: Stored, *, bounded: bool) -> Read:
        if file.size > MOST_BYTES:
            return Unread(f"larger than {MOST_BYTES} bytes, which no page of kbsite is")
        try:
            data = file.read()
            data.decode("utf-8")
        except OSError as error:
            return Unread(f"cannot be read: {error.strerror}")
        except UnicodeDecodeError as error:
            return Unread(f"no UTF-8 at byte {error.start}; expected a page that kbsite wrote")
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS if bounded else 0.0)
        try:
            return page_facts(data)
        except (MemoryError, SelectolaxError):
            return Unread(f"takes more than {MOST_MEMORY} bytes of memory to read, {_NO_PAGE}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
