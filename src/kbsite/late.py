"""Patterns that are compiled when somebody first looks with them.

Most builds look at a run or two, with few of the hundreds of patterns that there are for all runs.
To compile them all takes longer than that.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


class _Late(Generic[AnyStr]):
    """Stands for a pattern: what is asked of it is asked of the pattern, and known from then on."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Whoever copies objects asks for what this one need not have.
            raise AttributeError(name)
        held = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, held)
        return held


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern that `re.compile` would give, which is compiled later; so are its mistakes."""
    return cast("re.Pattern[AnyStr]", _Late(pattern, flags))
