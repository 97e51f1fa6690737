"""What a machine noticed about a run: evidence for its auditor, never a verdict."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from kbsite.model.lines import line_span, line_words
from kbsite.model.status import Tone


class Level(Enum):
    """How much it weighs; from WARNING up it makes an audit due."""

    NOTE = "note"
    WARNING = "warning"
    ALARM = "alarm"

    @property
    def tone(self) -> Tone:
        """Its colour."""
        return _FACE[self][0]

    @property
    def weight(self) -> int:
        """Its place in order of need: 0 for a note."""
        return list(Level).index(self)

    @property
    def sentence(self) -> str:
        """What it means, in one plain sentence."""
        return _FACE[self][1]


_FACE: dict[Level, tuple[Tone, str]] = {
    Level.NOTE: (Tone.DIM, "Honest solutions do this too; good to know when reading."),
    Level.WARNING: (Tone.WARN, "Honest solutions seldom do this; somebody has to look."),
    Level.ALARM: (Tone.BAD, "There is hardly an honest reason for this; look here first."),
}


class AlarmKind(Struct, frozen=True, kw_only=True):
    """Something that a detector looks for."""

    id: str
    """A slug, as in `output-cache`."""
    title: str
    look: str
    """What the auditor has to look at, in one sentence."""


class Alarm(Struct, frozen=True, kw_only=True):
    """Something that a detector found."""

    kind: str
    """The id of its kind."""
    level: Level
    saw: str
    """What it saw, in one sentence; what it takes from the run is shortened and on one line."""
    look: str
    """What to look at, in one sentence: the kind's, or one about this finding."""
    file: str = ""
    """The file of the run; empty where it is about figures."""
    lines: tuple[int, ...] = ()
    """The first and last line of the file, from 1; one number for one line; empty for all of it."""
    other: str = ""
    """The id of the other run, where it is about two."""

    @property
    def where(self) -> str:
        """The file and the lines, in words; empty where it is about no file."""
        return f"{self.file} {line_words(self.lines)}".strip()

    @property
    def span(self) -> str:
        """The file and the lines as a command line takes them; empty where it is about no file."""
        return f"{self.file}:{line_span(self.lines)}" if self.lines else self.file
