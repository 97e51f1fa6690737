"""A piece of native code."""

from __future__ import annotations

from msgspec import Struct


class NativeSource(Struct, frozen=True):
    """Native code of a run: a sidecar, or a text within a Python source."""

    file: str
    """The file of the run that holds it."""
    text: str
    lines: tuple[int, ...] = ()
    """For each of its lines the line of the file; empty where they are the same."""
    ptx: bool = False
    is_cut: bool = False
    """Whether there is more of it than is looked into."""

    def line(self, own: int) -> int:
        """The line of the file, from 1, of one of its own lines."""
        if not self.lines:
            return own
        return self.lines[min(max(own, 1), len(self.lines)) - 1]
