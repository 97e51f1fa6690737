"""What lists and tables say of runs, row by row: of a run that did not change it is not made anew.

A site of two thousand runs has a dozen files with a row for each. Where one run changed, one row
of each is made. A process that stays knows the others; rows that are text lie beside the site too,
a file a kind, for the next build. Each is kept with a digest of all that it was made of, so a file
of an earlier build, or of one that was killed, holds no wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from kbsite.pages.joined_rows import Joined, RowsTold
from kbsite.store.told import (
    read_sealed,
    read_sealed_with,
    write_sealed,
    write_sealed_with,
)

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
    _joined: dict[str, Joined] = field(default_factory=dict)
    """Rows of lists, one behind the other, by kind."""
    _templates: str = ""
    _folder: Path | None = None
    """Where rows lie that are text; None where none are read or written."""
    _reads: bool = False
    _writes: bool = False
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
        self._joined = self._joined if frame == self._frame else {}
        self._frame, self._asked, self._folder = frame, {}, folder
        self._reads = folder is not None and not fresh
        # What this process made last is newer, and each row is written once.
        self._writes = folder is not None and not self._held and not self._joined
        self._told, self._new = {}, set()

    def row(self, kind: str, about: str, made_of: str, make: Callable[[], Row]) -> Row:
        """The row of a kind about a run, by its id; made where it is not known, or not so.

        `made_of` is a digest of all that it hangs on; empty where that cannot be told.
        """
        return self._row(kind, about, made_of, make, self._held.get(kind, {}))

    def text(self, kind: str, about: str, made_of: str, make: Callable[[], str]) -> str:
        """The same of a row that is text, which may lie beside the site. A kind is of one page."""

        def made() -> str:
            if made_of:
                self._new.add(kind)
            return make()

        known = self._held[kind] if kind in self._held else self._read_once(kind)
        return self._row(kind, about, made_of, made, known)

    def html(self, kind: str, about: str, made_of: str, make: Callable[[], str]) -> str:
        """The same of a row that templates make."""
        return self.text(kind, about, made_of and f"{made_of}{self._templates}", make)

    def _row(
        self,
        kind: str,
        about: str,
        made_of: str,
        make: Callable[[], Row],
        known: Mapping[str, tuple[str, Any]],
    ) -> Row:
        if not made_of:
            return make()
        asked = self._asked.setdefault(kind, {})
        held = asked.get(about) or known.get(about)
        if held is None or held[0] != made_of:
            held = made_of, make()
        asked[about] = held
        row: Row = held[1]
        return row

    def joined(
        self, kind: str, made_of: Mapping[str, str], make: Callable[[str], str], between: str = ""
    ) -> bytes:
        """Rows about many, one behind the other in order, in UTF-8, with the same `between` each.

        `made_of` says what each is made of, by what it is about. A kind is of one page.
        """
        return self._again(kind, self._frame, made_of, make, between)

    def joined_html(
        self, kind: str, made_of: Mapping[str, str], make: Callable[[str], str], scale: str = ""
    ) -> str:
        """The same of rows that templates make, as text; `scale` is what all hang on too."""
        frame = f"{self._frame}{self._templates}{scale}"
        return self._again(kind, frame, made_of, make, "").decode()

    def _again(
        self,
        kind: str,
        frame: str,
        made_of: Mapping[str, str],
        make: Callable[[str], str],
        between: str,
    ) -> bytes:
        held = self._joined.get(kind) or self._read_joined(kind)
        if held.told.frame != frame:
            held = Joined(RowsTold(frame), b"")
        now = held.again(made_of, make, between.encode())
        if now is not held:
            self._new.add(kind)
        self._joined[kind] = now
        return now.body

    def _read_joined(self, kind: str) -> Joined:
        told = read_sealed_with(self._path(kind), RowsTold) if self._reads else None
        return Joined(*told) if told else Joined(RowsTold(), b"")

    def _read_once(self, kind: str) -> Mapping[str, tuple[str, str]]:
        told = self._told.get(kind)
        if told is None:
            told = self._told[kind] = self._read(kind)
        return told

    def _read(self, kind: str) -> Mapping[str, tuple[str, str]]:
        told = read_sealed(self._path(kind), _Told) if self._reads else None
        return told.rows if told and told.frame == self._frame else {}

    def write(self) -> None:
        """Let the next build know the text of which some was made since this was called last."""
        new, self._new = self._new, set()
        for kind in new if self._writes else ():
            path, held = self._path(kind), self._joined.get(kind)
            # Nothing is lost where they cannot be written: they are made again.
            with suppress(OSError):
                if held:
                    write_sealed_with(path, held.told, held.body)
                else:
                    write_sealed(path, _Told(self._frame, self._asked.get(kind, {})))

    def _path(self, kind: str) -> Path:
        assert self._folder
        return self._folder / f"{kind}.json"
