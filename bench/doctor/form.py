"""What the doctor looks at, and what it says of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

GIB = 1 << 30


class State(Enum):
    """Whether something is there."""

    YES = "yes"
    PARTLY = "partly"
    """It is there, and less than one would wish for."""
    NO = "no"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One thing that was looked at."""

    name: str
    state: State
    seen: str
    """What was seen, in a sentence without its full stop."""
    cure: str = ""
    """What to do about it; empty where there is nothing to do."""
    needed: bool = False
    """Whether no run can be made here without it."""

    @property
    def forbids(self) -> bool:
        """Whether no run can be made here because of it."""
        return self.needed and self.state is State.NO


@dataclass(frozen=True, kw_only=True)
class Here:
    """Where runs would be made."""

    runs: Path
    clis: Path | None = None
    """Where CLIs are installed; None for where they usually are."""
    providers: Path | None = None
    """A file of providers beside those that are known."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


class Look(Protocol):
    """Looks at one kind of thing."""

    @property
    def name(self) -> str:
        """What it looks at, for whoever waits."""
        ...

    def look(self, here: Here) -> Iterable[Seen]:
        """What is there; may raise KbsiteError or OSError, which are told in its place."""
        ...


def gib(count: float) -> str:
    """A number of bytes, such as "15.6 GiB"."""
    return f"{count / GIB:.1f} GiB"
