r"""The lines of a transcript file, and the JSON objects in them, whatever state the file is in.

Bad UTF-8 survives as surrogate escapes, so that no byte is lost on the way to the page, which
shows it as `\xff` (`kbsite.text`). Two objects glued onto one line are two records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import IO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kbsite.harnesses import bounds
from kbsite.model.event import Malformed, Source

BOM = "\ufeff"
_BOM = BOM.encode()
_DECODER = json.JSONDecoder(strict=False)
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_FAST = msgspec.json.Decoder(dict[str, object])
"""Takes half the time, and refuses some of what the other one reads: NaN, halves of characters."""
_FAST_OF_ANY = msgspec.json.Decoder()
_SPACE = " \t\r\n"
LONGEST = 256_000_000
"""Bytes of a line that are read: more are no transcript, and take twice or thrice the memory."""
_BEGINNING = 100_000
"""Bytes that are shown of a longer one."""
_AT_ONCE = 1 << 20
_OPENS = 16
"""Bytes that a line which opens a document has at most, byte order mark and line end included."""
_EXACT = 2**53
"""Counts beyond it are no counts, and no JSON reader agrees on them."""


class Line(Struct, frozen=True):
    """One line of a file, without its line end."""

    number: int
    """From 1."""
    held: str | bytes
    """Its text; or its bytes, line end and all: JSON is read from those, and of most rows nobody
    asks for the text."""
    whole: bool = True
    """Whether a line end closed it; the last line of a file may be cut."""
    unread: int = 0
    """Bytes of it that nobody reads: it is too long, and what is held is its beginning."""

    @property
    def text(self) -> str:
        """What it says, without its line end."""
        if isinstance(self.held, str):
            return self.held
        return self.held.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")

    @property
    def blank(self) -> bool:
        """Whether nothing but blanks stands in it."""
        begin = self.held.lstrip()[:1]
        if isinstance(begin, bytes) and not b"!" <= begin <= b"~":
            # There are blanks beyond ASCII, which bytes do not know.
            return not self.text.strip()
        return not begin


class Record(Struct, frozen=True):
    """One JSON object of a file."""

    source: Source
    value: Mapping[str, object]
    written: str | Line
    """The object's own text; or the line that holds nothing else."""

    @property
    def raw(self) -> str:
        """The object's own text."""
        return written(self.written)


def written(held: str | Line) -> str:
    """The text of an object; most are never asked for theirs."""
    return held if isinstance(held, str) else held.text.strip(_SPACE)


def lines(stream: IO[bytes]) -> Iterator[Line]:
    """The lines of an open file, one in memory at a time; a byte order mark is taken off."""
    return _lines(stream, _each(stream))


def spread(stream: IO[bytes]) -> Iterator[Line]:
    """The same, but a document that is spread over all lines of its file is one.

    Its first line says so, which opens it and says no more. An exported session has a hundred
    thousand lines, and to make each of them takes as long as to read what they say together.
    """
    first = stream.readline(LONGEST + 1)
    if len(first) > _OPENS or first.removeprefix(_BOM).strip() not in (b"{", b"["):
        return _lines(stream, chain([first] if first else [], _each(stream)))
    data = first + stream.read(LONGEST + 1 - len(first))
    if len(data) <= LONGEST:
        return iter([Line(1, data.removeprefix(_BOM), data.endswith(b"\n"))])
    begin, last = data[:_BEGINNING], data[-1:]
    left = len(data) - len(begin)
    while data := stream.read(_AT_ONCE):
        left, last = left + len(data), data[-1:]
    return iter([Line(1, begin, last == b"\n", left)])


def _each(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(stream.readline, LONGEST + 1), b"")


def _lines(stream: IO[bytes], held: Iterable[bytes]) -> Iterator[Line]:
    for number, data in enumerate(held, start=1):
        whole = data.endswith(b"\n")
        if len(data) > LONGEST and not whole:
            left = len(data) - _BEGINNING + _rest(stream)
            yield Line(number, data[:_BEGINNING], whole, left)
            continue
        yield Line(number, data.removeprefix(_BOM) if number == 1 else data, whole)


def joined(source_lines: Iterable[Line]) -> Line | None:
    """Lines that hold one document, as one; None where there are none.

    What is beyond the bound of a line is not held.
    """
    held: list[Line] = []
    size = unread = 0
    for line in source_lines:
        size += len(line.held) + 1
        if not held or size <= LONGEST:
            held.append(line)
            unread += line.unread
        else:
            unread += len(line.held) + 1 + line.unread
    if not held:
        return None
    data = [line.held for line in held if isinstance(line.held, bytes)]
    # Where all are as the file has them, nothing has to be read as text and written anew.
    one = b"".join(data) if len(data) == len(held) else "\n".join(line.text for line in held)
    return Line(held[0].number, one, held[-1].whole, unread)


def _rest(stream: IO[bytes]) -> int:
    """Pass over the rest of a line; how many bytes that is."""
    size = 0
    while data := stream.readline(_AT_ONCE):
        size += len(data)
        if data.endswith(b"\n"):
            break
    return size


def records(source_lines: Iterable[Line], file: str) -> Iterator[Record | Malformed]:
    """The JSON objects of a JSON-lines file; whatever else stands there is Malformed, with why."""
    for each in source_lines:
        line = _begun(each) if each.unread or bounds.is_crowded(each.held) else each
        if line.unread:
            yield Malformed(source=Source(file, line.number), text=line.text, reason=_cut(line))
        elif (alone := _alone(line, file)) is not None:
            yield alone
        elif not line.blank:
            yield from _line(line, file)


def _begun(line: Line) -> Line:
    """The beginning of a line that is not read."""
    data = line.held.encode("utf-8", "surrogateescape") if isinstance(line.held, str) else line.held
    begin = data[:_BEGINNING]
    return replace(line, held=begin, unread=len(data) - len(begin) + line.unread)


def _alone(line: Line, file: str) -> Record | None:
    """The object of a line that holds nothing else; None for all that is harder to read."""
    try:
        value = _FAST.decode(line.held)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if bounds.is_deep(value, line.held):
        return None
    return Record(Source(file, line.number), value, line)


def _line(line: Line, file: str) -> Iterator[Record | Malformed]:
    text, start, part = line.text, 0, 0
    while start < len(text):
        if text[start] in _SPACE:
            start += 1
            continue
        source = Source(file, line.number, part)
        if text[start] != "{":
            yield Malformed(source=source, text=text[start:], reason=_other(text[start:]))
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
            bounds.refuse(value, text[start:end])
        except (ValueError, RecursionError) as error:
            yield Malformed(source=source, text=text[start:], reason=_reason(line, error))
            return
        yield Record(source, value, text[start:end])
        start, part = end, part + 1


def _other(rest: str) -> str:
    try:
        parsed(rest)
    except (ValueError, RecursionError):
        return "a line of text, not JSON"
    return "JSON, but not an object"


def _cut(line: Line) -> str:
    shown = len(line.text.encode("utf-8", "surrogateescape"))
    size = shown + line.unread
    return f"a line of {size} bytes, of which the first {shown} are read; the raw file has all"


def _reason(line: Line, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply to read"
    if not line.whole:
        return "the file ends in the middle of this line"
    return f"not valid JSON: {error}"


def parsed(told: str, *, strict: bool = False) -> object:
    """What a JSON text says; ValueError or RecursionError where it is none that can be read.

    Unless it is `strict`, control characters may stand in its strings as they are.
    """
    if bounds.is_crowded(told):
        raise ValueError(f"more than {bounds.MOST} values")
    try:
        value: object = _FAST_OF_ANY.decode(told)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        value = json.loads(told, strict=strict)
    bounds.refuse(value, told)
    return value


def timestamp(value: object) -> datetime | None:
    """A moment from ISO 8601 text, or seconds or milliseconds since 1970; None if it is neither.

    It is told in UTC, whatever the zone of the text.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return _plausible(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            seconds = value / 1000 if value > 1e11 else value
            return _plausible(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _plausible(moment: datetime) -> datetime | None:
    """The moment in UTC, unless it is at an end of the calendar, where no zone can be applied."""
    if not 1 < moment.year < 9999:
        return None
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def mapping(value: object) -> Mapping[str, object]:
    """`value` if it is an object, else an empty one: rows come in every shape."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[object]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """`value` as text: itself if it is text, "" for nothing, else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else dump(value)


def integer(value: object) -> int | None:
    """`value` if it is a whole number; None if it is none, as true and false are in JSON."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: object) -> int | None:
    """`value` as a number of tokens; None if it is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < _EXACT else None


def number(value: object) -> float | None:
    """`value` as a finite number; None if it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def dump(value: object) -> str:
    """`value` as JSON text, as it would stand in a row."""
    try:
        return _ENCODE(value)
    except RecursionError:
        return "(nested too deeply to write)"
