"""What commands printed, where an agent saw it: in their results, or in files that it read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from kbsite.late import late
from kbsite.model.event import ToolCall, ToolKind
from kbsite.model.transcript import Step

_WRITTEN = "Output is being written to: "
_WRITTEN_TO = late(rf"\b{_WRITTEN}([^\s\"'<>]{{1,1000}})")
"""How a CLI names the file that holds what a command prints in the background."""

_HEAD = 2000
"""Characters of a result in which it is looked for."""

_NUMBERED = re.compile(r"^ {0,10}\d{1,9}(?:\t|→)", re.MULTILINE)
"""What a tool that reads puts before each line."""


class Printed(Struct):
    """Tells what commands printed, for steps in their order."""

    files: set[str] = field(default_factory=set)
    """Files that hold what commands in the background print."""

    def by(self, step: Step) -> str:
        """What a step shows of what commands printed; empty where it shows nothing of it."""
        call, result = step.event, step.result
        if not isinstance(call, ToolCall) or result is None:
            return ""
        if call.tool_kind is ToolKind.RUN:
            head = result.output[:_HEAD]
            if _WRITTEN in head and (named := _WRITTEN_TO.search(head)):
                self.files.add(named[1].rstrip("."))
            return result.output
        if call.tool_kind is ToolKind.READ and self.files and self._is_read_by(call):
            return _NUMBERED.sub("", result.output)
        return ""

    def _is_read_by(self, call: ToolCall) -> bool:
        held = call.arguments
        values = held.values() if isinstance(held, Mapping) else ()
        return any(isinstance(value, str) and value in self.files for value in values)
