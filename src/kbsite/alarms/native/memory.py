"""Rules on memory: searches in that of others, inputs that change, outputs that nothing writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.state import IDENTITY
from kbsite.alarms.native.tokens import Kind
from kbsite.alarms.native.unit import Function, Unit
from kbsite.model.alarm import Alarm, Level

_PROC: Final = re.compile(r"/proc/(?:self|thread-self|%d|\d+)?/?(?:mem|maps|smaps|pagemap|task)\b")
_HEXADECIMAL: Final = re.compile(r"0[xX][0-9a-fA-F']+")
_PAGE: Final = 0x1000
_MADE: Final = re.compile(
    r"(?:torch|at)::(?:empty|empty_like|empty_strided|empty_cuda)$|new_empty$"
)
_ALLOCATES: Final = re.compile(r"alloc|empty|workspace|scratch|buffer", re.I)
_ZEROES: Final = ("cudaMemsetAsync", "cudaMemset", "cuMemsetD8Async", "hipMemsetAsync", "hipMemset",
                  "cuMemsetD32Async")  # fmt: skip
_FILLS: Final = ("zero_", "fill_", "zero", "copy_", "normal_", "uniform_", "set_")


def find(held: Unit) -> Iterator[Alarm]:
    """What a source does with memory that is not its to read or to write."""
    for at, text in held.strings:
        if _PROC.search(text):
            saw = f"{shown(text)} is opened: the memory of a process as a file."
            yield held.alarm("memory-scan", Level.ALARM, saw, at)
    yield from _addresses(held)
    for function in held.functions:
        if not function.is_kernel:
            yield from _cleared(held, function)
            yield from _unwritten(held, function)


def _addresses(held: Unit) -> Iterator[Alarm]:
    """Addresses that are worked out: rounded to pages and more, or given as numbers."""
    for at in (*held.signs.get("~", ()), *held.numbers):
        if held.tokens[at][1] == "~" and _rounds(held, at):
            saw = "The address of a tensor is rounded down to memory that is not its own."
            yield held.alarm("memory-scan", Level.ALARM, saw, at)
            return
        if held.tokens[at][0] == Kind.NUMBER and _is_address(held, at):
            saw = f"{shown(held.tokens[at][1])} is taken for an address."
            yield held.alarm("memory-scan", Level.WARNING, saw, at)
            return


def _rounds(held: Unit, at: int) -> bool:
    """Whether the address of a tensor is rounded there to at least a page."""
    if held.before(at) not in ("&", "&="):
        return False
    near = {text for _, text, _ in held.tokens[max(0, at - 60) : at]}
    number = next((text for kind, text, _ in held.tokens[at : at + 8] if kind == Kind.NUMBER), "")
    return _number(number) >= _PAGE - 1 and not near.isdisjoint(IDENTITY)


def _is_address(held: Unit, at: int) -> bool:
    """Whether a large number is cast to a pointer."""
    if held.before(at) not in (")", "(") or _number(held.tokens[at][1]) <= 1 << 32:
        return False
    return any(text == "*" for _, text, _ in held.tokens[max(0, at - 3) : at])


def _number(text: str) -> int:
    found = _HEXADECIMAL.match(text)
    if found:
        return int(found[0].replace("'", "")[2:] or "0", 16)
    digits = re.match(r"[\d']{1,30}", text)
    return int(digits[0].replace("'", "") or "0") if digits else 0


def _parameters(held: Unit, function: Function) -> frozenset[str]:
    return frozenset(
        held.tokens[at][1]
        for at in range(*function.head)
        if held.tokens[at][0] == Kind.NAME and held.after(at) in (",", ")", "=")
    )


def _cleared(held: Unit, function: Function) -> Iterator[Alarm]:
    """Inputs that are overwritten once a kernel has read them."""
    last = function.body[1]
    done = held.launched_in(function.body)
    given = _parameters(held, function)
    if not done:
        return
    read = {text for _, text, _ in held.tokens[done[0] : last]} & given
    for at in range(done[-1], last):
        text = held.tokens[at][1]
        if text in _ZEROES and held.after(at) == "(":
            name = held.tokens[at + 2][1]
        elif text in _FILLS and held.before(at) == "." and held.after(at) == "(":
            name = held.before(at - 1)
        else:
            continue
        if name in read:
            saw = f"{shown(name)}, which was given, is overwritten after the kernel."
            yield held.alarm("input-change", Level.ALARM, saw, at)
            return


def _unwritten(held: Unit, function: Function) -> Iterator[Alarm]:
    """Outputs that are handed back as they were allocated."""
    first, last = function.body
    words = [held.tokens[at][1] for at in range(first, last)]
    short = len(words) < 60 and not _ALLOCATES.search(function.name)
    for place, word in enumerate(words):
        if place < 2 or not _MADE.search(word):
            continue
        sign, name = words[place - 1], words[place - 2]
        if sign == "return" and short and _gives_tensor(held, function):
            saw = f"{shown(function.name)} hands back memory that nothing has written."
            yield held.alarm("uninitialised-output", Level.WARNING, saw, first + place)
        elif sign == "=" and words.count(name) == 2 and _returned(words[place:]) == name:
            saw = f"{shown(name)} is handed back, and nothing has written to it."
            yield held.alarm("uninitialised-output", Level.ALARM, saw, first + place)


def _gives_tensor(held: Unit, function: Function) -> bool:
    begin = function.head[0]
    return any(text.endswith("Tensor") for _, text, _ in held.tokens[begin : begin + 3])


def _returned(words: list[str]) -> str:
    """What the first return hands back, if that is a name."""
    return words[words.index("return") + 1] if "return" in words[:-1] else ""
