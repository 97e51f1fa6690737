"""What it means that a passage stands verbatim in a file.

A passage is the same characters as the file's, no more and no fewer words: it may start and end
within a line, but not within a word. What a person who pastes some lines into YAML cannot see or
keep does not count, and nothing else is let pass:

* line ends (CRLF or LF), blanks at the end of a line, blank lines before and after the passage;
* indentation that all its lines have in the file may be missing, all of it or a part, from all of
  them alike. Indentation that the file does not have is a difference;
* indentation before the first line alone: who selects lines with a mouse begins at its first word.
  Such lines would read as if they were nested otherwise than they are, so that the passage is
  proven, and shown, with what is missing put back.

A row of a transcript is JSON: the lines of a text stand there as escapes. Within such a text, and
only there, any blanks are the same as any other, and colours of a terminal do not count: a page
shows what tools print in its colours, and who copies from it never sees the sequences.
"""

from __future__ import annotations

import json
import re
from functools import cached_property

from msgspec import Struct

from kbsite.model.colours import without_colours

_BLANKS = b" \t\r"
_BOM = b"\xef\xbb\xbf"
# One that nothing closes goes on to the end: whoever looked for it from each quote would never end.
_LITERAL = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(")|\\?\Z)', re.DOTALL)
_TOKEN = re.compile(rb"[A-Za-z0-9_]+")
_APART = "\0"
_DEEPEST = 400
"""Bytes of indentation that are put back: nobody indents deeper."""
_HITS = 10_000
"""Places that are tried for one passage: whoever repeats a line more often than that has hidden
it himself."""


class Passage(Struct, frozen=True, dict=True):
    """What an audit quotes."""

    text: str

    @cached_property
    def rows(self) -> tuple[bytes, ...]:
        """Its lines, without what does not count; none if it is blank."""
        # What YAML lets pass and no file can hold is found nowhere, which is as it should be.
        data = self.text.encode("utf-8", "surrogatepass")
        return tuple(without_blank_ends([row.rstrip(_BLANKS) for row in data.split(b"\n")]))

    @cached_property
    def flat(self) -> str:
        """It on one line."""
        return flat(self.text)

    @cached_property
    def token(self) -> bytes:
        """Its longest word, which stands in a row of JSON as it is; empty if it has none."""
        data = self.text.encode("utf-8", "surrogatepass")
        return max(_TOKEN.findall(data), key=len, default=b"")

    def stands_in(self, rows: list[bytes]) -> bool:
        """Whether it starts in the first of some rows of a file and ends in the last."""
        return self.as_in(rows) is not None

    def as_in(self, rows: list[bytes]) -> str | None:
        """It as it may be shown, if it starts in the first of some rows and ends in the last.

        That is the passage itself, but for indentation that its first line alone lacks. None if
        it does not stand there.
        """
        own = self.rows
        if not own or len(own) != len(rows):
            return None
        if len(own) == 1:
            return self.text if _has(rows[0], own[0]) else None
        dropped = _dropped(own, rows)
        if dropped is None:
            return None
        if _ends(rows[0], own[0], dropped) and _go_on(own, rows, dropped):
            return self.text
        lacked = rows[0][: len(rows[0]) - len(own[0])]
        if lacked.strip(_BLANKS) or len(lacked) > _DEEPEST or not _go_on(own, rows, b""):
            return None
        return b"\n".join((lacked + own[0], *own[1:])).decode("utf-8", "surrogatepass")

    def stands_within(self, texts: str) -> bool:
        """Whether it stands in one of the texts of a row, as `texts_of` gives them."""
        if not self.flat or _APART in self.flat:
            return False
        at = texts.find(self.flat)
        for _ in range(_HITS):
            if at < 0:
                return False
            if _edge(texts, at) and _edge(texts, at + len(self.flat)):
                return True
            at = texts.find(self.flat, at + 1)
        return False


def rows_from(data: bytes, start: int, count: int) -> list[bytes]:
    """So many lines of a file from an offset on, without what does not count at their ends."""
    rows: list[bytes] = []
    while len(rows) < count and start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        row = data[start:end]
        rows.append((row if start else row.removeprefix(_BOM)).rstrip(_BLANKS))
        start = end + 1
    return rows


def without_blank_ends(rows: list[bytes]) -> list[bytes]:
    """Lines, from the first to the last that is not empty."""
    full = [number for number, row in enumerate(rows) if row]
    return rows[full[0] : full[-1] + 1] if full else []


def texts_of(row: bytes) -> str:
    """The texts within a row of JSON, each on one line, with what stands in no text between."""
    return _APART.join(filter(None, (_decoded(one[0]) for one in _LITERAL.finditer(row) if one[1])))


def flat(text: str) -> str:
    """A text on one line, with single blanks and without the colours of a terminal."""
    return " ".join(without_colours(text).split())


def starts(data: bytes, wanted: set[int], most: int) -> dict[int, int]:
    """Where lines start, from 1; those beyond the end, or beyond `most`, are left out."""
    found = {}
    at, number, last = 0, 1, min(max(wanted, default=0), most)
    while number <= last and at < len(data):
        if number in wanted:
            found[number] = at
        end = data.find(b"\n", at)
        if end < 0:
            break
        at, number = end + 1, number + 1
    return found


def places(data: bytes, needle: bytes) -> list[tuple[int, int]]:
    """The lines that hold some bytes: number, from 1, and where each starts."""
    found: list[tuple[int, int]] = []
    number, counted = 1, 0
    at = data.find(needle) if needle else -1
    while at >= 0 and len(found) < _HITS:
        start = data.rfind(b"\n", 0, at) + 1
        number, counted = number + data.count(b"\n", counted, start), start
        found.append((number, start))
        end = data.find(b"\n", at)
        at = -1 if end < 0 else data.find(needle, end + 1)
    return found


def _decoded(literal: bytes) -> str:
    text = literal.decode("utf-8", "surrogateescape")
    if b"\\" not in literal:
        return flat(text[1:-1])
    try:
        return flat(str(json.loads(text, strict=False)))
    except ValueError:
        return ""


def _has(row: bytes, line: bytes) -> bool:
    at = row.find(line)
    for _ in range(_HITS):
        if at < 0:
            return False
        if _is_edge(row, at) and _is_edge(row, at + len(line)):
            return True
        at = row.find(line, at + 1)
    return False


def _dropped(own: tuple[bytes, ...], rows: list[bytes]) -> bytes | None:
    """The indentation that a passage of several lines leaves out; None if it does not stand so."""
    if not rows[0].endswith(own[0]):
        return None
    before = rows[0][: len(rows[0]) - len(own[0])]
    if not before.strip():
        return before
    number = next(number for number, line in enumerate(own) if number and line)
    row, line = rows[number], own[number]
    kept, has = len(line) - len(line.lstrip()), len(row) - len(row.lstrip())
    return row[: has - kept] if kept <= has else None


def _go_on(own: tuple[bytes, ...], rows: list[bytes], dropped: bytes) -> bool:
    """Whether the lines after the first are those of the rows, without what is dropped of all."""
    inner = zip(own[1:-1], rows[1:-1], strict=True)
    if any(row != (dropped + line if line else b"") for line, row in inner):
        return False
    last = dropped + own[-1]
    return rows[-1].startswith(last) and _is_edge(rows[-1], len(last))


def _ends(row: bytes, line: bytes, dropped: bytes) -> bool:
    at = len(row) - len(line)
    return row[:at] == dropped or _is_edge(row, at)


def _is_edge(row: bytes, at: int) -> bool:
    """Whether no word goes on over a place in a row."""
    return not (0 < at < len(row) and _is_word(row[at - 1]) and _is_word(row[at]))


def _is_word(byte: int) -> bool:
    return byte == ord("_") or byte >= 0x80 or chr(byte).isalnum()


def _edge(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return True
    return not all(char == "_" or char.isalnum() for char in text[at - 1 : at + 1])
