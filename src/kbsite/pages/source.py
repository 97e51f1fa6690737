"""solution.py and the files that it needs, highlighted: the run's page shows the ends of long ones.

What does not fit on the run's page stands on a page of its own, with a place for every line; a
file too long even for that is shown by its ends, and is one click away as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath
from sys import maxsize

from markupsafe import Markup
from msgspec import Struct, structs

from kbsite.model.proof import Proof
from kbsite.model.solution import COLOURED, LONGEST, is_text
from kbsite.pages.coloured import Coloured, Colours, Made, coloured
from kbsite.pages.page import File, Renderer, run_path
from kbsite.pages.quotes import backs_by_file, lines_by_file, proven
from kbsite.store.files import Stored
from kbsite.store.run_folders import SIDECARS, SOLUTION
from kbsite.store.runs import StoredRun
from kbsite.text import CodeLine, code_lines

PAGE = "solution.html"
HERE = 60
"""Lines of all files together that the run's page shows."""

WHOLE = 10_000
"""Lines of a file that its own page shows; a longer one is shown by its ends."""

ALL = 30_000
"""Lines of all files together that their page shows."""

FILES = 50
"""Files that are shown; more are counted."""

WIDEST = 2_000
"""Characters of a line from which its file is not highlighted: no person wrote it."""

BROAD = 8_000
"""Characters of a line, with its marks, that the run's page shows: a line may hold a program."""

AROUND = 3
"""Lines shown before and after one that the audit quotes."""

QUOTED = 100
"""Quoted lines, with those around them, that the run's page shows."""

_LANGUAGES = {
    ".py": "python", ".cu": "cuda", ".cuh": "cuda", ".c": "c", ".h": "cpp", ".cc": "cpp",
    ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".sh": "bash", ".json": "json",
}  # fmt: skip


class Gap(Struct, frozen=True):
    """Lines that are left out."""

    first: int
    last: int


class Source(Struct, frozen=True):
    """A file of the solution."""

    name: str
    prefix: str
    """What the places of its lines start with: "solution" for those of solution.py."""
    size: int
    lines: tuple[CodeLine, ...]
    missing: str
    """Why it is not shown; empty where it is."""
    quoted: frozenset[int]
    """The lines that proven quotes of the audit cite."""
    backs: Mapping[int, Markup] = {}
    """Links to these quotes, by the last line of each."""
    made_of: bytes = b""
    """A digest of what it holds, if that is shown."""

    def rows(self, room: int, broad: int) -> Iterator[CodeLine | Gap]:
        """Its lines, or the ends and the quoted ones where there are more than `room`.

        Lines of more than `broad` characters are left out, unless they are quoted.
        """
        count = len(self.lines)
        kept = self._kept(room) if count > room else set(range(1, count + 1))
        last = 0
        for number in sorted(n for n in kept if 0 < n <= count):
            if len(self.lines[number - 1].html) > broad and number not in self.quoted:
                continue
            if number > last + 1:
                yield Gap(last + 1, number - 1)
            yield self.lines[number - 1]
            last = number
        if last < count:
            yield Gap(last + 1, count)

    def _kept(self, room: int) -> set[int]:
        """The numbers of the lines at its ends and of the quoted ones; some may be beyond them."""
        count, tail = len(self.lines), room // 4
        near = sorted(self.quoted)[: QUOTED // (2 * AROUND + 1)]
        kept = {n for at in near for n in range(at - AROUND, at + AROUND + 1)}
        return kept | {*range(1, room - tail + 1), *range(count - tail + 1, count + 1)}


class Shown(Struct, frozen=True):
    """A file as one page shows it."""

    file: Source
    rows: tuple[CodeLine | Gap, ...]


class Sources(Struct, frozen=True):
    """The files of a solution."""

    here: tuple[Shown, ...]
    """As the run's page shows them."""
    whole: tuple[Shown, ...]
    """As their own page does."""
    more: int
    """Files that are not shown at all."""

    @property
    def page(self) -> str | None:
        """The page of its own; None where the run's page shows all of it."""
        here, whole = ([shown.rows for shown in row] for row in (self.here, self.whole))
        return None if here == whole else PAGE


def sources(
    stored: StoredRun, held: tuple[Proof, ...] = (), colours: Colours | None = None
) -> Sources:
    """solution.py and its sidecars, in order of name, with the lines that proven quotes cite.

    Lines of which the `colours` stand in the site are not coloured again.
    """
    known = colours or Colours()
    names, files = named_files(stored)
    quoted = lines_by_file(held)
    read = [_read(f, names[f.name], quoted.get(f.name, frozenset()), known) for f in files[:FILES]]
    backs = backs_by_file(held)
    read = [structs.replace(one, backs=backs.get(one.name, {})) for one in read]
    return Sources(
        tuple(_shown(read, HERE, HERE, BROAD)),
        tuple(_shown(read, ALL, WHOLE, maxsize)),
        len(files) - len(read),
    )


def source_files(stored: StoredRun, found: Sources, renderer: Renderer) -> Iterator[File]:
    """The page of the files, where the run's page does not show all of them."""
    if found.page is None:
        return
    path = _own_page(stored)
    values = {"title": f"solution of {stored.run.id}", "run": stored.run, "sources": found}
    html = renderer.page("pages/solution.html", path, values)
    yield File(path, html, made=made_with(html, found))


def made_with(html: str, found: Sources) -> Made | None:
    """What is known of a page that was made: where it has all lines of files."""
    lie: dict[str, Coloured] = {}
    for shown in found.whole:
        file = shown.file
        place = coloured(html, file.prefix, file.lines, file.made_of) if file.lines else None
        if place:
            lie[file.name] = place
    return Made(coloured=lie) if lie else None


def colours(stored: StoredRun, renderer: Renderer) -> Colours:
    """The lines of a run's files as they stand in the site."""
    page = run_path(stored.run.id)
    paths = (page, _own_page(stored))
    return Colours([(path, renderer.made(path, page)) for path in paths], cache(renderer.stood))


def _own_page(stored: StoredRun) -> str:
    return f"runs/{stored.run.id}/{PAGE}"


def source_places(found: Sources, held: tuple[Proof, ...]) -> dict[int, str]:
    """The address of the lines that each proven quote cites, by the quote's number, from 0."""
    places = {}
    for number, quote in proven(held):
        place = line_place(found, quote.file, quote.lines)
        if place:
            places[number] = place
    return places


def line_place(found: Sources, name: str, lines: Sequence[int]) -> str:
    """The address of the first of some lines of a file; empty where no page shows it."""
    shown = next((shown for shown in found.here if shown.file.name == name), None)
    if shown is None or not lines or lines[0] > len(shown.file.lines):
        return ""
    here = any(isinstance(row, CodeLine) and row.number == lines[0] for row in shown.rows)
    return f"{'' if here else PAGE}#{shown.file.prefix}-L{lines[0]}"


def named_files(stored: StoredRun) -> tuple[dict[str, str], list[Stored]]:
    """The files of a solution: what the places of their lines start with, by name; and in order.

    solution.py is the first of them.
    """
    own = {SOLUTION: "solution"} if stored.file(SOLUTION) else {}
    sidecars = [file.name for file in stored.files if file.name.startswith(SIDECARS)]
    names = own | {name: f"file-{number}" for number, name in enumerate(sidecars, start=1)}
    files = [file for file in stored.files if file.name in names]
    return names, sorted(files, key=lambda file: (file.name != SOLUTION, file.name))


def _read(file: Stored, prefix: str, quoted: frozenset[int], known: Colours) -> Source:
    if file.size > LONGEST:
        return Source(file.name, prefix, file.size, (), "too long to be shown", quoted)
    data = file.read()
    if not is_text(data):
        return Source(file.name, prefix, file.size, (), "not a text", quoted)
    made_of = sha256(data).digest()
    stand = known.lines(file.name, made_of)
    lines = stand if stand is not None else _coloured(file.name, data)
    return Source(file.name, prefix, file.size, lines, "", quoted, made_of=made_of)


def _coloured(name: str, data: bytes) -> tuple[CodeLine, ...]:
    text = data.decode("utf-8", "surrogateescape")
    plain = len(text) > COLOURED or max(map(len, text.split("\n"))) > WIDEST
    suffix = PurePosixPath(name).suffix.lower()
    return tuple(code_lines(text, "text" if plain else _LANGUAGES.get(suffix, "text")))


def _shown(read: Sequence[Source], room: int, most: int, broad: int) -> Iterator[Shown]:
    """Each file with what is left of the room for all of them: with four lines of it at least."""
    for source in read:
        rows = tuple(source.rows(min(most, max(4, room)), broad))
        room -= sum(isinstance(row, CodeLine) for row in rows)
        yield Shown(source, rows)
