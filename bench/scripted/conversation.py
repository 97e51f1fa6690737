"""What a request tells of a session, in the same words for every dialect."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final

MARKER: Final = re.compile(r"\[\[script:([a-z][a-z0-9]*(?:@[\w.-]+)?)\]\]")
"""What chooses the script in a user's text; the last one of a history counts."""

CALL_ID: Final = re.compile(r"call_[a-z0-9]+_t(\d{1,6})_\d")
"""In call ids, also where a CLI writes something before or after: the turn that made the call."""

_FOLDERS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"[Ww]orking directory(?: is)?:? *`?(/[^\s`<]+)",
        r"<cwd>(/[^<]+)</cwd>",
        r"working in the directory: (/\S+)",
        r"WORK_DIR[^/\n]{0,40}(/[^\s`]+)",
        r"[Ww]orkspace (?:root )?(?:folder|directory|[Dd]irectories)[^/\n]{0,10}\n? *-? *(/\S+)",
    )
)
_LONGEST: Final = 200_000
"""Characters of the prompts in which the workspace's folder is looked for."""


class Kind(Enum):
    """How a tool takes its input."""

    FUNCTION = "function"
    """JSON, by a schema."""
    FREEFORM = "freeform"
    """Text, such as a patch or a program."""
    SEARCH = "search"
    """It looks for tools that are not shown at first."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that the CLI offers."""

    name: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments; empty where none is told."""
    kind: Kind = Kind.FUNCTION
    namespace: str | None = None
    description: str = ""


@dataclass(frozen=True)
class UserText:
    """Text that a person, the CLI, or a parent wrote: no results of tools."""

    text: str


@dataclass(frozen=True)
class ModelCalls:
    """An answer of the model in the history, by the ids of its calls."""

    ids: tuple[str, ...]


Event = UserText | ModelCalls


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A request for a next answer."""

    model: str
    streams: bool
    system: str
    tools: Mapping[str, Tool]
    events: tuple[Event, ...]
    results: str = ""
    """The texts of the last results of tools, where a call needs what one of them said."""

    @cached_property
    def folder(self) -> str | None:
        """The workspace, where the CLI's own prompt tells it: an absolute path."""
        prompts = [self.system, *(one.text for one in self.events if isinstance(one, UserText))]
        text = "\n".join(prompts)[:_LONGEST]
        for pattern in _FOLDERS:
            if found := pattern.search(text):
                return found[1].rstrip(".,`\"'")
        return None

    def script(self, known: Collection[str]) -> str | None:
        """The script that the last marker names; None without a marker of a known script."""
        return self._marked(known)[0]

    def turn(self, known: Collection[str]) -> int:
        """The number of the next answer since that marker, from 0: no state is needed for it.

        Answers without calls do not count: they are what a client kept of a broken stream.
        """
        _, start = self._marked(known)
        answers = [one.ids for one in self.events[start:] if isinstance(one, ModelCalls)]
        ids = [found for answer in answers for one in answer if (found := CALL_ID.search(one))]
        if ids:
            return max(int(found[1]) for found in ids) + 1
        return sum(1 for answer in answers if answer)

    def _marked(self, known: Collection[str]) -> tuple[str | None, int]:
        for at in range(len(self.events) - 1, -1, -1):
            event = self.events[at]
            if isinstance(event, UserText):
                names = [name for name in MARKER.findall(event.text) if name in known]
                if names:
                    return names[-1], at + 1
        return None, 0
