"""Something that `kbsite check` or a build has to say about a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from kbsite.errors import file_of_run


class Severity(Enum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: where, and what, in a sentence that says what was expected."""

    severity: Severity
    path: str
    message: str
    line: int | None = None
    key: str | None = None

    @property
    def text(self) -> str:
        """The remark on one line, as a compiler would write it."""
        place = f"{self.path}:{self.line}" if self.line else self.path
        subject = f"{self.key}: " if self.key else ""
        return one_line(f"{place}: {self.severity.value}: {subject}{self.message}")


SHORT = 200
"""Characters of what a file says that a remark repeats."""


def short(text: str, most: int = SHORT) -> str:
    """`text`, or how it begins: files are anybody's, and a value may be a megabyte."""
    return text if len(text) <= most else f"{text[:most]}…"


def one_line(text: str) -> str:
    """`text` with escapes for what would break the line or act on a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """What a name may have been meant for; None where nothing is called nearly so."""
    from difflib import get_close_matches  # most files have no such name

    return next(iter(get_close_matches(name[:100], known, 1, 0.7)), None)


def failure_of(error: Exception) -> str:
    """What went wrong, on one line that a site may show: it tells no path of this machine."""
    if not isinstance(error, OSError) or not error.strerror:
        return one_line(f"{type(error).__name__}: {error}")
    # What a system says of a file names it by where it lies: a run's is told by its name there.
    named = file_of_run(error)
    return one_line(f"{type(error).__name__}: {error.strerror}{f': {named}' if named else ''}")
