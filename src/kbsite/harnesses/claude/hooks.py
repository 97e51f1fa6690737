"""Hooks: commands that the CLI runs beside the model, as its settings or plugins tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Notice, Topic, Trace

_OWN = "callback"
"""Stands for a function of the CLI's own, or of a program that it is part of: no command."""


class Hooks(Struct):
    """The hooks of a session. Rows tell of one whenever it ran: it is told once."""

    known: set[tuple[str, str]] = field(default_factory=set)
    """What each waits for, and its command."""

    def told(self, row: Row, events: Iterable[Event]) -> Iterator[Event]:
        """The events of a row; in place of a trace, or last, the hooks that it is first to tell."""
        new = "\n".join(self._new(row))
        for event in events:
            if new and isinstance(event, Trace):
                yield Notice(
                    source=event.source, at=event.at, agent=event.agent, topic=Topic.NOTE,
                    text=new, raw=event.raw,
                )  # fmt: skip
                new = ""
            else:
                yield event
        if new:
            yield row.notice(Topic.NOTE, new)

    def _new(self, row: Row) -> Iterator[str]:
        for hook in _ran(row):
            if hook[1] not in ("", _OWN) and hook not in self.known:
                self.known.add(hook)
                yield f"hook {hook[0]} runs: {hook[1]}"


def _ran(row: Row) -> Iterator[tuple[str, str]]:
    held = mapping(row.value.get("data", row.value.get("attachment")))
    yield text(held.get("hookEvent")), text(held.get("command"))
    for info in sequence(row.value.get("hookInfos")):
        yield "Stop", text(mapping(info).get("command"))
