"""Dumps of bytes, as `od` and `xxd` show them over several lines: their lines read as the bytes.

That is digits (`od -t x1`, `od -t x1z`), letters (`od -c`), decimals (`od -t u1`), bits (`xxd -b`)
and code (`xxd -i`). A line begins with an address or, behind `-An`, with its first byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from kbsite.late import late
from kbsite.redaction.at_once import OVERLAP, READ
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.crowded import Past
from kbsite.redaction.dumps import SHOWN, Dump, Line, shown_as
from kbsite.redaction.wrapped import BREAK

_TWO: Final = rb" [0-9a-f]{2}"
_SHOWN: Final = rb"   [!#-\[\]-~]|  \\{1,16}[0abtnvfr\\]|   \\{0,15}\""
_ONE: Final = b"(?:" + _SHOWN + rb"| [0-3][0-7]{2}|    )"
"""What `od -c` writes for a byte, however often that stands in strings of JSON."""

_THREE: Final = rb" (?:  [0-9]| [0-9]{2}|[0-2][0-9]{2})"
"""What `od -t u1` writes for a byte."""
_BITS: Final = rb" [01]{8}"
_CODE: Final = rb"0x[0-9a-fA-F]{2}"

_TELLS: Final = b"[0-9a-f]{0,16}(?:%b)" % b"|".join((
    b"(?:" + _TWO + b"){8}",
    b"(?:" + _SHOWN + b")" + _ONE + b"{5}",
    b"(?:" + _THREE + b"){8}",
    b":(?:" + _BITS + b"){3}",
    b"  " + b", ".join(3 * [_CODE]),
))  # fmt: skip
_BREAK: Final = late(BREAK)
_PAIR: Final = late(rb"[0-9a-f]{2}")
_BYTE: Final = late(_ONE)
_HEX: Final = rb"(?:[0-9a-f]{6,16})?((?:" + _TWO + b"){1,64})(?![0-9a-f])( {2,200}>)?"
_LETTERS: Final = rb"(?:[0-9a-f]{6,16})?(" + _ONE + b"{1,64})"
_IN_HEX: Final = late(_HEX)
_IN_LETTERS: Final = late(_LETTERS)
_DECIMALS: Final = rb"(?:[0-9a-f]{6,16})?((?:" + _THREE + rb"){1,64})(?![0-9])"
_IN_BITS: Final = late(rb"[0-9a-f]{8,16}:((?:" + _BITS + rb"){1,64}) {2,400}")
_ADDRESSED: Final = rb"[0-9a-f]{8,16}:(?:" + _BITS + rb"){1,64} {2}[^\r\n]{1,400}?"
_ARRAY: Final = rb"[ \t]{1,8}(" + _CODE + rb"(?:, ?" + _CODE + rb"){0,63}),?"
_IN_DECIMALS: Final = late(_DECIMALS)
_IN_CODE: Final = late(_ARRAY)
_ROW: Final = (
    b"(?:" + _HEX + rb"(?:[^\r\n]{1,200}<)?|" + _LETTERS + b"|" + _DECIMALS + b"|" + _ADDRESSED
    + b"|" + _ARRAY + b")" + BREAK
)  # fmt: skip
_ABOVE: Final = late(_ROW + rb"\Z")
"""A line that ends where the next one begins."""
_TWO_LINES: Final = late(
    _ROW + b"(?:" + b"|".join((_HEX, _LETTERS, _DECIMALS, _ADDRESSED, _ARRAY)) + b")"
)
_LONGEST: Final = 400
"""Bytes of it that are looked at."""
_NUMBER: Final = late(rb"[0-9]+")
_NUMBER_IN_CODE: Final = late(rb"(?<=0x)[0-9a-fA-F]{2}")
_Read = Callable[[bytes, re.Match[bytes], int], tuple[Line, bytes, int]]
_ESCAPES: Final = dict(zip(b"0abtnvfr", b"\0\a\b\t\n\v\f\r", strict=True))
_BACKSLASH: Final = b"\\"


@cache
def _gates() -> tuple[tuple[bytes, Automaton], ...]:
    """How a line ends, and the next one begins.

    Each begins with fixed letters, which RE2 finds without looking at others one by one.
    """
    return tuple((ends, Automaton([re.escape(ends) + _TELLS])) for ends in (rb"\n", b"\n"))


def dumped(data: bytes, start: int, end: int, past: Past) -> Iterator[Dump]:
    """Dumps in a part of some bytes: those whose lines end as JSON has it, and then the others.

    Whoever goes through them may go on further behind, at `past`.
    """
    for ends, gate in _gates():
        past.at = until = start
        found = gate.next(data, start, end)
        while found:
            at = found[0] + len(ends)
            above = _ABOVE.search(data, max(until, at - _LONGEST), at)
            at, until = above.start() if above else at, at
            for rows in _read(data, at) if above or _TWO_LINES.match(data, at) else ():
                until = max(until, rows.end)
                yield rows
                if past.at > rows.end:
                    break
            found = gate.next(data, max(until, past.at), end)


def _read(data: bytes, at: int) -> Iterator[Dump]:
    """The dump that begins at a place, in pieces that overlap; nothing where it has one line."""
    again = at
    while again >= 0:
        rows, again = _rows(data, again)
        if len(rows.lines) > 1:
            yield rows


def _rows(data: bytes, start: int) -> tuple[Dump, int]:
    """A piece of a dump, and where the next one begins; -1 where there is none."""
    held, lines, at, again = bytearray(), list[Line](), start, -1
    pattern = _pattern(data, at)
    read = _READERS[pattern]
    while at < start + READ and (one := pattern.match(data, at)):
        if again < 0 and at >= start + READ - OVERLAP:
            again = at
        line, shown, end = read(data, one, len(held))
        lines.append(line)
        held += shown
        ends = _BREAK.match(data, end)
        at = ends.end() if ends else end
        if not ends:
            break
    goes_on = at >= start + READ
    return Dump(bytes(held), tuple(lines), start, at), again if goes_on else -1


def _pattern(data: bytes, at: int) -> re.Pattern[bytes]:
    """How the lines of a dump are written of which one begins at a place."""
    in_hex = _IN_HEX.match(data, at)
    if in_hex and len(in_hex[1]) >= 3 * 8:
        return _IN_HEX
    in_decimals = _IN_DECIMALS.match(data, at)
    if in_decimals and len(in_decimals[1]) >= 4 * 8:
        return _IN_DECIMALS
    return next((one for one in (_IN_BITS, _IN_CODE) if one.match(data, at)), _IN_LETTERS)


def _hex(data: bytes, one: re.Match[bytes], first: int) -> tuple[Line, bytes, int]:
    """A line of digits, what it says, and where it ends."""
    shown = bytes.fromhex(one[1].decode("ascii"))
    places = tuple(pair.span() for pair in _PAIR.finditer(data, *one.span(1)))
    if not one[2]:
        return Line(first, places, ()), shown, one.end()
    letters, rest, end = shown_as(data, one.end(), shown.translate(SHOWN))
    return Line(first, places, letters, rest), shown, end + data.startswith(b"<", end)


def _letters(data: bytes, one: re.Match[bytes], first: int) -> tuple[Line, bytes, int]:
    """The same of a line of letters."""
    found = [*_BYTE.finditer(data, *one.span(1))]
    shown = bytes(_byte(each[0].strip(b" ")) for each in found)
    places = tuple((each.end() - len(each[0].strip(b" ")), each.end()) for each in found)
    return Line(first, places, ()), shown, one.end()


def _decimals(data: bytes, one: re.Match[bytes], first: int) -> tuple[Line, bytes, int]:
    """The same of a line of decimals."""
    return _numbers(one, first, _NUMBER.finditer(data, *one.span(1)), 10)


def _code(data: bytes, one: re.Match[bytes], first: int) -> tuple[Line, bytes, int]:
    """The same of a line of an array."""
    return _numbers(one, first, _NUMBER_IN_CODE.finditer(data, *one.span(1)), 16)


def _bits(data: bytes, one: re.Match[bytes], first: int) -> tuple[Line, bytes, int]:
    """The same of a line of bits, beside which the letters stand."""
    line, shown, _ = _numbers(one, first, _NUMBER.finditer(data, *one.span(1)), 2)
    text = shown.translate(SHOWN)
    # What the line ends in is not framed: it may begin with blanks.
    blanks = len(text) - len(text.lstrip(b" "))
    letters, rest, end = shown_as(data, one.end() - blanks, text)
    return Line(first, line.digits, letters, rest), shown, end


def _numbers(
    one: re.Match[bytes], first: int, found: Iterator[re.Match[bytes]], base: int
) -> tuple[Line, bytes, int]:
    numbers = [*found]
    shown = bytes(min(int(each[0], base), 255) for each in numbers)
    return Line(first, tuple(each.span() for each in numbers), ()), shown, one.end()


_READERS: Final[Mapping[re.Pattern[bytes], _Read]] = {
    _IN_HEX: _hex, _IN_LETTERS: _letters, _IN_DECIMALS: _decimals, _IN_BITS: _bits, _IN_CODE: _code,
}  # fmt: skip


def _byte(text: bytes) -> int:
    """The byte for which `od -c` writes some letters; a blank is none."""
    if not text:
        return ord(" ")
    if text.startswith(_BACKSLASH):
        name = text.lstrip(_BACKSLASH) or _BACKSLASH
        return _ESCAPES.get(name[0], name[0])
    return int(text, 8) & 0xFF if len(text) == 3 else text[0]
