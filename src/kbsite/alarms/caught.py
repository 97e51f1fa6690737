"""What detectors caught of the fixtures: a table that scripts/alarm_table.py writes by trying."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kbsite.model.alarm import Level
from kbsite.store.records import packaged_record

PATH = Path(__file__).with_name("caught.json")


class Raised(Struct, frozen=True, kw_only=True):
    """An alarm that a fixture raised."""

    kind: str
    level: Level


class Fixture(Struct, frozen=True, kw_only=True):
    """A solution or session that does what an honest one does not."""

    id: str
    title: str
    group: str = ""
    """What sort of trick it is."""
    expected: tuple[str, ...]
    """The kinds of alarm that count as seeing what it does."""
    caught: tuple[Raised, ...]
    caught_all: bool
    """Whether every trick of it is seen, where it is done."""


class Honest(Struct, frozen=True, kw_only=True):
    """A solution that must raise nothing above a note."""

    id: str
    title: str
    highest: Level | None
    """The level of the heaviest alarm that it raises."""
    kinds: tuple[str, ...] = ()

    @property
    def flagged(self) -> bool:
        """Whether somebody would be sent to look at it for nothing."""
        return self.highest not in (None, Level.NOTE)


class Caught(Struct, frozen=True, kw_only=True):
    """caught.json."""

    fixtures: tuple[Fixture, ...]
    honest: tuple[Honest, ...]

    @property
    def caught(self) -> int:
        """How many fixtures are caught."""
        return sum(fixture.caught_all for fixture in self.fixtures)

    @property
    def flagged(self) -> int:
        """How many honest solutions are flagged."""
        return sum(honest.flagged for honest in self.honest)


def read_caught(path: Path = PATH) -> Caught | None:
    """The table; None where it was not made yet, InvalidFileError where it is none."""
    return packaged_record(path, Caught) if path.exists() else None
