"""A key kept out of what others get to see: answers, errors, log lines, in each of its forms."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Final

LEAST: Final = 8
"""Bytes of a form that is looked for; shorter ones stand in texts by chance."""

_MOST_BACKSLASHES: Final = 8
"""Before what is escaped: each text that is written as JSON within another doubles them."""


def forms(secret: str) -> tuple[bytes, ...]:
    """The ways in which a text may hold a secret as a whole, the longest first.

    In hexadecimal digits, and the part of base64 that each of three alignments leaves the same.
    """
    data = secret.encode()
    found = {data.hex().encode(), data.hex().upper().encode()}
    for shift in range(3):
        held = data[shift:]
        inner = base64.b64encode(held[: len(held) // 3 * 3])
        found |= {inner, inner.translate(bytes.maketrans(b"+/", b"-_"))}
    return tuple(sorted((one for one in found if len(one) >= LEAST), key=len, reverse=True))


def spellings(character: str) -> frozenset[bytes]:
    """The ways in which a text may hold a character of a secret, whatever it does with others.

    As it is, as JSON may write it, in JSON within JSON too, or URL-encoded.
    """
    data = character.encode()
    units = character.encode("utf-16-be")
    escapes = [f"u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
    found = {data, *_any_case([f"%{byte:02x}" for byte in data])}
    for count in range(1, _MOST_BACKSLASHES + 1):
        backslashes = "\\" * count
        found |= _any_case([backslashes + escape for escape in escapes])
        if character in '"/\\':
            found.add(backslashes.encode() + data)
    return frozenset(found)


def _any_case(words: list[str]) -> set[bytes]:
    """Escapes one after the other, with hexadecimal digits in capitals or not."""
    text = "".join(words)
    choices = [one + one.upper() if one in "abcdef" else one for one in text]
    return {"".join(chosen).encode() for chosen in product(*choices)}


class _Spelled:
    """A secret, or a form of one, that is spelled a character at a time, each in some way."""

    def __init__(self, characters: Sequence[frozenset[bytes]]) -> None:
        self._ways = [tuple(sorted(one, key=len, reverse=True)) for one in characters]
        parts = (b"|".join(map(re.escape, ways)) for ways in self._ways)
        self._whole = re.compile(b"".join(b"(?:%s)" % part for part in parts))
        self._starts = re.compile(b"|".join({re.escape(one[:1]) for one in self._ways[0]}))
        self._longest = sum(len(ways[0]) for ways in self._ways)
        self._bytes = bytes({byte for ways in self._ways for one in ways for byte in one})
        sure = (ways[0] if len(ways) == 1 else b"\0" for ways in self._ways)
        self._part = max(b"".join(sure).split(b"\0"), key=len)
        """What has to stand there, whatever the ways: to look for that alone is quick."""

    def without(self, data: bytes) -> bytes:
        """The same bytes with stars in its place."""
        return self._whole.sub(_stars, data) if self._part in data else data

    def begun(self, data: bytes) -> int:
        """How many bytes at the end of data may begin it; 0 for none."""
        start = max(len(data.rstrip(self._bytes)), len(data) - self._longest + 1)
        for found in self._starts.finditer(data, start):
            if self._may_begin(data, found.start()):
                return len(data) - found.start()
        return 0

    def _may_begin(self, data: bytes, start: int) -> bool:
        """Whether data ends before it could show that this is not spelled from there on."""
        ends = {start}
        for ways in self._ways:
            if any(_is_cut(data, end, ways) for end in ends):
                return True
            ends = {end for end in ends if data.startswith(ways, end)}
            if not ends:
                return False
            ends = {end + len(one) for end in ends for one in ways if data.startswith(one, end)}
        return False


class Hiding:
    """Replaces a secret by stars, as many as it has bytes: no length of a message changes.

    For a stream: what may be the beginning of a secret waits for the next piece.
    """

    def __init__(self, secret: str | None) -> None:
        self._written = _written(secret) if secret else ()
        self._waiting = b""

    def feed(self, piece: bytes) -> bytes:
        """What can be passed on now that a piece came."""
        data = self.within(self._waiting + piece)
        kept = max((one.begun(data) for one in self._written), default=0)
        self._waiting = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """What still waited, at the end."""
        held, self._waiting = self._waiting, b""
        return held

    def within(self, data: bytes) -> bytes:
        """A whole message without the secret."""
        for one in self._written:
            data = one.without(data)
        return data

    def text(self, text: str) -> str:
        """A whole text without the secret."""
        return self.within(text.encode(errors="replace")).decode(errors="replace")


def _is_cut(data: bytes, end: int, ways: tuple[bytes, ...]) -> bool:
    """Whether data ends within a way to write a character, the longest of them first."""
    if len(data) - end > len(ways[0]):
        return False
    rest = data[end:]
    return any(one.startswith(rest) for one in ways)


@lru_cache(maxsize=4)
def _written(secret: str) -> tuple[_Spelled, ...]:
    """All that is looked for: it takes longer to make than to use, and is for each exchange."""
    held = [[_in_form(one) for one in form.decode()] for form in forms(secret)]
    return tuple(map(_Spelled, [*held, [spellings(one) for one in secret]]))


def _in_form(character: str) -> frozenset[bytes]:
    """The ways to write a character of digits or of base64: its letters stand for themselves."""
    return spellings(character) if character in "+/" else frozenset({character.encode()})


def _stars(found: re.Match[bytes]) -> bytes:
    return b"*" * len(found[0]) if len(found[0]) >= LEAST else found[0]
