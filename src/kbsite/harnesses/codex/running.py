"""Commands that outlive their call: what is asked of them later, and how they end, names them."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kbsite.harnesses.codex.calls import written
from kbsite.harnesses.lines import mapping, text
from kbsite.model.event import ToolCall, ToolResult

_Value = TypeVar("_Value")
_STARTED = re.compile(r"^Process running with session ID (\d{1,12})$", re.MULTILINE)
_HEAD = 400
_MOST = 256
"""How many commands are remembered: Codex itself runs 64 at most."""
_LONGEST = 200


class Command(NamedTuple):
    """A command, and the call that started it."""

    call_id: str
    about: str


class Running:
    """The commands of one thread that may still run, by the ids of their sessions."""

    def __init__(self) -> None:
        self._sessions: dict[str, Command] = {}
        self._asked: dict[str, str] = {}
        """The session of each call that nothing answered yet."""
        self._started: dict[str, Command] = {}

    def called(self, call: ToolCall) -> ToolCall:
        """A call; one that writes to a command says to which one."""
        if call.tool == "exec_command":
            _keep(self._started, call.call_id, Command(call.call_id, call.summary[:_LONGEST]))
        given = mapping(call.arguments)
        command = self._sessions.get(text(given.get("session_id")))
        if call.tool != "write_stdin" or command is None:
            return call
        _keep(self._asked, call.call_id, text(given["session_id"]))
        return replace(call, summary=written(given, command.about))

    def answered(self, result: ToolResult) -> ToolResult | None:
        """What the output of a call tells of the call that started its command: how that ended."""
        if started := self._started.pop(result.call_id, None):
            if found := _STARTED.search(result.output[:_HEAD]):
                _keep(self._sessions, found[1], started)
            return None
        session = self._asked.pop(result.call_id, None)
        if session is None or result.exit_code is None or session not in self._sessions:
            return None
        return replace(
            result, call_id=self._sessions.pop(session).call_id, output="", images=(), recorded="",
            seconds=None, late=True,
        )  # fmt: skip


def _keep(held: dict[str, _Value], key: str, value: _Value) -> None:
    if len(held) >= _MOST:
        held.pop(next(iter(held)))
    held[key] = value
