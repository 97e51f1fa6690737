"""What a module for a CLI has to offer, and what it says of each format that the CLI writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import IO, NamedTuple, Protocol

from msgspec import Struct

from kbsite.harnesses.lines import Line, lines
from kbsite.model.event import Event
from kbsite.model.harness import Harness

Parse = Callable[[Iterable[Line], str], Iterator[Event]]
"""Turns the lines of a file, and its path within transcript/, into events; keeps no line."""

Read = Callable[[IO[bytes]], Iterator[Line]]
"""Turns an open file into what is parsed."""


class Held(NamedTuple):
    """A file of a transcript that can be read."""

    name: str
    """Its path within transcript/."""
    lines: Callable[[], Iterator[Line]]
    """Reads it from its begin."""


class Format(Struct, frozen=True):
    """One kind of file that a CLI writes."""

    id: str
    """Such as "claude-session"."""
    title: str
    """Such as "session log"."""
    globs: tuple[str, ...]
    """The files of this format within transcript/, those of sub-agents included."""
    parse: Parse
    recognises: Callable[[Sequence[Mapping[str, object]]], bool]
    """Whether a file that starts with these JSON objects is of this format; for imports only."""
    stored_as: str
    """Folder within transcript/ for a lone file that is imported; the globs cover it."""
    beside: tuple[str, ...] = ()
    """Files that tell more of it where it is there, and are no transcript by themselves."""
    sub_agents: str = ""
    """Pattern of how the path of a sub-agent's own file ends, where nothing else tells whose it
    is: a file that is imported beside others keeps that much of its path."""
    read: Read = lines
    """The file's lines, unless it is no text, or may be one document (`lines.spread`)."""
    together: Callable[[Sequence[Held]], Iterator[Event]] | None = None
    """Reads all files of a transcript, where what one tells depends on others."""


class HarnessModule(Protocol):
    """A CLI: how the site names it, and its formats, the richest first."""

    HARNESS: Harness
    FORMATS: list[Format]


def matches(path: str, glob: str) -> bool:
    """Whether a path within transcript/ fits a glob; `*` stays in a folder, `**/` crosses them."""
    return _pattern(glob).fullmatch(path) is not None


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "*": "[^/]*"}
    pieces = re.split(r"(\*\*/|\*)", glob)
    return re.compile("".join(parts.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)
