"""The reference, handed in again: what it does compared with what the solution does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from kbsite.alarms.evidence import Source
from kbsite.alarms.python.module import parsed
from kbsite.alarms.python.reading import ENTRIES, Reading
from kbsite.alarms.python.scopes import Function
from kbsite.model.alarm import Alarm, Level

SPAN: Final = 6
"""Parts of a tree in a row that are compared as one."""

LEAST: Final = 30
"""Such rows that a reference must have to be told from any other code."""

SAME: Final = 0.75
"""The share of the reference's rows that stands in the solution from which it is a copy."""

_SKIPPED: Final = (ast.Load, ast.Store, ast.arguments, ast.arg, ast.Pass, ast.alias)


def find(reading: Reading) -> Iterator[Alarm]:
    """An alarm where what runs in a call is what the reference does."""
    problem = reading.evidence.problem
    if problem is None or not problem.reference:
        return
    wanted = _wanted(problem.reference)
    if len(wanted) < LEAST:
        return
    hot = [node for node in reading.functions if node in reading.hot]
    share = len(wanted & _rows(hot)) / len(wanted)
    if share >= SAME and hot:
        says = f"{share:.0%} of what the reference does stands in the solution, in the same order."
        yield reading.raised("reference-copy", Level.ALARM, says, reading.entries[0])


@lru_cache(maxsize=256)
def _wanted(source: str) -> frozenset[tuple[str, ...]]:
    """The rows of a reference, which all runs of its problem are held against."""
    reference = parsed(Source("reference.py", source))
    functions: list[Function] = [*reference.all(ast.FunctionDef)]
    return _rows(function for function in functions if function.name in ENTRIES)


def _rows(functions: Iterable[Function]) -> frozenset[tuple[str, ...]]:
    """The rows of parts of functions, without the names of what is theirs."""
    rows: set[tuple[str, ...]] = set()
    for function in functions:
        parts = [part for statement in function.body for part in _parts(statement)]
        rows |= {tuple(parts[at : at + SPAN]) for at in range(len(parts) - SPAN + 1)}
    return frozenset(rows)


def _parts(node: ast.AST) -> Iterator[str]:
    """The kinds of the nodes below a node in order, with the names of attributes."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if isinstance(at, _SKIPPED):
            continue
        yield at.attr if isinstance(at, ast.Attribute) else type(at).__name__
        waiting += reversed(list(ast.iter_child_nodes(at)))
