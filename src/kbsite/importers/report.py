"""What an import of a published board brought in, and everything odd that it met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kbsite.model.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """Something in the published files that a reader of the board has to know."""

    file: str
    """Path within the published folder, or within the runs written."""
    found: str
    done: str
    """What the import made of it."""
    line: int | None = None
    key: str | None = None

    @property
    def text(self) -> str:
        """The remark on one line, as a compiler would write it; control signs are escaped."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        whole = ": ".join(part for part in (place, self.key, self.found) if part)
        return _printable(f"{whole}; {self.done}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts of what an import brought in, and the oddities in order of file and line."""

    board: str
    cells: Mapping[Status, int]
    """Runs on disk after the import, by status."""
    scored: int
    """How many of them passed with a score."""
    written: int
    already_there: int
    """Runs that were there before, changed or not; they were kept."""
    audits: int
    quotes_kept: int
    quotes_refused: int
    floors: int
    floors_scored: int
    """How many of the floors have a peak_fraction."""
    oddities: tuple[Oddity, ...]

    def text(self) -> str:
        """The report for a terminal."""
        counted = ", ".join(f"{count} {status.value}" for status, count in self.cells.items())
        head = [
            f"{self.board}: {sum(self.cells.values())} runs"
            f" ({self.written} written, {self.already_there} already there)",
            f"  cells    {counted or 'none'}; {self.scored} with a score",
            f"  audits   {self.audits}, with {self.quotes_kept} quotes"
            f" ({self.quotes_refused} refused)",
            f"  floors   {self.floors}, {self.floors_scored} of them with a peak_fraction",
            f"  oddities {len(self.oddities)}",
        ]
        return "\n".join(_printable(line) for line in head) + "".join(
            f"\n    {oddity.text}" for oddity in self.oddities
        )


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
