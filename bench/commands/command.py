"""What a command of bench is: declared once, run by two command lines.

`kbsite bench` has click and rich; a GPU machine without them has `python3 -m bench`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from kbsite.errors import MachineError

NEEDED = ("torch", "numpy", "yaml")
"""Modules that grading needs beside the standard library."""
OF_SESSIONS = ("aiohttp",)
"""Modules that sessions of CLIs need beside those of kbsite."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option, `--name` on the command line and `name` to the command."""

    name: str
    help: str
    kind: type = str
    """str, int, Path or bool; a bool is a switch that is off."""
    several: bool = False
    """Whether it may be given several times; what comes is a sequence then, or None for none."""
    choices: tuple[str, ...] = ()
    metavar: str = ""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What stands on the command line without a name."""

    name: str
    kind: type = str
    several: bool = False
    """Any number of them, none too; what comes is a sequence then."""
    choices: tuple[str, ...] = ()


class Told(Protocol):
    """What shows how far a piece of work is."""

    def __call__(self, what: str, share: float | None) -> None:
        """What is done now, and how much is done in all, 0 to 1; None where nobody knows."""
        ...


class Front(Protocol):
    """A command line: who asked, and where answers go."""

    def say(self, text: str, tone: str = "") -> None:
        """A message, to stderr; `tone` is "good", "bad" or nothing."""
        ...

    def give(self, text: str) -> None:
        """A result, to stdout."""
        ...

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], tones: Sequence[str] = ()
    ) -> None:
        """A result in columns, to stdout; `tones` are those of the rows, as for `say`."""
        ...

    def progress(self, title: str) -> AbstractContextManager[Told]:
        """Shows how far a piece of work is, on stderr, while the context lasts."""
        ...


Given = Mapping[str, Any]
"""The values of arguments and options, by name."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of bench."""

    name: str
    summary: str
    """One line, for the list of commands."""
    about: str
    """What it does and writes, and what its exit codes mean; paragraphs."""
    examples: tuple[str, ...]
    """What stands after `bench` on the command line."""
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    run: Callable[[Given, Front], int]
    """Does it; the exit code, or a KbsiteError that has its own."""


def require(*, sessions: bool = False) -> None:
    """Raise MachineError where something that grading, or sessions, need is missing."""
    needed = OF_SESSIONS if sessions else NEEDED
    missing = [name for name in needed if name not in sys.modules and find_spec(name) is None]
    if missing:
        message = f"{' and '.join(missing)} cannot be imported"
        raise MachineError(f"{message}; install them with: pip install 'kbsite[bench]'")
