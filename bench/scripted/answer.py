"""What a model answers, before a dialect puts it into its own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any
from zlib import crc32

from bench.scripted.conversation import Kind
from kbsite.model.usage import Usage


@dataclass(frozen=True)
class Thinking:
    """What the model thinks."""

    text: str


@dataclass(frozen=True)
class Text:
    """What the model says."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A call of a tool."""

    id: str
    name: str
    kind: Kind
    namespace: str | None
    arguments: Mapping[str, Any]
    """For a freeform tool: its text, as `input`."""

    @property
    def text(self) -> str:
        """What a freeform tool is given."""
        return str(self.arguments.get("input", ""))


Block = Thinking | Text | ToolCall


class Ending(Enum):
    """Why an answer ends."""

    SAID = "said"
    CALLS = "calls"
    MAX_TOKENS = "max_tokens"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer, whole."""

    id: str
    """Of letters, digits and _; the same for each try."""
    model: str
    blocks: tuple[Block, ...]
    ending: Ending
    usage: Usage


def usage_of(script: str, turn: int) -> Usage:
    """The tokens that an answer takes: a formula, so that each sum can be known to the digit.

    They differ by script and turn, so that the last taken for the sum shows.
    """
    start = crc32(script.encode()) % 97
    return Usage(
        input=1000 + start + 37 * turn, cache_read=500 * turn, cache_write=20 + turn,
        output=40 + start + 10 * turn, reasoning=8 + turn,
    )  # fmt: skip


def without_writes(usage: Usage) -> Usage:
    """The same where an API does not tell what went into the cache."""
    return replace(usage, cache_write=None)
