"""Snapshots that an audit quotes, by the lines that it quotes and those around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from kbsite.model.proof import Proof
from kbsite.pages.file_names import raw_path
from kbsite.pages.quotes import backs_by_file, lines_by_file, proven
from kbsite.pages.source import AROUND, Gap
from kbsite.proofs import quotable
from kbsite.store.run_folders import SNAPSHOTS
from kbsite.store.runs import StoredRun
from kbsite.store.snapshots import LONGEST
from kbsite.text import CodeLine, code_lines

PAGE = "snapshots.html"

FILES = 20
"""Snapshots that are shown."""


class Copy(Struct, frozen=True):
    """A snapshot, or what changed since the one before, where an audit quotes it."""

    name: str
    prefix: str
    """What the places of its lines start with."""
    rows: tuple[CodeLine | Gap, ...]
    quoted: frozenset[int]
    backs: Mapping[int, Markup]
    """Links to the quotes, by the last line of each."""
    raw: str
    """Its path within the site; empty where it is no file of its own."""


def quoted_copies(stored: StoredRun, held: tuple[Proof, ...]) -> tuple[Copy, ...]:
    """The snapshots that proven quotes cite, in the order of their names."""
    found = lines_by_file(held)
    names = sorted(name for name in found if name.startswith(SNAPSHOTS))
    return tuple(_copies(stored, names[:FILES], found, backs_by_file(held)))


def copy_places(copies: Sequence[Copy], held: tuple[Proof, ...]) -> dict[int, str]:
    """The addresses of quotes from snapshots, seen from the run's page, by the quote's number."""
    prefixes = {copy.name: copy.prefix for copy in copies}
    return {
        number: f"{PAGE}#{prefixes[quote.file]}-L{quote.lines[0]}"
        for number, quote in proven(held)
        if quote.lines and quote.file in prefixes
    }


def _copies(
    stored: StoredRun,
    names: list[str],
    found: Mapping[str, frozenset[int]],
    backs: Mapping[str, Mapping[int, Markup]],
) -> Iterator[Copy]:
    for number, name in enumerate(names, start=1):
        data = quotable(stored, name)
        # A quote of what is too long to be shown leads to the file.
        if data is None or len(data) > LONGEST:
            continue
        lines = code_lines(data.decode("utf-8", "surrogateescape"), "text")
        raw = raw_path(stored.run.id, name) if stored.file(name) else ""
        rows = tuple(_near(lines, found[name]))
        yield Copy(name, f"copy-{number}", rows, found[name], backs[name], raw)


def _near(lines: list[CodeLine], quoted: frozenset[int]) -> Iterator[CodeLine | Gap]:
    """The quoted lines and those around them; all else as gaps."""
    near = {n for at in quoted for n in range(at - AROUND, at + AROUND + 1)}
    last = 0
    for number in sorted(n for n in near if 0 < n <= len(lines)):
        if number > last + 1:
            yield Gap(last + 1, number - 1)
        yield lines[number - 1]
        last = number
    if last < len(lines):
        yield Gap(last + 1, len(lines))
