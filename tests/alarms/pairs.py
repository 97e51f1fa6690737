"""A trick with the line that has to be told, and beside it an honest source that looks like it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from kbsite.model.alarm import Level
from kbsite.store.problems import StoredProblem
from tests.alarms.solutions import found, model

MARK = "# <<"
"""Ends a line that has to be told."""

WORK = "y = torch.empty_like(x)\n_double[(1,)](x, y, x.numel(), BLOCK=1024)\n"
HONEST = model(f"{WORK}return y")


@dataclass(frozen=True, slots=True)
class Pair:
    """What is told, and what is not."""

    id: str
    level: Level
    trick: str
    twin: str
    kind: str = ""


def ident(case: Pair) -> str:
    """What a pair is called in a list of tests."""
    return case.id.replace(" ", "-")


def imported(lines: str) -> str:
    """A solution that works, and runs these lines when it is imported."""
    return f"{HONEST}\n{textwrap.dedent(lines).strip()}\n"


def called(lines: str) -> str:
    """A solution that runs these lines in every call, before its own work."""
    return model(f"{textwrap.dedent(lines).strip()}\n{WORK}return y")


def told(text: str, kind: str, about: StoredProblem | None = None) -> list[tuple[Level, int]]:
    """The level and first line of each alarm of a kind."""
    return [(a.level, a.lines[0]) for a in found(text, about) if a.kind == kind]


def wanted(text: str, level: Level) -> list[tuple[Level, int]]:
    """The marked lines of a source, each with this level."""
    rows = enumerate(text.split("\n"), 1)
    marked = [number for number, row in rows if row.endswith(MARK)]
    assert marked, "a trick has a marked line"
    return [(level, number) for number in marked]
