"""Where a conversation goes back: rows are a tree, each names the one before it.

Whoever takes back a prompt, or resumes a session at an earlier message, has the log go on from
there. What stands between was said and done all the same, and the model sees none of it any more.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from msgspec import Struct, field

from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Notice, Topic

_MOST_STEPS = 2_000_000
"""Rows that are gone back through, in all: beyond it nothing is told, as of no log of Claude's."""
_MOST_ROWS = 50_000
"""Rows of one log that are kept in mind, some 300 bytes each; of a longer log nothing more is
told."""

_DELTA = "file-history-delta"
_FILE_HISTORY = ("file-history-snapshot", _DELTA)


class _Kind(Enum):
    """What a row is to the conversation."""

    BESIDE = "beside"
    """An attachment, a hook, a note: it may hang anywhere."""
    ANSWER = "answer"
    """A result of a tool: those of calls at once hang beside each other."""
    SPOKEN = "spoken"
    """What the model said."""
    PROMPT = "prompt"
    """What begins a turn."""
    SUMMED_UP = "summed up"
    """A compaction, which goes on from the row that it names."""


_LIGHT = (_Kind.BESIDE, _Kind.ANSWER)


class _Node(NamedTuple):
    """A row of the conversation."""

    line: int
    before: int
    """The number of the row before it; -1 for none that is known."""
    kind: _Kind
    said: int
    """Which message of the model's it is a part of; 0 if of none."""


class Branches(Struct):
    """The rows of the main agent in one file, and where its conversation is."""

    numbers: dict[int, int] = field(default_factory=dict)
    """By the digest of a row's id: its number."""
    nodes: list[_Node] = field(default_factory=list)
    at: int = -1
    """The number of the last row that belongs to the conversation."""
    steps: int = 0
    is_over: bool = False
    """Whether there were too many rows."""
    keeps_files: bool = False
    """Whether copies of files are kept, which a person may have put back."""

    def turned_back(self, row: Row) -> Notice | None:
        """A notice, if the conversation goes on from an earlier row with this one."""
        own = row.text("uuid")
        name, number = hash(own), len(self.nodes)
        self.keeps_files = self.keeps_files or _keeps_files(row)
        if row.agent or not own or name in self.numbers or self._is_full(number):
            return None
        parent = row.text("parentUuid") or row.text("logicalParentUuid")
        before = self.numbers.get(hash(parent), -1)
        kind, said = _kind(row)
        left: list[_Node] = []
        meets = before
        if kind is _Kind.PROMPT and (before >= 0 or not parent):
            left, meets = self._left(before)
        self.numbers[name] = number
        self.nodes.append(_Node(row.place.line, before, kind, said))
        if kind is not _Kind.BESIDE:
            self.at = number
        return self._told(row, meets, left) if any(map(_is_heard, left)) else None

    def _is_full(self, number: int) -> bool:
        if number == _MOST_ROWS:
            self.is_over = True
            self.nodes.clear()
            self.numbers.clear()
        return self.is_over

    def _left(self, before: int) -> tuple[list[_Node], int]:
        """What a conversation that goes on from a row leaves behind, and the last row it keeps."""
        left: list[_Node] = []
        if self.at < 0:
            return left, before
        other, now = before, self.at
        said = self.nodes[self._of_weight(before)].said if before >= 0 else 0
        while now != other and self._goes_back():
            if now > other:
                node = self.nodes[now]
                now = node.before
                # Calls of one message stand beside each other.
                if node.kind is not _Kind.SPOKEN or node.said != said:
                    left.append(node)
            else:
                other = self.nodes[other].before
        return (left, now) if self.steps < _MOST_STEPS else ([], now)

    def _of_weight(self, number: int) -> int:
        """The row, or else the last one before it, that is a message; the row where none is."""
        found = number
        while found >= 0 and self.nodes[found].kind in _LIGHT and self._goes_back():
            found = self.nodes[found].before
        return found if found >= 0 else number

    def _goes_back(self) -> bool:
        self.steps += 1
        return self.steps < _MOST_STEPS

    def _told(self, row: Row, meets: int, left: list[_Node]) -> Notice:
        first, last = left[-1].line, left[0].line
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        where, restores = "The conversation begins anew", meets >= 0 and self.keeps_files
        if meets >= 0:
            line = self.nodes[self._of_weight(meets)].line
            where = f"The conversation goes back to line {line}, and on from there"
        told = f"{where}: the model sees nothing of {lines} any more."
        told += " Files may have been put back." if restores else ""
        return row.notice(Topic.INTERRUPTION, told, restores=restores)


def _is_heard(node: _Node) -> bool:
    return node.kind in (_Kind.SPOKEN, _Kind.PROMPT)


def _keeps_files(row: Row) -> bool:
    """Whether a row tells of copies of files."""
    kind = row.value.get("type")
    if kind not in _FILE_HISTORY:
        return False
    kept = mapping(mapping(row.value.get("snapshot")).get("trackedFileBackups"))
    return bool(kept) or kind == _DELTA


def _kind(row: Row) -> tuple[_Kind, int]:
    """What a row is, and which message of the model's it is a part of; 0 if of none."""
    match row.value.get("type"):
        case "assistant":
            message = mapping(row.value.get("message"))
            return _Kind.SPOKEN, hash(text(message.get("id")) or row.text("uuid"))
        case "system" if row.value.get("subtype") == "compact_boundary":
            return _Kind.SUMMED_UP, 0
        case "user" if row.value.get("isCompactSummary") is True:
            return _Kind.SUMMED_UP, 0
        case "user":
            said = sequence(mapping(row.value.get("message")).get("content"))
            return _Kind.ANSWER if any(map(_is_answer, said)) else _Kind.PROMPT, 0
        case _:
            return _Kind.BESIDE, 0


def _is_answer(block: object) -> bool:
    return mapping(block).get("type") == "tool_result"
