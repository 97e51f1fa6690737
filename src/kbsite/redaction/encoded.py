"""Other ways to write what rules look for: a stretch of bytes read as what it says.

A view holds the bytes that a stretch stands for, and where each of them is written.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from msgspec import Struct

from kbsite.model.redaction import Form

AROUND: Final = 4096
"""Bytes before and behind a place that are read as what they say."""

JSON_GATE: Final = (
    rb"\\u00(?:[46][1-9A-Fa-f]|[57][0-9Aa]|3[0-9AaDd]|2[27Dd]|5[Ff]|40)|\\/(?:home|Users)\\+/"
    rb"|:\\+/\\+/|[A-Za-z0-9]\\+/[A-Za-z0-9]"
)
CODE_GATE: Final = (
    rb"\\x[2-7][0-9A-Fa-f]\\+x[2-7]|\\(?:0[4-7]|1[0-7])[0-7]\\+[01][0-7]"
    rb"|\\u\{0*[2-7][0-9A-Fa-f]\}\\+u\{|\\U000000[2-7][0-9A-Fa-f]\\+U"
    rb"|&#(?:[xX]0*[2-7][0-9A-Fa-f]|0*(?:1[0-2][0-9]|[3-9][0-9]));&#"
)
"""Two letters as `printf` and strings of code may have them, or as HTML may: one says nothing."""
COLOUR: Final = rb"(?:\x1b|\\{1,4}u001[bB])\["
"""How an escape of a terminal begins, as it is or as JSON writes it."""
COLOUR_GATE: Final = (
    rb"[_-]" + COLOUR + rb"[0-9;]*[mK]|\[0?m(?:" + COLOUR + rb"K)?[_-][A-Za-z0-9]{8}"
)
"""Where a program, `grep` say, coloured how a token begins."""
URL_GATE: Final = (
    rb"%(?:[46][1-9A-Fa-f]|40|[57][0-9Aa]|3[0-9ADad]|2[02578CDcd]|5[Ff])[A-Za-z0-9%_-]"
)

_JSON_MATCH: Final = 6
_URL_MATCH: Final = 4
"""Bytes of a match that tells an escape; one that goes on is a token behind it."""

_ESCAPE: Final = re.compile(
    rb"\\{1,64}+(?:u00([0-7][0-9A-Fa-f])|[/_]|x([2-7][0-9A-Fa-f])|([01][0-7]{2})"
    rb"|u\{0{0,4}([2-7][0-9A-Fa-f])\}|U000000([2-7][0-9A-Fa-f]))"
    rb"|&#(?:[xX]0{0,6}([2-7][0-9A-Fa-f])|0{0,6}(1[0-2][0-9]|[3-9][0-9]));"
)
_BASES: Final = (0, 16, 16, 8, 16, 16, 16, 10)
"""What each of its groups counts in."""
_COLOURED: Final = re.compile(rb"(?:" + COLOUR + rb"[0-9;]{0,16}[mK]){1,4}([\x21-\x7e])")
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_PATTERNS: Final = {Form.JSON: _ESCAPE, Form.URL: _PERCENT, Form.COLOUR: _COLOURED}
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_HEX: Final = b"0123456789abcdefABCDEF"
_GOES_ON: Final = {
    Form.BASE64: re.compile(b"[" + re.escape(_BASE64) + b"]*"),
    Form.HEX: re.compile(b"[" + _HEX + b"]*"),
}
GROUP: Final = (0, 2, 3, 1)
"""Digits of base64 before the first of a fragment, by what `fragments` says of it."""
_WITHIN: Final = 3
"""What it says of one that begins with a digit of which a part is the literal's own."""
_FEW: Final = 4
"""Digits of base64, of which fewer tell nothing."""
_ALL: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


class View(Struct, frozen=True):
    """A stretch read as what it says."""

    form: Form
    data: bytes
    start: int
    """Where it begins in what was read."""
    end: int
    escapes: tuple[tuple[int, int, int], ...] = ()
    """Bytes of what it says that are written otherwise: which, where they begin and end."""

    def places(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where a part of what it says is written: in one place."""
        if self.form is Form.HEX:
            yield self.start + 2 * start, self.start + 2 * end
        elif self.form is Form.BASE64:
            yield self.start + start * 8 // 6, self.start - (-end * 8 // 6)
        else:
            yield self._after(start), self._after(end - 1, 1)

    def _after(self, at: int, more: int = 0) -> int:
        """Where one byte of what it says begins; with 1 more, where it ends."""
        number = bisect_right(self.escapes, at, key=itemgetter(0)) - 1
        if number < 0:
            return self.start + at + more
        escape, first, last = self.escapes[number]
        if at == escape:
            return last if more else first
        return last + at - escape - 1 + more


def escape(text: bytes) -> Form | None:
    """What a match of one of both gates is written in; None for what only begins like one."""
    if text[:1] == b"%" and len(text) == _URL_MATCH:
        return Form.URL
    if text[:1] in b"_-[" and text[1:2] in b"\x1b\\0m":
        return Form.COLOUR
    is_json = (text[:2] == b"\\u" and len(text) == _JSON_MATCH) or b"\\/" in text
    return Form.JSON if is_json or is_code(text) or b"\\_" in text else None


def is_code(text: bytes) -> bool:
    """Whether a match of the automaton is of two letters that code has as numbers."""
    begins = text[:2] in (b"\\x", b"\\0", b"\\1", b"\\U", b"&#") or text[:3] == b"\\u{"
    return begins and text.count(text[:1]) > 1


def unescaped(data: bytes, start: int, end: int, form: Form) -> View:
    """A stretch with the escapes of JSON, however often they are escaped, or of URLs resolved.

    With those of JSON go the numbers that code and HTML have for letters.
    """
    before = data[max(0, start - 64) : start]
    start -= len(before) - len(before.rstrip(b"\\%"))
    pattern = _PATTERNS[form]
    held, escapes, at = bytearray(), list[tuple[int, int, int]](), start
    for one in pattern.finditer(data, start, end):
        first, last = one.span()
        held += data[at:first]
        escapes.append((len(held), first, last))
        held.append(_byte(one, form))
        at = last
    held += data[at:end]
    return View(form, bytes(held), start, end, tuple(escapes))


def _byte(one: re.Match[bytes], form: Form) -> int:
    """The byte that an escape stands for; behind colours it is itself."""
    if form is Form.COLOUR:
        return int(one[1][0])
    group = one.lastindex
    return int(one[group], _BASES[group]) if group else int(one[0][-1])


def fragments(literal: bytes) -> Iterator[tuple[bytes, Form, int]]:
    """How a literal stands in base64 and hexadecimal: its form, and how many bytes into a group.

    Of base64 only what does not hang on the bytes before and behind.
    """
    yield literal.hex().encode(), Form.HEX, 0
    yield literal.hex().upper().encode(), Form.HEX, 0
    for shift in range(3):
        written = base64.b64encode(b"\0" * shift + literal)
        first, last = GROUP[shift], (shift + len(literal)) * 8 // 6
        pieces = [(written[first:last], shift)]
        if last - first < _FEW and shift == 1:
            # Of the digit before, the last four bits are the literal's own.
            own = _ALL.index(written[first - 1]) % 16
            pieces = [(_ALL[n : n + 1] + pieces[0][0], _WITHIN) for n in range(own, 64, 16)]
        elif last - first < _FEW and shift == 2:
            # Of the digit behind, the first four.
            own = _ALL.index(written[last]) // 4 * 4
            pieces = [(pieces[0][0] + _ALL[n : n + 1], shift) for n in range(own, own + 4)]
        for piece, at in pieces:
            for one in dict.fromkeys((piece, _safe(piece))):
                yield one, Form.BASE64, at


def _safe(piece: bytes) -> bytes:
    return piece.translate(bytes.maketrans(b"+/", b"-_"))


def decoded(data: bytes, at: int, form: Form, shift: int, room: tuple[int, int]) -> View:
    """The stretch of base64 or hexadecimal digits around a fragment, as the bytes it stands for.

    `at` is where the fragment begins, `shift` what `fragments` says of it; `room` is what may be
    read.
    """
    digits = _BASE64 if form is Form.BASE64 else _HEX
    least, most = max(0, room[0]), min(len(data), room[1])
    first = least + len(data[least:at].rstrip(digits)) if least < at else at
    goes_on = _GOES_ON[form].match(data, at, most)
    last = goes_on.end() if goes_on else at
    if form is Form.HEX:
        first += (at - first) % 2
        last -= (last - first) % 2
        return View(form, bytes.fromhex(data[first:last].decode("ascii")), first, last)
    group = at - GROUP[shift]
    first = max(first, group - (group - first) // 4 * 4) if group >= first else group + 4
    held = data[first:last].translate(_STANDARD)
    held = held[: len(held) - (len(held) % 4 == 1)]
    return View(form, base64.b64decode(held + b"=" * (-len(held) % 4)), first, last)
