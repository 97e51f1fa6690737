"""Other ways to write what rules look for: a stretch of bytes read as what it says.

A view holds the bytes that a stretch stands for, and where each of them is written.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kbsite.model.redaction import Form

AROUND: Final = 4096
"""Bytes before and behind a place that are read as what they say."""

JSON_GATE: Final = (
    rb"\\u00(?:[46][1-9A-Fa-f]|[57][0-9Aa]|3[0-9Aa]|2[Dd]|5[Ff]|40)|\\/(?:home|Users)\\/|:\\/\\/"
    rb"|[A-Za-z0-9]\\/[A-Za-z0-9]"
)
URL_GATE: Final = rb"%(?:[46][1-9A-Fa-f]|[57][0-9Aa]|3[0-9]|2[Dd]|5[Ff])[A-Za-z0-9%_-]"

_ESCAPE: Final = re.compile(rb"\\+u00([0-7][0-9A-Fa-f])|\\+/")
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True)
class View:
    """A stretch read as what it says."""

    form: Form
    data: bytes
    starts: tuple[int, ...] | range
    """Where each of its bytes begins in what was read."""
    ends: tuple[int, ...] | range

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of what it says is written."""
        return self.starts[start], self.ends[end - 1]


def unescaped(data: bytes, start: int, end: int, form: Form) -> View:
    """A stretch with the escapes of JSON, however often they are escaped, or of URLs resolved."""
    while start and data[start - 1 : start] in (b"\\", b"%"):
        start -= 1
    pattern = _ESCAPE if form is Form.JSON else _PERCENT
    held, starts, ends, at = bytearray(), list[int](), list[int](), start
    for one in pattern.finditer(data, start, end):
        held += data[at : one.start()]
        starts += range(at, one.start())
        ends += range(at + 1, one.start() + 1)
        held.append(int(one[1], 16) if one[1] else ord("/"))
        starts.append(one.start())
        ends.append(one.end())
        at = one.end()
    held += data[at:end]
    starts += range(at, end)
    ends += range(at + 1, end + 1)
    return View(form, bytes(held), tuple(starts), tuple(ends))


def fragments(literal: bytes) -> Iterator[tuple[bytes, Form, int]]:
    """How a literal stands in base64 and hexadecimal: its form, and how many bytes into a group.

    Of base64 only what does not hang on the bytes before and behind.
    """
    yield literal.hex().encode(), Form.HEX, 0
    yield literal.hex().upper().encode(), Form.HEX, 0
    for shift in range(3):
        written = base64.b64encode(b"\0" * shift + literal)
        first, last = (0, 2, 3)[shift], (shift + len(literal)) * 8 // 6
        for piece in dict.fromkeys((written[first:last], _safe(written[first:last]))):
            yield piece, Form.BASE64, shift


def _safe(piece: bytes) -> bytes:
    return piece.translate(bytes.maketrans(b"+/", b"-_"))


def decoded(data: bytes, at: int, form: Form, shift: int) -> View:
    """The stretch of base64 or hexadecimal digits around a fragment, as the bytes it stands for.

    `at` is where the fragment begins, `shift` what `fragments` says of it.
    """
    alphabet = _BASE64 if form is Form.BASE64 else _HEX
    first, last = at, at
    while first > max(0, at - AROUND) and data[first - 1] in alphabet:
        first -= 1
    while last < min(len(data), at + AROUND) and data[last] in alphabet:
        last += 1
    if form is Form.HEX:
        first += (at - first) % 2
        size = (last - first) // 2
        held = bytes.fromhex(data[first : first + 2 * size].decode("ascii"))
        return View(form, held, range(first, first + 2 * size, 2), range(first + 2, last + 2, 2))
    # The fragment begins with the first digit that is all its own.
    group = at - (0, 2, 3)[shift]
    first = max(first, group - (group - first) // 4 * 4) if group >= first else group + 4
    digits = data[first:last].translate(_STANDARD)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    held = base64.b64decode(digits + b"=" * (-len(digits) % 4))
    starts = tuple(first + number * 8 // 6 for number in range(len(held)))
    ends = tuple(first + -(-(number + 1) * 8 // 6) for number in range(len(held)))
    return View(form, held, starts, ends)
