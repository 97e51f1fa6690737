"""Patterns that are compiled, and modules that are loaded, when somebody first asks them.

Most builds look at a run or two, with few of the hundreds of patterns that there are for all runs.
To compile them all takes longer than that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
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


HALF = late("[\ud800-\udfff]")
"""Half of a character, which stands for a byte that is no UTF-8 and can be written nowhere."""


class _LateModule(ModuleType):
    """Stands for a module: what is asked of it is asked of the module, which is loaded for that."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def loaded_late(name: str) -> Iterator[None]:
    """While this holds, who imports a module has it loaded when it is first asked for something.

    The LazyLoader of the standard library loads it with the second import: Python 3.11 asks a
    module that there is whether it is complete, and that is asking.
    """
    if name in sys.modules:
        yield
        return
    held = sys.modules[name] = _LateModule(name)
    try:
        yield
    finally:
        if sys.modules.get(name) is held:
            del sys.modules[name]
