"""Pairs of solutions: one with a trick, whose lines are marked `#!`, and a near one without it."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

import pytest

from kbsite.model.alarm import Alarm, Level
from kbsite.store.problems import StoredProblem
from tests.alarms.solutions import found, model, read

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_MARK = re.compile(r"[ \t]*#!$", re.MULTILINE)

_WORK = """
def double(x):
    y = torch.empty_like(x)
    _double[(1,)](x, y, x.numel(), BLOCK=1024)
    return y


def double_into(x, y):
    _double[(1,)](x, y, x.numel(), BLOCK=1024)
"""


def solution(body: str, before: str = "", made: str = "") -> str:
    """A solution whose forward has this body; `double(x)` and `double_into(x, y)` do the work."""
    return model(body, _WORK + textwrap.dedent(before), made)


@dataclass(frozen=True, slots=True)
class Twins:
    """Two sources that differ in little but that one is a trick."""

    name: str
    kind: str
    level: Level
    trick: str
    twin: str
    problem: StoredProblem | None = None

    def alarms(self) -> list[Alarm]:
        """What is raised about the trick."""
        return found(_MARK.sub("", self.trick), self.problem)

    def right(self) -> list[Alarm]:
        """The alarms of its kind and level at the marked lines, no more and no fewer."""
        marked = [n for n, line in enumerate(self.trick.split("\n"), 1) if _MARK.search(line)]
        span = (marked[0],) if len(marked) == 1 else (marked[0], marked[-1])
        return [
            alarm for alarm in self.alarms()
            if (alarm.kind, alarm.level, alarm.lines) == (self.kind, self.level, span)
        ]  # fmt: skip

    def flagged(self) -> list[Alarm]:
        """What is raised above a note about the honest one, which is read to its end."""
        assert not read(self.twin).module.problem
        assert read(self.twin).entries
        return [alarm for alarm in found(self.twin, self.problem) if alarm.level is not NOTE]


def each(twins: list[Twins]) -> pytest.MarkDecorator:
    """A test for each of these pairs."""
    return pytest.mark.parametrize("pair", twins, ids=[pair.name for pair in twins])
