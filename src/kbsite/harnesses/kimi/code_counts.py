"""Token counts of Kimi Code, which writes each of them twice.

`usage.record` has every request, also those that end in an error or compact the context;
`step.end` repeats the count of its step, before or after it, depending on the version.
"""

from __future__ import annotations

from msgspec import Struct

from kbsite.harnesses.lines import count, mapping
from kbsite.model.usage import Usage


class Counts(Struct):
    """Numbers the requests of an agent, and gives both rows of one request the same number."""

    last: int = 0
    _recorded: int = 0
    """The number of the step that runs, if it has its `usage.record`; else 0."""
    _awaited: int = 0
    """The number of the step that ended, if it has no `usage.record` yet; else 0."""

    def begin_step(self) -> None:
        """A new step, whose count is a new one."""
        self._recorded = self._awaited = 0

    def of_record(self, told: object, *, alone: bool) -> tuple[Usage, int] | None:
        """The count of a `usage.record`, and its number; `alone` if it belongs to no step."""
        usage = _usage(told)
        if usage is None:
            return None
        if alone:
            return usage, self._next()
        if self._awaited:
            number, self._awaited = self._awaited, 0
            return usage, number
        self._recorded = self._next()
        return usage, self._recorded

    def of_step(self, told: object) -> tuple[Usage, int] | None:
        """The count of a `step.end`, and its number."""
        usage = _usage(told)
        if usage is None:
            return None
        if self._recorded:
            number, self._recorded = self._recorded, 0
            return usage, number
        self._awaited = self._next()
        return usage, self._awaited

    def _next(self) -> int:
        self.last += 1
        return self.last


def _usage(told: object) -> Usage | None:
    """A count; None for four zeros, which stand for a stream that was cut before its count."""
    held = mapping(told)
    usage = Usage(
        input=count(held.get("inputOther")),
        cache_read=count(held.get("inputCacheRead")),
        cache_write=count(held.get("inputCacheCreation")),
        output=count(held.get("output")),
    )
    return usage if usage.sent or usage.output else None
