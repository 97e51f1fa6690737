"""What is hidden of a file on its way to the site: spans, and what stands there instead.

What stands there is as long as what stood there, in ASCII that no JSON, URL or base64 escapes, and
ends no line and begins none: lines, offsets and syntax stay what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

MARK: Final = b"(redacted)"


class Form(Enum):
    """How what is hidden was written, which decides what can stand there."""

    PLAIN = "plain"
    SHAPE = "shape"
    """Letters and digits alone are hidden, so that an address stays the shape of one."""
    JSON = "in JSON escapes"
    COLOUR = "coloured"
    URL = "URL-encoded"
    HEX = "hexadecimal"
    BASE64 = "base64"
    STRING = "line of JSON"
    """A string stands there instead."""
    BLANK = "lines of JSON"
    """Blanks stand there instead."""


class Span(NamedTuple):
    """Bytes of a file that are hidden. A tuple, since a site has tens of thousands of them."""

    start: int
    end: int
    rule: str
    form: Form = Form.PLAIN
    line: int = 0
    """The line that it begins in, from 1; 0 where nobody counted."""
    member: int = -1
    """The member of a zip archive that it lies in, from 0; -1 where it lies in the file itself."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is hidden of the files of a run."""

    made_of: str = ""
    """Digest of all that decides it; empty where that is not known."""
    files: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    """By the name of a file, only of files of which something is hidden."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What files are called on the site, by their names, where that is something else."""
    before: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files of which something is hidden, by name."""
    after: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of what the site shows of them."""
    called: tuple[str, ...] = ()
    """Rules on which a strict build fails that find something in the run's id."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes that the site shows of archives that are packed anew; all else is as long as it was."""


def _all_but_ends(byte: bytes) -> bytes:
    """A table that makes every byte the same, but those that end lines."""
    return bytes(old if old in b"\r\n" else byte[0] for old in range(256))


_SHAPE = bytes(ord("x") if old > 0x7F or chr(old).isalnum() else old for old in range(256))
"""A table that makes letters, digits and all beyond ASCII the same."""
_CROSSES, _ZEROS, _BLANKS = (_all_but_ends(byte) for byte in (b"x", b"0", b" "))


def cover(span: Span, piece: bytes, offset: int) -> bytes:
    """What stands in place of `piece`, which begins `offset` bytes into a span; as long as it."""
    match span.form:
        case Form.SHAPE:
            return piece.translate(_SHAPE)
        case Form.HEX:
            return piece.translate(_ZEROS)
        case Form.BLANK:
            return piece.translate(_BLANKS)
        case Form.STRING:
            return _string(piece, offset, span.end - span.start)
        case Form.PLAIN | Form.JSON if span.end - span.start >= len(MARK):
            mark = MARK[offset : offset + len(piece)]
            rest = piece[len(mark) :].translate(_CROSSES)
            kept = (old if old in b"\r\n" else new for old, new in zip(piece, mark, strict=False))
            return bytes(kept) + rest
        case _:
            return piece.translate(_CROSSES)


def _string(piece: bytes, offset: int, size: int) -> bytes:
    """A piece of a line, of which a string is made."""
    mark = (b'"' + MARK)[offset : offset + len(piece)].ljust(len(piece), b"x")
    return mark[:-1] + b'"' if piece and offset + len(piece) == size else mark


def covered(data: bytes, spans: Sequence[Span], start: int = 0) -> bytes:
    """Some bytes of a file, which begin at `start` of it, with what is hidden of them covered."""
    if not spans:
        return data
    shown = bytearray(data)
    cover_within(memoryview(shown), spans, start)
    return bytes(shown)


def cover_within(data: memoryview, spans: Sequence[Span], start: int) -> None:
    """Cover what is hidden of some bytes of a file, which begin at `start` of it, where they are.

    The spans lie apart: what covers one is never covered.
    """
    size = len(data)
    for span in spans:
        first, last = span.start - start, span.end - start
        # Nearly all that is hidden are names in paths, and whole.
        if span.form is Form.SHAPE and first >= 0 and last <= size:
            data[first:last] = bytes(data[first:last]).translate(_SHAPE)
            continue
        first, last = max(first, 0), min(last, size)
        if first < last:
            data[first:last] = cover(span, bytes(data[first:last]), first + start - span.start)
