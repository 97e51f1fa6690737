"""Folders and files that cannot be read, for root too."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: to read and write whatever its mode says."""


@contextmanager
def shut(*paths: Path, mode: int = 0) -> Iterator[None]:
    """While it lasts, nobody reads what is at some paths, by their mode; this thread neither."""
    with ExitStack() as stack:
        for path in paths:
            stack.callback(path.chmod, path.stat().st_mode & 0o7777)
            path.chmod(mode)
        stack.enter_context(_by_mode())
        yield


@contextmanager
def _by_mode() -> Iterator[None]:
    """While it lasts, modes hold for this thread, and for processes that it forks, as for any."""
    header, before = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    assert _LIBC.capget(header, before) == 0
    # Effective, permitted and inheritable rights, twice: of those that are permitted none goes.
    fewer = (ctypes.c_uint32 * 6)(before[0] & ~_OVERRIDES, *before[1:])
    assert _LIBC.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert _LIBC.capset(header, before) == 0
