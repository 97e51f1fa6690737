"""Commands that run in the background: later calls ask for what they printed, and how they ended.

How one ended is told at the call that started it, and no more counted where it was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.latest import remember
from kbsite.harnesses.lines import mapping, text
from kbsite.model.event import Event, ToolResult

_STARTED = re.compile(r"Command running in background with ID: ([\w-]{1,200})")
_MOST = 500
"""So many commands are kept in mind: the last ones."""


class Background(Struct):
    """The calls that started commands, by the ids of these and the agents that asked for them."""

    calls: dict[tuple[str, str], str] = field(default_factory=dict)

    def told(self, events: Iterable[Event], rich: object) -> Iterator[Event]:
        """The events of a row, and the end of a command that one of them tells of.

        `rich` is the CLI's own copy of the row's result.
        """
        for event in events:
            if not isinstance(event, ToolResult) or event.late:
                yield event
                continue
            self._start(event)
            starter = self.calls.get((event.agent, _asked(mapping(rich))), "")
            if event.exit_code is None or starter in ("", event.call_id):
                yield event
                continue
            yield replace(event, end_of=starter)
            yield replace(
                event, call_id=starter, output="", images=(), recorded="", side_files=(),
                seconds=None, is_error=None, late=True,
            )  # fmt: skip

    def _start(self, result: ToolResult) -> None:
        if found := _STARTED.match(result.output):
            remember(self.calls, (result.agent, found[1]), result.call_id, _MOST)


def _asked(rich: Mapping[str, object]) -> str:
    """The command that a call asked of."""
    task = mapping(rich.get("task"))
    return text(task.get("task_id")) or text(rich.get("shellId"))
