"""What lists and tables say of runs, row by row: of a run that did not change it is not made anew.

A site of two thousand runs has a dozen files with a row for each. Where one run changed, one row
of each is made. A process that stays knows the others; rows that are text lie beside the site too,
a file a kind, for the next build. Each is kept with a digest of all that it was made of, so a file
of an earlier build, or of one that was killed, holds no wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from kbsite.store.told import read_sealed, write_sealed

Row = TypeVar("Row")


class _Told(Struct, frozen=True):
    """The rows of a kind, as they lie beside the site."""

    frame: str
    """Digest of what rows have in common."""
    rows: dict[str, tuple[str, str]]
    """What each was made of, and the row, by what it is about."""


class KeptRows(Struct):
    """Rows as they were made, each with what it was made of."""

    _frame: str = ""
    _held: dict[str, dict[str, tuple[str, Any]]] = field(default_factory=dict)
    """By kind, and by what they are about."""
    _asked: dict[str, dict[str, tuple[str, Any]]] = field(default_factory=dict)
    """Those that were asked for since the build began."""
    _templates: str = ""
    _folder: Path | None = None
    """Where rows lie that are text; None where none are read or written."""
    _fresh: bool = False
    _told: dict[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict)
    """Those that were read there."""
    _new: set[str] = field(default_factory=set)
    """Kinds of text of which a row was made."""

    def begin(
        self, frame: str, templates: str = "", folder: Path | None = None, *, fresh: bool = False
    ) -> None:
        """Keep what the last build asked for, if all that rows have in common is what it was.

        `templates` is a digest of all of them. What lies in a folder is kept too, unless all is to
        be made `fresh`.
        """
        self._templates = templates
        # A page that was not made asked for none of its rows: they may be wanted again.
        self._held = self._held | self._asked if frame == self._frame else {}
        self._frame, self._asked = frame, {}
        # What this process made last is newer.
        self._folder, self._fresh = None if self._held else folder, fresh
        self._told, self._new = {}, set()

    def row(self, kind: str, about: str, made_of: str, make: Callable[[], Row]) -> Row:
        """The row of a kind about a run, by its id; made where it is not known, or not so.

        `made_of` is a digest of all that it hangs on; empty where that cannot be told.
        """
        if not made_of:
            return make()
        asked = self._asked.setdefault(kind, {})
        held = asked.get(about) or self._held.get(kind, {}).get(about)
        if held is None or held[0] != made_of:
            held = made_of, make()
        asked[about] = held
        row: Row = held[1]
        return row

    def text(self, kind: str, about: str, made_of: str, make: Callable[[], str]) -> str:
        """The same of a row that is text, which may lie beside the site. A kind is of one page."""
        if self._folder is None or not made_of:
            return self.row(kind, about, made_of, make)
        held = self._read_once(kind).get(about)
        if held is None or held[0] != made_of:
            self._new.add(kind)
            return self.row(kind, about, made_of, make)
        self._asked.setdefault(kind, {})[about] = held
        return held[1]

    def texts(self, kind: str, made_of: Mapping[str, str], make: Callable[[str], str]) -> list[str]:
        """Such rows of a page about many, in order: what each is made of, by what it is about."""
        held = self._held.get(kind, {}) if self._folder is None else self._read_once(kind)
        asked, rows = self._asked.setdefault(kind, {}), []
        # Of thousands few changed: for the others nothing is called.
        for about, known in made_of.items():
            row = held.get(about)
            if known and row is not None and row[0] == known:
                asked[about] = row
                rows.append(row[1])
            else:
                rows.append(self.text(kind, about, known, partial(make, about)))
        return rows

    def html(self, kind: str, about: str, made_of: str, make: Callable[[], str]) -> str:
        """The same of a row that templates make."""
        return self.text(kind, about, made_of and f"{made_of}{self._templates}", make)

    def _read_once(self, kind: str) -> Mapping[str, tuple[str, str]]:
        told = self._told.get(kind)
        if told is None:
            told = self._told[kind] = self._read(kind)
        return told

    def _read(self, kind: str) -> Mapping[str, tuple[str, str]]:
        told = None if self._fresh else read_sealed(self._path(kind), _Told)
        return told.rows if told and told.frame == self._frame else {}

    def write(self) -> None:
        """Let the next build know the text of which some was made since this was called last."""
        new, self._new = self._new, set()
        for kind in new:
            # Nothing is lost where they cannot be written: they are made again.
            with suppress(OSError):
                write_sealed(self._path(kind), _Told(self._frame, self._asked.get(kind, {})))

    def _path(self, kind: str) -> Path:
        assert self._folder
        return self._folder / f"{kind}.json"
