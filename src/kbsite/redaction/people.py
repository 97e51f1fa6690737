"""Names of persons that their home folders told, where else they stand for the person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from kbsite.model.redaction import Form, Span
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.crowded import Past
from kbsite.redaction.rules import ESCAPED, ESCAPES

MOST: Final = 200
"""Persons that are looked for in one run."""

_WORD: Final = rb"(?:\b|" + ESCAPED + b")"
_BEFORE: Final = re.compile(
    rb"(?i)(?:-(?:home|Users)-|~|" + _WORD + rb"(?:user|username|user_name|login|logname"
    rb"|owner|author|account)\\{0,7}[\"']?\s{0,3}[:=]\s{0,3}\\{0,7}[\"']?|"
    + _WORD + rb"[ug]id=[0-9]+\(|" + _WORD + rb"groups=[0-9]+\(|,[0-9]+\(|[ug]id: \( *[0-9]+/ *|"
    rb"whoami(?:\s{1,2}|\\{1,4}n)|ustar(?:\x0000|  \x00)(?:[^\x00]{1,32}\x00{1,31})?)\Z"
)  # fmt: skip
_NEAR: Final = 48
"""Bytes before a name in which stands what tells that it is a person's, but for a listing."""
_HINT: Final = re.compile(rb"[-~:=(,/\x00]|whoami")
_HINTED: Final = 16
"""One of these stands in so many bytes before a name, or nothing there tells of it."""
_CALLING: Final = (
    b"chown chgrp su sudo ssh id groups usermod useradd adduser runuser passwd crontab squeue"
    b" loginctl"
).split()
_PROGRAMS: Final = Automaton((), [name + b" " for name in _CALLING])
_CALLED: Final = re.compile(
    _WORD + b"(?:" + b"|".join(_CALLING) + rb")(?: -[a-zA-Z]{0,8})* (?:[a-z0-9_.-]{1,32}:)?\Z"
)
"""Programs that are told whom to ask for."""
_ANSWER: Final = re.compile(
    rb"\"(?:stdout|content|text|output|aggregated_output|result)\\{0,7}\": ?\\{0,7}\"\Z"
)
_ANSWERED: Final = re.compile(rb"(?:\\{1,4}[nr]){0,2}\\{0,7}\"")
"""Before and behind what is all that a program said: `whoami`, most of the time."""
# Nearly all that is asked about are owners and groups of files in a listing: it is asked first.
_LISTED: Final = re.compile(
    rb"(?i)[-dl][-rwxst]{9}[@+.]?\s+(?:[0-9]+\s+(?:[A-Za-z0-9_.-]+\s+)?|(?:[A-Za-z0-9_.-]+/)?)\Z"
)
_MODE: Final = re.compile(rb"[-r][-w][-xsS][-r]")
_FOLDER: Final = (b"-home-", b"-Users-", b"/home/", b"/Users/")
"""The ends of most that tells a person before a name: harnesses name folders by whole paths. What
stands right behind a slash is found by its path, but not where it is coloured."""
_AFTER: Final = re.compile(
    rb"@[A-Za-z0-9-]{2,}[:.~$ \\\x1b]|@[A-Za-z0-9.-]+\Z|:[x*!]?:[0-9]+:|[ ]+(?:pts/|tty)[0-9]"
    rb"|[ ]+[0-9]+[ ]+[0-9]+\.[0-9][ ]+[0-9]+\.[0-9][ ]|[ ]+(?:R|PD|CG)[ ]+[0-9]"
)
_FIRST: Final = re.compile(rb"[A-Za-z0-9_.\x80-\xff-]{1,64}")
_SHARED: Final = (
    rb"/(?:u|homes|nethome|scratch|data|nfs|lustre|gpfs|fsx|efs|mnt|media|export|storage|local|work|users|projects"
    rb"|raid|ssd|nvme|tmp)[0-9]{0,3}\\{0,7}/"
)
"""Folders of machines that many use, in which each has one of their name."""
_APART: Final = rb"[^/\\A-Za-z0-9_]"
_BEGINS: Final = b"(?:" + b"|".join((*ESCAPES, _APART)) + b")"
_TAPED: Final = rb"[xtTs.+@-][ ]+"
_STARTS: Final = tuple(map(re.compile, (_APART, *ESCAPES, _SHARED, _TAPED, b"/", b"ustar\x0000")))
_COLOURS: Final = rb"(?:(?:\x1b|\\{1,4}(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,16}[mK]){1,4}"
_COLOURING: Final = (b"m", b"K")
_COLOURED: Final = re.compile(_COLOURS + rb"\Z")
_COLOURS_BEHIND: Final = re.compile(_COLOURS + rb"(?=@)")


class People:
    """Finds names of persons by what stands around them: alone, a name may be any word."""

    def __init__(self, names: Iterable[bytes]) -> None:
        # Most names within a path are found by its path; those are many, and none is looked at.
        self._names = frozenset(islice(names, MOST))
        names = [re.escape(name) for name in sorted(self._names)]
        pieces = [_BEGINS + name + rb"[^A-Za-z0-9_/]" for name in names]
        # Owners and groups in what `tar -tv` says, and owners in its archives.
        pieces += [_TAPED + name + b"/" for name in names]
        pieces += [b"/" + name + b" +[0-9]" for name in names]
        pieces += [b"ustar\x0000" + name + b"\x00" for name in names]
        pieces += [_SHARED + name + rb"[^A-Za-z0-9_.-]" for name in names]
        self._gate = Automaton(pieces)

    def looked(self, data: bytes, start: int, end: int, past: Past) -> Iterator[Span]:
        """Where a part of some bytes names one of them; empty where it may be any word.

        Whoever goes through them may go on further behind, at `past`.
        """
        if start <= 0:
            yield from self._first(data)
        found = self._gate.next(data, max(0, start - 1), end)
        while found:
            at, text = found
            first, last = self._within(at, text)
            yield Span(first, last if self._is_told(data, at, first, last) else first, "home",
                       Form.SHAPE)  # fmt: skip
            # What ends one name may begin the next: an owner and a group.
            found = self._gate.next(data, max(last, min(past.at, end)), end)

    def _first(self, data: bytes) -> Iterator[Span]:
        """The name that a text begins with, before which nothing stands."""
        word = _FIRST.match(data)
        if word and word[0] in self._names:
            last = word.end()
            if data[last:].isspace() or self._is_told(data, 0, 0, last):
                yield Span(0, last, "home", Form.SHAPE)

    def _within(self, at: int, text: bytes) -> tuple[int, int]:
        """Where the name begins and ends in what the automaton found at a place."""
        name = text[:-1].rstrip(b" ")
        ends = (one.end() for start in _STARTS if (one := start.match(text)))
        begin = next((end for end in ends if name[end:] in self._names), 1)
        return at + begin, at + len(name)

    def _is_told(self, data: bytes, at: int, first: int, last: int) -> bool:
        """Whether what stands around a name says that it is a person's."""
        if data[at : at + 1] == b"/" and first > at + 1:
            return True
        if data[first - 1 : first] in _COLOURING:
            colour = _COLOURED.search(data, max(0, first - 80), first)
            first = colour.start() if colour else first
        behind = _COLOURS_BEHIND.match(data, last)
        last = behind.end() if behind else last
        before, after = data[max(0, first - 80) : first], data[last : last + 64]
        return _is_listed(before) or _is_answer(before, after) or _is_called(before, after)


def _is_listed(before: bytes) -> bool:
    """Whether what stands before a name is a folder's, or a line of a listing."""
    return before.endswith(_FOLDER) or bool(_MODE.search(before) and _LISTED.search(before))


def _is_answer(before: bytes, after: bytes) -> bool:
    """Whether a name is what a program answered who is asked for no more than that."""
    answered = before.endswith(b'"') and _ANSWER.search(before)
    return bool(answered and _ANSWERED.match(after))


def _is_called(before: bytes, after: bytes) -> bool:
    """Whether the words beside a name call it a person's."""
    if _AFTER.match(after):
        return True
    near = before[-_NEAR:]
    if near.endswith((b" ", b":")) and _PROGRAMS.stands_in(near) and _CALLED.search(near):
        return True
    return bool(_HINT.search(near[-_HINTED:]) and _BEFORE.search(near))
