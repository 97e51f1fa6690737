"""A transcript as one row of items: what a reader scrolls through, and what pages are cut from.

Sub-agents stand in line behind the call that started them, one level deeper, so that a page can end
anywhere but between a call and its result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain

import msgspec
from msgspec import Struct

from kbsite.fold.commands import COMMAND_KEYS
from kbsite.model.event import Malformed, Notice, Source, ToolCall, ToolKind, Topic, Unknown
from kbsite.model.transcript import AgentLog, Step
from kbsite.pages.in_diff import is_in_diffs
from kbsite.trajectories.vitals import call_seconds

SLOW_SECONDS = 60
"""A call that takes longer is called slow."""

_SOLUTION = re.compile(r"(^|[/\\])solution\.py$")

_IN_DIFF = {
    "old_string", "oldString", "old_str", "new_string", "newString", "new_str", "content",
    "file_text", "edits", "edit", "patch", "patchText", "input", "replace_all", "replaceAll",
    "filePath", "file_path", "streamContent",
}  # fmt: skip
"""Keys of a call or of its record that may say what its diff shows."""

_COPIES = {
    "originalFile", "structuredPatch", "diff", "filediff", "files", "userModified", "type",
    "gitDiff", "patch",
}  # fmt: skip
"""Keys of a record under which a CLI keeps its own diff, and the file as it was before."""


class Item(Struct, frozen=True, kw_only=True, dict=True):
    """One item of the row: a step, bookkeeping rows put together, or the head of a sub-agent."""

    anchor: str
    depth: int
    """0 for the main agent, 1 for the sub-agents that it started, and so on."""
    agent: str
    """Id of the agent; empty for the main one."""
    step: Step | None = None
    rows: tuple[Step, ...] = ()
    """Bookkeeping rows in a row."""
    opens: AgentLog | None = None
    """The sub-agent whose steps follow."""
    pause: float = 0.0
    """Seconds before it in which nothing is recorded of its agent; 0 for a short while, and less
    where the clock was set back by so many."""
    went_on: bool = False
    """Whether it is a call without a result, after which its agent went on."""

    @property
    def kind(self) -> str:
        """What the item is filtered by: run, read, says, thinks, trace, agent and so on."""
        if self.opens is not None:
            return "agent"
        if self.step is None:
            return "trace"
        event = self.step.event
        return event.tool_kind.value if isinstance(event, ToolCall) else event.kind

    @property
    def failed(self) -> bool:
        """Whether something went wrong in it."""
        if self.step is None:
            return False
        event, result = self.step.event, self.step.result
        if isinstance(event, Malformed | Unknown):
            return True
        if isinstance(event, Notice):
            return event.topic is Topic.ERROR
        return result is not None and result.failed

    @property
    def edits(self) -> bool:
        """Whether it changes a file."""
        return self.step is not None and any(not diff.failed for diff in self.step.diffs)

    @property
    def edits_solution(self) -> bool:
        """Whether it changes solution.py."""
        changed = self.step.diffs if self.step else ()
        return any(_SOLUTION.search(diff.path) and not diff.failed for diff in changed)

    @property
    def slow(self) -> bool:
        """Whether its call took long."""
        return self.step is not None and slow_seconds(self.step) is not None

    @cached_property
    def marks(self) -> list[str]:
        """Everything that a filter may ask of it."""
        told = [self.kind]
        if self.step is not None:
            if self.failed:
                told.append("is-error")
            if self.edits:
                told.append("is-edit")
            if self.slow:
                told.append("is-slow")
            if self.edits_solution:
                told.append("is-solution")
        if self.depth > 0:
            told.append("is-sub")
        return told

    @property
    def packed(self) -> bytes | None:
        """All that it shows, as bytes that are the same for the same; None if it cannot be told."""
        opens = self.opens and (
            self.opens.id, self.opens.title, len(self.opens.steps), self.opens.usage
        )  # fmt: skip
        told = (self.anchor, self.depth, self.agent, self.step, self.rows, opens, self.went_on)
        try:
            return msgspec.msgpack.encode(told)
        except (OverflowError, TypeError, ValueError, RecursionError):
            # Halves of characters, numbers of any length, nesting: all of that may stand in a run.
            return None

    @property
    def sources(self) -> list[Source]:
        """Where in the files it stands: its event, its result, its bookkeeping rows."""
        if self.step is None:
            return [row.event.source for row in self.rows]
        result = self.step.result
        return [self.step.event.source, *([result.source] if result else [])]

    @property
    def anchors(self) -> list[str]:
        """Every place in the page that leads to it."""
        if self.step is None:
            return [self.anchor, *(row.anchor for row in self.rows[1:])]
        return [self.anchor, *([self.step.result_anchor] if self.step.result else [])]


def slow_seconds(step: Step) -> float | None:
    """How long a call took that took long, as the CLI or the times of its rows say."""
    seconds = call_seconds(step)
    return seconds if seconds is not None and seconds >= SLOW_SECONDS else None


def counts(row: Iterable[Item]) -> Mapping[str, int]:
    """How many items each filter would leave."""
    return Counter(chain.from_iterable(item.marks for item in row))


def line_ranges(row: Iterable[Item]) -> str:
    """Which lines of which files some items stand for: "1-40 fab12-3-17", for a script to read."""
    lines: dict[str, list[int]] = {}
    for item in row:
        for anchor in item.anchors:
            # Such as "L12", "fab12-L12-3": the line is told before what is said of it.
            file, sign, place = anchor.rpartition("L")
            line = place.partition("-")[0]
            if sign and line.isdecimal():
                lines.setdefault(file, []).append(int(line))
    return " ".join(f"{file}{min(held)}-{max(held)}" for file, held in lines.items())


def other_arguments(step: Step) -> Mapping[str, object] | str:
    """The arguments of a call that neither its head nor its diff shows."""
    call = step.event
    assert isinstance(call, ToolCall)
    held = call.arguments
    if isinstance(held, str):
        return "" if held == call.summary or _diffs_show(step, held) else held
    command = _command_key(call)
    return {
        key: value
        for key, value in held.items()
        if key != command
        and value != call.summary
        and not (key in _IN_DIFF and _diffs_show(step, value))
    }


def _diffs_show(step: Step, value: object) -> bool:
    return bool(step.diffs) and is_in_diffs(value, step.diffs)


def _command_key(call: ToolCall) -> str | None:
    """The name of the command among a call's arguments, where its head does not show it whole."""
    if call.tool_kind is not ToolKind.RUN or isinstance(call.arguments, str):
        return None
    for key in COMMAND_KEYS:
        command = call.arguments.get(key)
        if isinstance(command, str) and command not in ("", call.summary):
            return key
    return None


def long_command(step: Step) -> str:
    """The command of a call, where it has more than the one line that stands in its head."""
    call = step.event
    assert isinstance(call, ToolCall)
    key = _command_key(call)
    return "" if key is None or isinstance(call.arguments, str) else str(call.arguments[key])


def more_recorded(step: Step) -> Mapping[str, object] | str:
    """What the CLI recorded of a result beyond what its output, its call and its diff show."""
    result = step.result
    if result is None:
        return ""
    recorded = result.recorded
    if isinstance(recorded, str):
        return recorded
    left = {k: v for k, v in recorded.items() if not _is_told(step, k, v)}
    if _is_empty(left):
        return ""
    stdout = left.get("stdout")
    alone = not any(isinstance(v, str) and v for k, v in left.items() if k != "stdout")
    if alone and isinstance(stdout, str) and len(stdout) > len(result.output):
        return stdout
    return left


def _is_empty(recorded: Mapping[str, object]) -> bool:
    """Whether there is nothing to read in any of it."""
    return all(value in (None, "", [], {}) for value in recorded.values())


def _is_told(step: Step, key: str, value: object) -> bool:
    """Whether what a CLI recorded under a key says what the page shows of the call anyway."""
    call = step.event
    arguments = call.arguments if isinstance(call, ToolCall) else ""
    asked = [] if isinstance(arguments, str) else list(arguments.values())
    if isinstance(value, list | Mapping) and value and value in asked:
        return True
    if all(change.replayed or change.untold for change in step.diffs):
        return False
    # What was asked for is found sooner than what the diffs show.
    return key in _COPIES or (key in _IN_DIFF and (value in asked or _diffs_show(step, value)))
