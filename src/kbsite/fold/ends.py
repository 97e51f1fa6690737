"""How a session ended, as its events tell it one by one."""

from __future__ import annotations

from kbsite.model.event import Event, Finish, Message, Thought, ToolCall


def still_ended(finish: Finish | None, event: Event) -> Finish | None:
    """The end of a session that is known once an event has come, given the one known before."""
    if event.agent:
        return finish
    if isinstance(event, Finish):
        return event
    if finish is None or not _comes_after(event, finish):
        return finish
    # It was the end of a turn only: somebody speaks or acts again, and that may have been cut.
    said = isinstance(event, Message) and not event.injected
    return None if said or isinstance(event, ToolCall | Thought) else finish


def _comes_after(event: Event, finish: Finish) -> bool:
    """Whether an event is later than an end: in another file, if its time says so."""
    if event.source.file == finish.source.file:
        return True
    return event.at is not None and finish.at is not None and event.at > finish.at
