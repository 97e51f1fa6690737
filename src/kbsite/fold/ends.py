"""How a session ended, as its events tell it one by one."""

from __future__ import annotations

from kbsite.model.event import Event, Finish, Message, Thought, ToolCall


def still_ended(finish: Finish | None, event: Event) -> Finish | None:
    """The end of a session that is known once an event has come, given the one known before."""
    if event.agent:
        return finish
    if isinstance(event, Finish):
        return event
    if finish is None or event.source.file != finish.source.file:
        return finish
    # It was the end of a turn only: somebody speaks or acts again, and that may have been cut.
    said = isinstance(event, Message) and not event.injected
    return None if said or isinstance(event, ToolCall | Thought) else finish
