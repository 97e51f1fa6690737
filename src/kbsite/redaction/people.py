"""Names of persons that their home folders told, where else they stand for the person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from kbsite.model.redaction import Form, Span
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.crowded import Past

MOST: Final = 200
"""Persons that are looked for in one run."""

_BEFORE: Final = re.compile(
    rb"(?i)(?:-(?:home|Users)-|~|\b(?:user|username|user_name|login|logname|owner|author|account)"
    rb"\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?|\b[ug]id=[0-9]+\(|\bgroups=[0-9]+\("
    rb"|[-dl][-rwxsStT]{9}[@+.]?\s+[0-9]+\s+(?:[A-Za-z0-9_.-]+\s+)?)\Z"
)
_FOLDER: Final = (b"-home-", b"-Users-")
"""The ends of most that tells a person before a name: harnesses name folders by whole paths."""
_AFTER: Final = re.compile(rb"@[A-Za-z0-9-]{2,}[:.~$ \\]|@[A-Za-z0-9.-]+\Z")


class People:
    """Finds names of persons by what stands around them: alone, a name may be any word."""

    def __init__(self, names: Iterable[bytes]) -> None:
        # A name within a path is found by its path; those are many, and none of them is looked at.
        pieces = [
            rb"[^/\\A-Za-z0-9_]" + re.escape(name) + rb"[^A-Za-z0-9_/]"
            for name in islice(names, MOST)
        ]
        self._gate = Automaton(sorted(pieces))

    def looked(self, data: bytes, start: int, end: int, past: Past) -> Iterator[Span]:
        """Where a part of some bytes names one of them; empty where it may be any word.

        Whoever goes through them may go on further behind, at `past`.
        """
        found = self._gate.next(data, max(0, start - 1), end)
        while found:
            at, text = found
            first, last = at + 1, at + len(text) - 1
            before, after = data[max(0, first - 80) : first], data[last : last + 64]
            told = before.endswith(_FOLDER) or _BEFORE.search(before) or _AFTER.match(after)
            yield Span(first, last if told else first, "home", Form.SHAPE)
            found = self._gate.next(data, max(at + len(text), min(past.at, end)), end)
