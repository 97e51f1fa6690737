"""What a call that changed a file says of it again: its lines, numbered as `cat -n` numbers them.

The diff of the call shows most of those lines right above, so that they need not stand there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from kbsite.model.transcript import FileDiff

LEAST = 5
"""Lines from which a repetition is left out."""

_FIRST = re.compile(r"\n( *[0-9]{1,9})(→|\t)")
"""Where the numbered lines start, and what stands between a number and its line."""

_WIDTH = 6
"""Characters of a number, as `cat -n` writes it."""


class Echo(Struct, frozen=True):
    """An output that repeats lines of a file that the diff above it shows."""

    before: str
    """What it says before them."""
    first: int
    """Number of the first line that it repeats."""
    last: int
    after: str
    """What it says after them."""


def echo_of(output: str, diffs: Sequence[FileDiff]) -> Echo | None:
    """What an output says beside the lines that its diffs show; None where they show none of it.

    What is left out could be written again: its numbers follow one another, and its lines stand in
    one stretch of what a diff shows of the file after the change.
    """
    shown = [change for change in diffs if not change.replayed]
    start = _FIRST.search(output) if shown else None
    if start is None:
        return None
    first, between = int(start[1]), start[2]
    told = output[start.start() + 1 :].split("\n")
    lines = list(_unnumbered(told, first, between))
    found = [_common(lines, stretch) for stretch in _stretches(shown)]
    at, count = max(found, key=itemgetter(1), default=(0, 0))
    if count < LEAST:
        return None
    head = "\n".join([output[: start.start()], *told[:at]])
    return Echo(head, first + at, first + at + count - 1, "\n".join(told[at + count :]))


def _unnumbered(told: Sequence[str], first: int, between: str) -> Iterator[str]:
    """The lines of a file without their numbers, up to the first that is none of them."""
    for number, line in enumerate(told, start=first):
        sign = f"{number:{_WIDTH}d}{between}"
        if not line.startswith(sign):
            return
        yield line.removeprefix(sign)


def _stretches(diffs: Sequence[FileDiff]) -> Iterator[Sequence[str]]:
    """What the diffs show of files after the change, in stretches without a gap."""
    for change in diffs:
        for is_gap, run in groupby(change.lines, key=lambda line: line.sign == "@"):
            if not is_gap:
                yield [line.text for line in run if line.sign != "-"]


def _common(lines: Sequence[str], stretch: Sequence[str]) -> tuple[int, int]:
    """Where all of a stretch stands among lines, or all of the lines in it, and how many they are.

    0 lines where neither holds the other.
    """
    inner, outer = sorted((stretch, lines), key=len)
    held = _framed(outer).find(_framed(inner)) if inner else -1
    if held < 0:
        return 0, 0
    return (_framed(lines)[:held].count("\n") if outer is lines else 0), len(inner)


def _framed(lines: Sequence[str]) -> str:
    return "\n".join(["", *lines, ""])
