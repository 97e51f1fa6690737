"""What is hidden of a file on its way to the site: spans, and what stands there instead.

What stands there is as long as what stood there, in ASCII that no JSON, URL or base64 escapes, and
ends no line and begins none: lines, offsets and syntax stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

MARK: Final = b"[redacted]"


class Form(Enum):
    """How what is hidden was written, which decides what can stand there."""

    PLAIN = "plain"
    SHAPE = "shape"
    """Letters and digits alone are hidden, so that an address stays the shape of one."""
    JSON = "in JSON escapes"
    URL = "URL-encoded"
    HEX = "hexadecimal"
    BASE64 = "base64"


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a file that are hidden."""

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


_SEEN = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_NO_END = re.compile(rb"[^\r\n]")


def cover(span: Span, piece: bytes, offset: int) -> bytes:
    """What stands in place of `piece`, which begins `offset` bytes into a span; as long as it."""
    match span.form:
        case Form.SHAPE:
            return _SEEN.sub(b"x", piece)
        case Form.HEX:
            return _NO_END.sub(b"0", piece)
        case Form.PLAIN | Form.JSON if span.end - span.start >= len(MARK):
            mark = MARK[offset : offset + len(piece)].ljust(len(piece), b"x")
        case _:
            mark = b"x" * len(piece)
    if b"\n" not in piece and b"\r" not in piece:
        return mark
    return bytes(old if old in b"\r\n" else new for old, new in zip(piece, mark, strict=True))


def covered(data: bytes, spans: Sequence[Span], start: int = 0) -> bytes:
    """Some bytes of a file, which begin at `start` of it, with what is hidden of them covered."""
    shown = bytearray(data)
    for span in spans:
        first, last = max(span.start - start, 0), min(span.end - start, len(data))
        if first < last:
            shown[first:last] = cover(span, data[first:last], first + start - span.start)
    return bytes(shown)
