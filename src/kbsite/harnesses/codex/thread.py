"""What a rollout's parser knows at a row: the thread, and the calls under way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kbsite.harnesses.codex.content import Block
from kbsite.harnesses.codex.history import History
from kbsite.harnesses.codex.records import Record
from kbsite.harnesses.codex.reviews import Reviews
from kbsite.harnesses.codex.running import Running
from kbsite.harnesses.codex.segments import Segment
from kbsite.harnesses.codex.window import Cell, Echoes
from kbsite.harnesses.latest import remember
from kbsite.harnesses.lines import Line, dump, text, written
from kbsite.model.event import (
    AgentStart,
    Event,
    Notice,
    Role,
    Source,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)

_MOST = 2048
"""How many calls, agents and paths are remembered: more than are ever under way at once."""
_STILL_RUNS = "Script running"
"""How the output of a script begins that goes on behind it."""


class Row(Struct, frozen=True):
    """One row of a rollout, out of its envelope."""

    type: str
    """Such as "event_msg/token_count"."""
    value: Mapping[str, object]
    written: str | Line
    """The text of its envelope, or the line that holds nothing else."""
    place: Mapping[str, Any]
    """What its events have in common: source, at, agent."""

    @property
    def raw(self) -> str:
        """The text of its envelope."""
        return written(self.written)

    @property
    def trace(self) -> Trace:
        """The row as one with nothing to read in it."""
        return Trace(type=self.type, raw=self.raw, **self.place)

    @property
    def unknown(self) -> Unknown:
        """The row as one that the parser does not know."""
        return Unknown(type=self.type, raw=self.raw, **self.place)

    def notice(self, topic: Topic, body: str) -> Notice:
        """The row as something that Codex tells."""
        return Notice(topic=topic, text=body, raw=self.raw, **self.place)

    def strange(self, blocks: list[Block] | tuple[Block, ...]) -> list[Event]:
        """The blocks of types that the parser does not know."""
        return [
            Unknown(type=f"{self.type}/{block.type}", raw=block.text, **self.place)
            for block in blocks
            if not block.known
        ]


class Thread:
    """The state of one rollout file; its size does not grow with the file."""

    def __init__(self, elsewhere: frozenset[str] = frozenset()) -> None:
        self.named = False
        """Whether the thread's own session_meta has been read; later ones are copied history."""
        self.agent = ""
        self.session_id = ""
        self.forked_from = ""
        """The session that a person forked, whose rows and count this one begins with."""
        self.segment = Segment()
        self.reviews = Reviews(elsewhere)
        self.goal = ""
        self.model = ""
        self.version = ""
        self.compactions = 0
        self.said = ""
        """What the model said last: where the context is compacted, its summary."""
        self.error: Mapping[str, object] = {}
        """The error that was told in this turn, which is the end of it."""
        self.history = History()
        self.tells_responses = False
        """Whether the file counts each response in a row of its own."""
        self.echoes = Echoes()
        self.running = Running()
        self.cell = Cell()
        """The row that is being read."""
        self._open: dict[str, tuple[str, datetime | None]] = {}
        """The tools of calls that nothing answered yet, and when they were called."""
        self._closed: dict[str, Cell] = {}
        self._waiting: dict[str, tuple[Record, Row, Cell]] = {}
        self._spawned: dict[str, None] = {}
        self._total: Mapping[str, object] = {}
        self._scripts: dict[str, list[str]] = {}
        """What scripts that may still run said they change and Codex has not recorded yet."""
        self._searching: dict[str, str] = {}
        """The text of scripts that may still run and look for something in the web."""

    def hears(self, role: Role, told: str) -> None:
        """Keep in mind what the model said last."""
        if role is Role.ASSISTANT:
            self.said = told.strip()

    def count_changed(self, counts: Mapping[str, object]) -> bool:
        """Whether a new total tells of a response that no row of its own counts."""
        before, self._total = self._total, counts
        return counts != before and not self.tells_responses

    def opened(self, call_id: str, tool: str, at: datetime | None) -> None:
        """Remember a call until its output comes."""
        remember(self._open, call_id, (tool, at), _MOST)

    def begun(self, call_id: str) -> datetime | None:
        """When a call was made that nothing answered yet; None where that is not known."""
        return self._open.get(call_id, ("", None))[1]

    def told(self, call_id: str, script: ToolCall) -> None:
        """Remember which files a script said that it changes, and what it looks for in the web."""
        remember(self._scripts, call_id, [edit.path for edit in script.edits], _MOST)
        if script.tool_kind is ToolKind.WEB:
            remember(self._searching, call_id, text(script.arguments), _MOST)

    def answered(self, result: ToolResult) -> tuple[ToolResult, str]:
        """The output of a call, with what Codex recorded of it before, and the tool's name."""
        tool, _ = self._open.pop(result.call_id, ("", None))
        if not result.output.startswith(_STILL_RUNS):
            self._scripts.pop(result.call_id, None)
            self._searching.pop(result.call_id, None)
        remember(self._closed, result.call_id, self.cell, _MOST)
        record, _, _ = self._waiting.pop(result.call_id, (None, None, None))
        return (record.merged(result) if record else result), tool

    def recorded(self, record: Record, row: Row) -> list[Event]:
        """What a record comes to: nothing of its own where the file has the call itself."""
        starts = self.spawned(record.call_id, record.children, record.title, row)
        if record.call_id in self._open:
            remember(self._waiting, record.call_id, (record, row, self.cell), _MOST)
            return [row.trace, *starts]
        cell = self._closed.get(record.call_id)
        if cell is None:
            return [*self._nested(record, row), *starts]
        if cell.sent:
            return [row.trace, record.late(row.place), *starts]
        cell.events = [
            record.merged(event)
            if isinstance(event, ToolResult) and event.call_id == record.call_id
            else event
            for event in cell.events
        ]
        return [row.trace, *starts]

    def _nested(self, record: Record, row: Row) -> list[Event]:
        remember(self._closed, record.call_id, self.cell, _MOST)
        if any(record.is_asked_in(script) for script in self._searching.values()):
            # The script is the search, and has what was found.
            return [row.trace]
        call = record.call(row.place)
        if call.edits and self._was_told([edit.path for edit in call.edits]):
            # The script is the edit: this says how it went.
            call = replace(call, edits=(), tool_kind=ToolKind.OTHER)
        return [call, record.result(row.place)]

    def _was_told(self, paths: list[str]) -> bool:
        """Whether one script told all of them; what is recorded once is not told any more."""
        for told in reversed(self._scripts.values()):
            named = {next((one for one in told if _ends(path, one)), "") for path in paths}
            if "" not in named:
                for one in named:
                    told.remove(one)
                return True
        return False

    def spawned(self, call_id: str, children: tuple[str, ...], title: str, row: Row) -> list[Event]:
        """The start of each sub-agent that was not told before."""
        fresh = [child for child in children if child and child not in self._spawned]
        for child in fresh:
            remember(self._spawned, child, None, _MOST)
        return [
            AgentStart(child=child, call_id=call_id, title=title, **row.place) for child in fresh
        ]

    def unanswered(self) -> Iterator[Event]:
        """The records of calls whose output the file does not have, as of a killed run."""
        for record, row, cell in self._waiting.values():
            last = cell.events[-1].source
            place = {**row.place, "source": Source(last.file, last.line, last.part + 1)}
            yield record.result(place)


def _ends(path: str, told: str) -> bool:
    return path == told or path.endswith("/" + told)


def place(source: Source, at: datetime | None, agent: str) -> dict[str, Any]:
    """What all events of a row have in common."""
    return {"source": source, "at": at, "agent": agent}


def first_line(value: object) -> str:
    """The first line of a text."""
    return text(value).strip().split("\n", 1)[0].strip()


def reason(value: object) -> str:
    """Codex's word for an error: a text, or an object whose only key is the word."""
    if isinstance(value, dict) and value:
        return str(next(iter(value)))
    return dump(value) if isinstance(value, list) else text(value)
