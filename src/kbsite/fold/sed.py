"""What `sed -i` makes of a text, for scripts of substitutions and deletions.

Patterns are matched as POSIX says, leftmost and longest, by a matcher of their own: it takes time
in proportion to the text, where those of others can be made to take forever. Whatever is not
known for sure to mean here what it means to sed has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from kbsite.fold.sed_patterns import Pattern, UnclearError, pattern
from kbsite.fold.work import LARGEST, Work

STEPS = 2_000_000
"""Comparisons of a pattern with a character after which there is no answer."""

DEAR = 60
"""Characters of a transcript's work at which a step is counted: more than it takes, since a script
of any length costs its writer nothing, and no session of a person's edits comes near."""

# In steps, what is done beside comparisons.
_COMMAND = 100
"""To read a command of a script."""
_LETTER = 8
"""To read a letter of one."""
_LINE = 6
"""To tell whether a command is for a line."""
_PIECES = 10
"""To put something in."""

_ADDRESS = re.compile(r"(?P<number>\d{1,9})|(?P<last>\$)|/(?P<pattern>(?:[^/\\\n]|\\.)+)/")
_FLAGS = re.compile(r"(g|\d{1,4})?[ \t]*(?=[;\n]|\Z)")
_REFERENCE = re.compile(r"\\(.)|(&)", re.DOTALL)
_LITERAL = {"n": "\n", "t": "\t", "\n": "\n"}


class _Address(Struct, frozen=True):
    """Which lines a command is for; one of the three."""

    number: int = 0
    last: bool = False
    pattern: Pattern | None = None


class _Command(Struct):
    """A deletion, or a substitution."""

    addresses: tuple[_Address, ...]
    pattern: Pattern | None = None
    pieces: tuple[str | int, ...] = ()
    """What is put in: texts, and numbers of groups; 0 is the whole match."""
    nth: int = 1
    every: bool = False
    until: int = 0
    """The line that its range reaches to, while it is within one; -1 where a pattern ends it."""


def edited(
    text: str, scripts: Sequence[str], *, extended: bool = False, work: Work | None = None
) -> str | None:
    """A text after `sed -i` with these scripts; None where that cannot be told.

    The steps that it takes are taken off what is left of the `work`.
    """
    budget = _Budget(STEPS, LARGEST)
    try:
        commands = [c for script in scripts for c in _commands(script, budget, extended=extended)]
        if _deletes_before_a_range(commands):
            return None
        simple = all(held.literal for c in commands for held in _patterns(c))
        if not simple and not text.isascii():
            return None
        return _run(text, commands, budget)
    except UnclearError:
        return None
    finally:
        if work is not None:
            work.take(min(STEPS - budget.left, STEPS) * DEAR)


def _deletes_before_a_range(commands: Sequence[_Command]) -> bool:
    """Whether a range may miss the lines at its ends, which is for sed to make sense of."""
    kinds = [(one.pattern is None, len(one.addresses) == 2) for one in commands]
    deletes = next((n for n, (delete, _) in enumerate(kinds) if delete), len(kinds))
    return any(ranged for _, ranged in kinds[deletes + 1 :])


def _patterns(command: _Command) -> list[Pattern]:
    held = [command.pattern, *(address.pattern for address in command.addresses)]
    return [one for one in held if one is not None]


def _commands(script: str, budget: _Budget, *, extended: bool) -> list[_Command]:
    found: list[_Command] = []
    at = _past_space(script, 0)
    budget.take(len(script) * _LETTER)
    while at < len(script):
        budget.take(_COMMAND)
        addresses, at = _addresses(script, at, extended=extended)
        kind, at = script[at : at + 1], at + 1
        if kind == "d":
            found.append(_Command(addresses))
            end = _FLAGS.match(script, at)
            if end is None or end[1]:
                raise UnclearError
            at = end.end()
        elif kind == "s":
            command, at = _substitution(script, at, addresses, extended=extended)
            found.append(command)
        else:
            raise UnclearError
        at = _past_space(script, at)
    return found


def _past_space(script: str, at: int) -> int:
    while script[at : at + 1] in (" ", "\t", ";", "\n"):
        at += 1
    return at


def _addresses(script: str, at: int, *, extended: bool) -> tuple[tuple[_Address, ...], int]:
    found: list[_Address] = []
    while len(found) < 2 and (match := _ADDRESS.match(script, at)):
        at = match.end()
        held = pattern(match["pattern"], "/", extended=extended) if match["pattern"] else None
        number = int(match["number"] or 0)
        if match["number"] and not number:
            raise UnclearError
        found.append(_Address(number, bool(match["last"]), held))
        if len(found) == 1 and script[at : at + 1] == ",":
            at += 1
        else:
            return tuple(found), at
    if found:
        raise UnclearError
    return (), at


def _substitution(
    script: str, at: int, addresses: tuple[_Address, ...], *, extended: bool
) -> tuple[_Command, int]:
    mark = re.escape(script[at : at + 1])
    if not script[at : at + 1].strip() or script[at] == "\\":
        raise UnclearError
    part = rf"((?:[^{mark}\\\n]|\\.)*){mark}"
    parts = re.compile(mark + part + part, re.DOTALL).match(script, at)
    flags = _FLAGS.match(script, parts.end()) if parts else None
    if parts is None or flags is None or flags[1] == "0":
        raise UnclearError
    made = pattern(parts[1], script[at], extended=extended)
    every = flags[1] == "g"
    pieces = tuple(_pieces(parts[2], script[at], made.groups))
    nth = int(flags[1]) if flags[1] and not every else 1
    return _Command(addresses, made, pieces, nth, every), flags.end()


def _pieces(put_in: str, mark: str, groups: int) -> list[str | int]:
    pieces: list[str | int] = []
    last = 0
    for match in _REFERENCE.finditer(put_in):
        pieces.append(put_in[last : match.start()])
        last, escaped = match.end(), match[1]
        if match[2]:
            pieces.append(0)
        elif escaped.isdigit():
            if not 1 <= int(escaped) <= groups:
                raise UnclearError
            pieces.append(int(escaped))
        elif escaped in _LITERAL:
            pieces.append(_LITERAL[escaped])
        elif escaped == mark or not escaped.isalnum():
            pieces.append(escaped)
        else:
            raise UnclearError
    return [*pieces, put_in[last:]]


class _Budget(Struct):
    left: int
    room: int
    """Characters that may still be put in."""

    def take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise UnclearError

    def put_in(self, piece: str) -> str:
        """The piece, for which there is room."""
        self.room -= len(piece)
        if self.room < 0:
            raise UnclearError
        return piece


def _run(text: str, commands: list[_Command], budget: _Budget) -> str:
    closed = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    kept: list[str] = []
    for number, line in enumerate(lines, start=1):
        space = line
        for command in commands:
            if not _is_for(command, number, len(lines), space, budget):
                continue
            if command.pattern is None:
                break
            space = _substituted(space, command, budget)
        else:
            kept.append(space)
    if len(kept) < len(lines) and not closed:
        raise UnclearError  # whether the last line keeps its end is for sed to say
    return "".join(f"{line}\n" for line in kept) if closed else "\n".join(kept)


def _is_for(command: _Command, number: int, last: int, space: str, budget: _Budget) -> bool:
    """Whether a command is for the line that is being read."""
    budget.take(_LINE)
    if not command.addresses:
        return True
    if len(command.addresses) == 1:
        return _fits(command.addresses[0], number, last, space, budget)
    start, end = command.addresses
    if command.until:
        ends = command.until < 0 and _fits(end, number, last, space, budget)
        command.until = 0 if ends or number == command.until else command.until
        return True
    if not _fits(start, number, last, space, budget):
        return False
    until = last if end.last else end.number or -1
    command.until = until if until < 0 or until > number else 0
    return True


def _fits(address: _Address, number: int, last: int, space: str, budget: _Budget) -> bool:
    if address.pattern is not None:
        return address.pattern.search(space, 0, budget.take) is not None
    return number == (last if address.last else address.number)


def _substituted(space: str, command: _Command, budget: _Budget) -> str:
    assert command.pattern is not None
    pieces, at, nth = [], 0, 0
    while (match := command.pattern.search(space, at, budget.take)) is not None:
        nth += 1
        first, end = match[0]
        if nth > 1 and first == end == at:
            break  # nothing, right behind a match, is no match
        pieces.append(space[at:first])
        budget.take(_PIECES + len(command.pieces))
        if nth >= command.nth:
            held = (p if isinstance(p, str) else space[slice(*match[p])] for p in command.pieces)
            pieces.extend(map(budget.put_in, held))
        else:
            pieces.append(space[first:end])
        at = end
        if end == first or (nth >= command.nth and not command.every):
            break
    return "".join([*pieces, space[at:]])
