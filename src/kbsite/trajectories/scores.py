"""What checks and benchmarks print, recognised in the output of commands.

The lines are those of the published benchmarks: `PASS`, `FAIL: why`, `peak_fraction: 0.1234`,
`shape=0 solution_peak_fraction=0.1234`, `RESULT: OK` or `LOW`, `speedup: 1.5x`. They count at the
start of a line only, after colours are taken off.

A command may print anything: `cat` of a log, or an agent that prints the lines itself, cannot be
told from a check. So these are the numbers that the agent saw, never the grade.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kbsite.late import late
from kbsite.model.trajectory import PointKind

MOST = 50
"""Recognised lines that are kept of one output: the last ones."""

LONGEST = 400
"""Characters that are kept of a recognised line."""

_ANSI = late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,2})?)"
_MARKS = ("PASS", "FAIL:", "peak_fraction", "RESULT:", "speedup")
_BEGINNINGS = ("PASS", "FAIL:", "peak_fraction:", "shape=", "RESULT:", "speedup")
"""What these lines begin with: few others do, and that is asked sooner than they are matched."""
_END = r"[ \t]*\Z"
_GO_BEFORE = ("--- PASS: ", "--- SKIP: ")
_GO_BEHIND = late(r"coverage: |ok[ \t]+\S+[ \t]+(?:\(cached\)|[0-9.]+s)")
"""What stands beside the `PASS` of `go test`, which says nothing of a solution."""
_LINE = late(
    rf"(?P<passed>PASS){_END}"
    r"|(?P<failed>FAIL:.*)"
    rf"|(?P<peak>peak_fraction:[ \t]*{_NUMBER}){_END}"
    rf"|(?P<shape>shape=.{{0,200}}?[ \t]solution_peak_fraction=[ \t]*{_NUMBER}){_END}"
    rf"|(?P<result>RESULT:[ \t]*(?:OK|LOW)){_END}"
    rf"|(?P<speedup>speedup[ \t]*[:=][ \t]*{_NUMBER}x?){_END}"
)


class Score(Struct, frozen=True):
    """What one check or one benchmark said."""

    kind: PointKind
    text: str
    """The line; for a benchmark, the one with its headline."""
    passed: bool | None = None
    peak: float | None = None
    speedup: float | None = None


def scores(output: str) -> list[Score]:
    """What checks and benchmarks say in the output of a command, in order."""
    if not any(mark in output for mark in _MARKS):
        return []
    text = _ANSI.sub("", output) if "\x1b" in output else output
    return list(deque(_scores(text), MOST))


class _Benchmark(Struct):
    """The lines of one benchmark, while they come."""

    shape: str = ""
    peak: str = ""
    speedup: str = ""
    result: str = ""

    @property
    def score(self) -> Score | None:
        """What it said; None if it said nothing."""
        text = self.peak or self.speedup or self.result or self.shape
        if not text:
            return None
        return Score(
            PointKind.BENCHMARK, text, peak=_value(self.peak), speedup=_value(self.speedup)
        )


def _scores(text: str) -> Iterator[Score]:
    held = _Benchmark()
    for match in _recognised(text):
        name, line = match.lastgroup or "", match[0].strip()[:LONGEST]
        check = name in ("passed", "failed")
        # A benchmark prints its shapes, then its headline, then its judgement, each at most once.
        if check or _begins(held, name):
            if held.score:
                yield held.score
            held = _Benchmark()
        if check:
            yield Score(PointKind.CHECK, line, passed=name == "passed")
        else:
            setattr(held, name, line)
    if held.score:
        yield held.score


def _recognised(text: str) -> Iterator[re.Match[str]]:
    """The lines that a check or a benchmark prints."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, told in enumerate(lines):
        match = _LINE.match(told) if told.startswith(_BEGINNINGS) else None
        if match is not None and not (match["passed"] and _is_of_go(lines, number)):
            yield match


def _is_of_go(lines: Sequence[str], number: int) -> bool:
    """Whether the `PASS` in a line is that of `go test`."""
    before = lines[number - 1].lstrip() if number else ""
    behind = lines[number + 1] if number + 1 < len(lines) else ""
    return before.startswith(_GO_BEFORE) or _GO_BEHIND.match(behind) is not None


def _begins(held: _Benchmark, name: str) -> bool:
    """Whether a line is the first of another benchmark than the one that is held."""
    if name == "shape":
        return bool(held.peak or held.speedup or held.result)
    return bool(getattr(held, name))


def _value(line: str) -> float | None:
    """The number at the end of a line; None for none, and for one that is no size."""
    found = re.search(_NUMBER + r"x?$", line)
    value = float(found[1]) if found else math.nan
    return value if math.isfinite(value) else None
