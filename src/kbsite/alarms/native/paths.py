"""Rules on which way host code goes: by size, and when something fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.library import library_call, method_call
from kbsite.alarms.native.state import branches
from kbsite.alarms.native.tokens import Kind
from kbsite.alarms.native.unit import Function, Place, Unit
from kbsite.model.alarm import Alarm, Level

_LESS: Final = re.compile(
    r"fp16|half|bf16|bfloat|tf32|fp8|e4m3|approx|lowp|low_prec|fast_?(?!div|mod)|cheap|sloppy", re.I
)
_FULL: Final = re.compile(r"fp32|float32|exact|full|precise|accurate|safe|ieee|ref", re.I)
_SIZES: Final = frozenset(("size", "sizes", "numel", "shape", "dim"))


def find(held: Unit) -> Iterator[Alarm]:
    """Paths of host code that only some inputs take."""
    for function in held.functions:
        if not function.is_kernel:
            yield from _by_size(held, function)
    yield from _caught(held)


def _by_size(held: Unit, function: Function) -> Iterator[Alarm]:
    noted = False
    for branch in branches(held, function.body):
        sizes = _literal_sizes(held, branch.test)
        if not sizes:
            continue
        at, end = branch.test[0], branch.body[1]
        inside = held.names_in(branch.body)
        other = held.names_in((end + 1, min(end + 60, function.body[1])))
        less, full = _matching(inside, _LESS), _matching(other, _FULL)
        if (less and not _matching(other, _LESS)) or (
            _matching(inside, _FULL) and _matching(other, _LESS)
        ):
            name = shown(sorted(less or _matching(other, _LESS))[0])
            saw = f"Inputs of certain sizes ({shown(sizes)}) take another path than others: {name}."
            level = Level.WARNING if full or _matching(inside, _FULL) or less else Level.NOTE
            yield held.alarm("shape-branch", level, saw, at, end)
        elif not noted:
            noted = True
            saw = f"Which path is taken depends on sizes: {shown(sizes)}."
            yield held.alarm("shape-branch", Level.NOTE, saw, at)


def _literal_sizes(held: Unit, test: Place) -> str:
    """The test, if it compares something with a size of at least 64 for equality."""
    for at in range(test[0], test[1]):
        if held.tokens[at][1] == "==" and held.tokens[at + 1][0] == Kind.NUMBER:
            digits = re.match(r"\d+", held.tokens[at + 1][1])
            if digits and len(digits[0]) < 12 and int(digits[0]) >= 64:
                return held.written((test[0] + 1, test[1] - 1))
    return ""


def _matching(names: frozenset[str], pattern: re.Pattern[str]) -> frozenset[str]:
    return frozenset(name for name in names if pattern.search(name))


def _caught(held: Unit) -> Iterator[Alarm]:
    """What takes over when something was thrown."""
    for at in held.names.get("catch", ()):
        opening = held.partner.get(at + 1, at) + 1
        closing = held.partner.get(opening)
        if closing is None:
            continue
        for name in sorted(held.names_in((opening, closing))):
            call = library_call(name) or method_call(name)
            if call is not None and call.family:
                saw = f"When something is thrown, {shown(name)} does the work instead."
                yield held.alarm("fallback", Level.ALARM, saw, at, closing)
                break
