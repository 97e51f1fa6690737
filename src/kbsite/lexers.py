"""Pygments' lexers, which ask of their rules only those that can match where they are.

A lexer tries its rules one after the other at every word: fifty for a name in Python. What a rule's
pattern can begin with is known beforehand, so that most of them need not be tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as patterns  # type: ignore[attr-defined]
from typing import Any, Final

from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name

Rule = tuple[Any, Any, Any]
"""What matches a text at a place, what that is, and the state that follows."""

_ASCII: Final = frozenset(range(128))
_REPEATS: Final = frozenset({ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT})
_NOTHING: Final = frozenset({ops.AT, ops.ASSERT, ops.ASSERT_NOT})
"""What matches at a place, and takes no letter."""
_CATEGORIES: Final = {
    ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


@cache
def lexer(language: str) -> Lexer:
    """The lexer of a language, which keeps the line ends of a text as they are."""
    made: Lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    if isinstance(made, RegexLexer):
        # Pygments has no other place for the rules of a lexer that is made.
        held = made._tokens  # type: ignore[attr-defined]
        made._tokens = {name: _State(rules) for name, rules in held.items()}  # type: ignore[attr-defined]
    return made


class _State:
    """The rules of a state of a lexer, as it goes through them: those that can match first."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = list(rules)
        self._by_sign: dict[str, list[Rule]] | None = None
        self._asked = self._rules

    def __iter__(self) -> Iterator[Rule]:
        # Lexers try what they are given at the place where they are: this is how that is told.
        yield self._look, None, None
        yield from self._asked

    def _look(self, text: str, at: int, *_: int) -> None:
        """Matches nothing; the rules that follow are those that can match at this place."""
        if self._by_sign is None:
            known = [(rule, begins(rule[0].__self__)) for rule in self._rules]
            self._by_sign = {
                chr(sign): [rule for rule, signs in known if sign in signs] for sign in _ASCII
            }
        # All where a text ends, or goes on with what is no ASCII.
        self._asked = self._by_sign.get(text[at : at + 1], self._rules)


def begins(pattern: re.Pattern[str]) -> frozenset[int]:
    """The signs of ASCII before which a pattern can match; all of them where that is not told."""
    signs, goes_on = _first(patterns.parse(pattern.pattern, pattern.flags), pattern.flags)
    return _ASCII if goes_on else signs


_Told = tuple[frozenset[int], bool]
"""What a part of a pattern begins with, and whether it may take no letter at all."""

_ANYTHING: Final[_Told] = _ASCII, False


def _first(parts: Iterable[tuple[Any, Any]], flags: int) -> _Told:
    signs: frozenset[int] = frozenset()
    for op, value in parts:
        more, goes_on = _of(op, value, flags)
        signs |= more
        if not goes_on:
            return signs, False
    return signs, True


def _of(op: object, value: Any, flags: int) -> _Told:
    """What one part of a pattern begins with."""
    if op in _NOTHING:
        return frozenset(), True
    if op is ops.LITERAL:
        return _cased({value}, flags), False
    if op is ops.IN:
        return _among(value, flags), False
    if op is ops.BRANCH:
        told = [_first(one, flags) for one in value[1]]
        return frozenset().union(*(signs for signs, _ in told)), any(more for _, more in told)
    if op is ops.SUBPATTERN:
        return _first(value[3], (flags | value[1]) & ~value[2])
    if op in _REPEATS:
        signs, goes_on = _first(value[2], flags)
        return signs, goes_on or value[0] == 0
    # What is rarer is taken to begin with anything, or to be nothing.
    return _ANYTHING if op in (ops.NOT_LITERAL, ops.ANY) else (_ASCII, True)


def _among(parts: Iterable[tuple[Any, Any]], flags: int) -> frozenset[int]:
    """The signs of a set of signs."""
    signs: set[int] = set()
    negated = False
    for op, value in parts:
        if op is ops.NEGATE:
            negated = True
        elif op is ops.LITERAL:
            signs.add(value)
        elif op is ops.RANGE:
            signs.update(range(value[0], min(value[1], 128) + 1))
        else:
            signs |= _of_category(value)
    if negated:
        return _ASCII if flags & re.IGNORECASE else _ASCII - signs
    return _cased(signs, flags)


def _cased(signs: set[int], flags: int) -> frozenset[int]:
    """Signs of ASCII, in both cases where case means nothing."""
    if not flags & re.IGNORECASE:
        return _ASCII & signs
    if not signs <= _ASCII:
        # Some letters of other scripts are the same as one of ASCII.
        return _ASCII
    return frozenset(ord(one) for sign in signs for one in (chr(sign).upper() + chr(sign).lower()))


@cache
def _of_category(category: object) -> frozenset[int]:
    told = re.compile(_CATEGORIES[category]) if category in _CATEGORIES else None
    return frozenset(sign for sign in _ASCII if told is None or told.match(chr(sign)))
