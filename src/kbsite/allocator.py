"""What the C library does with memory that is let go."""

from __future__ import annotations

import sys
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What mallopt of glibc calls M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""

_KEPT = 32 << 20
"""Bytes from which a piece comes from the system by itself: no larger figure is taken by glibc on
systems of 64 bits."""


def keep_freed() -> None:
    """Let glibc keep memory that is let go, up to 64 MB, for what is asked for next.

    It gives large pieces back to the system at once, which fills every page of the next one with
    zeros: a build that goes through texts of some hundred kilobytes, one after the other, has it do
    so for each. Nothing is done where there is another C library.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):
            library = ctypes.CDLL(None)
            library.mallopt(_MMAP_THRESHOLD, _KEPT)
            library.mallopt(_TRIM_THRESHOLD, 2 * _KEPT)
