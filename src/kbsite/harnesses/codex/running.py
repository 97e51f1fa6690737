"""Commands and scripts that outlive their call: later calls name them, and tell how they ended."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from kbsite.harnesses.codex.calls import about_running
from kbsite.harnesses.latest import remember
from kbsite.harnesses.lines import mapping, text
from kbsite.model.event import ToolCall, ToolResult

_STARTED = re.compile(
    r"^(?:Process running with|Script running with) (session|cell) ID (\d{1,12})$", re.MULTILINE
)
_STARTERS = ("exec_command", "exec")
_ASKERS = {"write_stdin": ("session", "session_id"), "wait": ("cell", "cell_id")}
"""Tools that ask of what runs: of what kind that is, and under which key its id stands."""
_FAILED = ("Script failed", "Script error")
_HEAD = 400
_MOST = 256
"""How many commands are remembered: Codex itself runs 64 at most."""
_LONGEST = 200


class Command(NamedTuple):
    """A command, and the call that started it."""

    call_id: str
    about: str


class Running:
    """The commands and scripts of one thread that may still run, by kind and id."""

    def __init__(self) -> None:
        self._sessions: dict[str, Command] = {}
        self._asked: dict[str, str] = {}
        """The session of each call that nothing answered yet."""
        self._started: dict[str, Command] = {}

    def called(self, call: ToolCall) -> ToolCall:
        """A call; one that writes to a command says to which one."""
        if call.tool in _STARTERS:
            remember(
                self._started, call.call_id, Command(call.call_id, call.summary[:_LONGEST]), _MOST
            )
        kind, key = _ASKERS.get(call.tool, ("", ""))
        given = mapping(call.arguments)
        named = f"{kind} {text(given.get(key))}"
        command = self._sessions.get(named)
        if command is None:
            return call
        remember(self._asked, call.call_id, named, _MOST)
        return replace(call, summary=about_running(call.tool, given, command.about))

    def answered(self, result: ToolResult) -> ToolResult | None:
        """What the output of a call tells of the call that started its command: how that ended."""
        if started := self._started.pop(result.call_id, None):
            if found := _STARTED.search(result.output[:_HEAD]):
                remember(self._sessions, f"{found[1]} {found[2]}", started, _MOST)
            return None
        session = self._asked.pop(result.call_id, "")
        ended = result.exit_code is not None or result.output.startswith(_FAILED)
        if not ended or session not in self._sessions:
            return None
        return replace(
            result, call_id=self._sessions.pop(session).call_id, output="", images=(), recorded="",
            seconds=None, late=True,
        )  # fmt: skip
