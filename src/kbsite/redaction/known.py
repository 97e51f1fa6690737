"""Values that are known, in every form in which they may be written."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Final
from urllib.parse import quote, quote_plus

from msgspec import Struct

from kbsite.model.redaction import Form, Span
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.crowded import Past
from kbsite.redaction.rules import ESCAPED

SHORTEST: Final = 4
"""Bytes of a value from which on it is looked for: a shorter one stands everywhere."""

MOST: Final = 5000
"""Values that are looked for; no run tells more but to have nobody find them."""

START: Final = 8
"""Bytes by which the automaton knows a value; the rest is compared."""

AT_ONCE: Final = 4000
"""Beginnings that one automaton looks for: it stays in the cache of the processor."""

_WORD = re.compile(rb"[A-Za-z0-9_]")
_LONGEST_ESCAPE: Final = 6
_ESCAPE = re.compile(rb"(?:" + ESCAPED + rb")\Z")


class Value(Struct, frozen=True):
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
    for shift in range(5):
        written = base64.b32encode(b"\0" * shift + value)
        piece = written[-(-shift * 8 // 5) : (shift + len(value)) * 8 // 5]
        found.setdefault(piece, Form.BASE64)
    plain = {piece: form for piece, form in found.items() if len(piece) >= 2 * SHORTEST}
    return {**plain, value: Form.PLAIN}


class Known:
    """Finds values; words are only found where no letter or digit goes on."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._by_form: dict[bytes, tuple[str, Form, bool]] = {}
        for value in islice((one for one in values if len(one.data) >= SHORTEST), MOST):
            for piece, form in forms(value.data).items():
                word = piece == value.data and len(piece) < 16
                self._by_form.setdefault(piece, (value.rule, form, word))
        self._sizes: dict[bytes, list[int]] = {}
        """How long what begins so may be, the longest first."""
        for piece in sorted(self._by_form, key=len, reverse=True):
            sizes = self._sizes.setdefault(piece[:START], [])
            if len(piece) not in sizes:
                sizes.append(len(piece))
        self._starts = sorted({len(start) for start in self._sizes}, reverse=True)
        starts = sorted(self._sizes)
        parts = (starts[at : at + AT_ONCE] for at in range(0, len(starts), AT_ONCE))
        self._gates = [Automaton((), part) for part in parts]

    def found(self, data: bytes, start: int, end: int) -> Iterator[Span]:
        """Where a part of some bytes holds one of the values."""
        spans = self.looked(data, start, end, Past())
        return (span for span in spans if span.start < span.end)

    def looked(self, data: bytes, start: int, end: int, past: Past) -> Iterator[Span]:
        """The same, in order, and an empty span wherever what begins like a value is none.

        Whoever goes through them may go on further behind, at `past`.
        """
        found = (self._found(gate, data, start, end, past) for gate in self._gates)
        return merge(*found, key=lambda span: span.start)

    def _found(
        self, gate: Automaton, data: bytes, start: int, end: int, past: Past
    ) -> Iterator[Span]:
        at = gate.first(data, start, end)
        while at >= 0:
            span = self._at(data, at)
            yield span or Span(at, at, "")
            at = gate.first(data, max(span.end if span else at + 1, min(past.at, end)), end)

    def _at(self, data: bytes, at: int) -> Span | None:
        """The value that begins at a place."""
        for start in self._starts:
            for size in self._sizes.get(data[at : at + start], ()):
                held = self._by_form.get(data[at : at + size])
                if held is None or (held[2] and not _alone(data, at, at + size)):
                    continue
                if not _is_number(data, at, at + size):
                    return Span(at, at + size, held[0], held[1])
        return None


def _alone(data: bytes, start: int, end: int) -> bool:
    before, after = data[max(0, start - _LONGEST_ESCAPE) : start], data[end : end + 1]
    if _WORD.fullmatch(after):
        return False
    return not _WORD.fullmatch(before[-1:]) or bool(_ESCAPE.search(before))


def _is_number(data: bytes, start: int, end: int) -> bool:
    """Whether a value of digits stands where JSON has a number."""
    if not data[start:end].isdigit():
        return False
    before = data[max(0, start - 20) : start].rstrip(b" \t\r\n")[-1:]
    return before in (b":", b",", b"[", b"-", b".", b"")
