"""Values that are known, in every form in which they may be written."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

from kbsite.model.redaction import Form, Span
from kbsite.redaction.automaton import Automaton

SHORTEST: Final = 4
"""Bytes of a value from which on it is looked for: a shorter one stands everywhere."""

_WORD = re.compile(rb"[A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and the rule that it is hidden by."""

    data: bytes
    rule: str


def forms(value: bytes) -> Mapping[bytes, Form]:
    """Every way to write a value that is looked for; the shorter ones of base64 are left out."""
    text = value.decode("utf-8", "surrogateescape")
    pairs = "".join(f"%{byte:02X}" for byte in value).encode()
    units = text.encode("utf-16-be", "surrogatepass")
    escaped = b"".join(b"\\u%02x%02x" % pair for pair in zip(units[::2], units[1::2], strict=True))
    found = {
        value: Form.PLAIN,
        value.replace(b"\\", b"\\\\").replace(b'"', b'\\"'): Form.JSON,
        value.replace(b"/", b"\\/"): Form.JSON,
        escaped: Form.JSON,
        escaped.upper().replace(b"\\U", b"\\u"): Form.JSON,
        quote(value, safe="").encode(): Form.URL,
        quote_plus(value, safe="").encode(): Form.URL,
        pairs: Form.URL,
        pairs.lower(): Form.URL,
        value.hex().encode(): Form.HEX,
        value.hex().upper().encode(): Form.HEX,
        text.encode("utf-16-le", "surrogatepass"): Form.HEX,
        value[::-1]: Form.PLAIN,
    }
    for shift in range(3):
        written = base64.b64encode(b"\0" * shift + value)
        first, last = (0, 2, 3)[shift], (shift + len(value)) * 8 // 6
        for table in (b"+/", b"-_"):
            piece = written[first:last].translate(bytes.maketrans(b"+/", table))
            found.setdefault(piece, Form.BASE64)
    plain = {piece: form for piece, form in found.items() if len(piece) >= 2 * SHORTEST}
    return {**plain, value: Form.PLAIN}


class Known:
    """Finds values; words are only found where no letter or digit goes on."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._by_form: dict[bytes, tuple[str, Form, bool]] = {}
        for value in values:
            if len(value.data) < SHORTEST:
                continue
            for piece, form in forms(value.data).items():
                word = piece == value.data and len(piece) < 16
                self._by_form.setdefault(piece, (value.rule, form, word))
        self._gate = Automaton((), self._by_form)

    def found(self, data: bytes, start: int, end: int) -> Iterator[Span]:
        """Where a part of some bytes holds one of the values."""
        for at, piece in self._gate.find(data, start, end):
            rule, form, word = self._by_form[piece]
            until = at + len(piece)
            if not (word and not _alone(data, at, until)) and not _is_number(data, at, until):
                yield Span(at, until, rule, form)


def _alone(data: bytes, start: int, end: int) -> bool:
    before, after = data[max(0, start - 2) : start], data[end : end + 1]
    if len(before) == 2 and before[:1] == b"\\" and before[1:] in b"nrtbf":
        before = b""
    return not (_WORD.fullmatch(before[-1:]) or _WORD.fullmatch(after))


def _is_number(data: bytes, start: int, end: int) -> bool:
    """Whether a value of digits stands where JSON has a number."""
    if not data[start:end].isdigit():
        return False
    before = data[max(0, start - 20) : start].rstrip(b" \t\r\n")[-1:]
    return before in (b":", b",", b"[", b"-", b".", b"")
