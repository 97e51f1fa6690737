"""The files of a run looked at: alone, and then for what any of them told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import IO, Final

from msgspec import Struct, field, structs

from kbsite.hiding import archives
from kbsite.hiding.crowds import Stretch, over, widened
from kbsite.model.redaction import Span, covered
from kbsite.redaction.known import MOST, Known, Value
from kbsite.redaction.people import People
from kbsite.redaction.scan import MARGIN, Found, Looker
from kbsite.redaction.spans import merged
from kbsite.redaction.titles import ARCHIVE, SEEN
from kbsite.store.at_once import read_at_once
from kbsite.store.files import Stored

BLOCK: Final = 4 << 20
"""Bytes of a file that are looked at at once."""

_BY_CHANCE: Final = ("email", "ip")
"""Rules that find something in a hundred megabytes of noise."""

_SHORT: Final = 64
"""Bytes of a line that is short."""

NAMES: Final = 1000
"""Names of files of which is remembered what rules find in them."""


class Seen(Struct):
    """The files of a run while they are looked at."""

    looker: Looker
    named: dict[str, Found] = field(default_factory=dict)
    """What rules find in names of files, which are mostly those of other runs."""
    spans: dict[str, list[Span]] = field(default_factory=dict)
    crowded: dict[str, list[Stretch]] = field(default_factory=dict)
    """Where files are too full of what rules find to be looked at."""
    files: dict[str, Stored] = field(default_factory=dict)
    secrets: set[bytes] = field(default_factory=set)
    people: set[bytes] = field(default_factory=set)
    over_lines: bool = False
    """Whether something in them goes over several lines, as `base64` prints a file."""

    def see(self, file: Stored) -> None:
        """Look at a file, and at its name."""
        self.files[file.name] = file
        self.spans[file.name], self.crowded[file.name] = _looked(file, self._take)
        self._learnt(self._called(file.name))

    def again(self) -> None:
        """Look for what one file told in all of them."""
        if self.secrets or self.people:
            known = Known(Value(value, SEEN) for value in sorted(self.secrets))
            people = People(name for name in sorted(self.people) if len(name) > 2)
            self.looker = structs.replace(
                self.looker,
                again=(known.looked, people.looked),
                again_over_lines=(known.looked,) if self.secrets and self.over_lines else (),
            )
        for name, file in self.files.items():
            spans, crowded = self.spans[name], self.crowded[name]
            if self.looker.again:
                more, too = _looked(file, self.looker.look_again)
                spans, crowded = merged([*spans, *more]), [*crowded, *too]
            try:
                if crowded:
                    spans = over(spans, widened(file, crowded))
                self.spans[name] = _lined(file, spans)
            except (OSError, ValueError):  # it is gone, or empty by now
                # What nobody can look at is not to be shown should it be as it was again.
                self.spans[name] = _whole(file)

    def name(self, name: str) -> str:
        """What a file is called on the site."""
        spans = self._called(name).spans
        data = name.encode("utf-8", "surrogateescape")
        if self.looker.again:
            spans = [*spans, *self.looker.look_again(data, 0, len(data)).spans]
        if not spans:
            return name
        return covered(data, merged(spans)).decode("utf-8", "surrogateescape")

    def value(self, name: str, span: Span) -> bytes:
        """What stands in a span of a file; nothing where that is gone by now."""
        end = min(span.end, span.start + 1000)
        file = self.files[name]
        with suppress(OSError, archives.ClosedError):
            if span.member >= 0:
                held = next(islice(archives.members(file), span.member, None), ("", b""))[1]
                return held[span.start : end]
            with file.stream() as stream:
                stream.seek(span.start)
                return stream.read(end - span.start)
        return b""

    def _take(self, data: bytes, start: int, end: int) -> Found:
        found = self.looker.look(data, start, end)
        self._learnt(found)
        return found

    def _called(self, name: str) -> Found:
        """What rules find in the name of a file."""
        found = self.named.get(name)
        if found is None:
            found = self.looker.look(name.encode("utf-8", "surrogateescape"))
            if len(self.named) < NAMES:
                self.named[name] = found
        return found

    def _learnt(self, found: Found) -> None:
        if len(self.secrets) < MOST:
            self.secrets |= found.secrets
        self.people |= found.people
        self.over_lines |= found.over_lines


Look = Callable[[bytes, int, int], Found]


def _looked(file: Stored, look: Look) -> tuple[list[Span], list[Stretch]]:
    """What is found in a file, in order; all of it is, where it cannot be told what it holds.

    And where it is too crowded to be looked at.
    """
    try:
        if file.size <= BLOCK:
            data = read_at_once(file.at, file.size)
            start = data[:16]
            if not archives.is_archive(start):
                found = look(data, 0, len(data))
                return merged(found.told), list(found.crowded)
        else:
            with file.stream() as stream:
                start = stream.read(16)
                if not archives.is_archive(start):
                    return _blocks(stream, file.size, look)
        return _opened(file, start, look)
    except (OSError, archives.ClosedError):
        return _whole(file), []


def _whole(file: Stored) -> list[Span]:
    """All of a file, of which nobody can tell what it holds."""
    return [Span(0, file.size, ARCHIVE)]


def _opened(file: Stored, start: bytes, look: Look) -> tuple[list[Span], list[Stretch]]:
    """What is found in an archive or a text of wide characters, or else in its bytes as they are.

    Numbers of two bytes begin like such a text; at the head of an archive, and behind its end, may
    stand whatever somebody put there.
    """
    found = merged(_within(file, look, whole=not archives.is_zip(start)))
    if archives.is_zip(start) and not found:
        # What is packed anew has nothing else in it; what is published as it is may have.
        beside = archives.beside(file)
        told = look(beside, 0, len(beside))
        found = _whole(file) if told.crowded or _is_told(told.spans) else []
    if found or archives.is_zip(start):
        return found, []
    with file.stream() as stream:
        spans, crowded = _blocks(stream, file.size, look)
    if archives.is_wide(start) or archives.is_png(start):
        return spans, crowded
    return _whole(file) if _is_told(spans) or crowded else [], []


def _is_told(spans: Sequence[Span]) -> bool:
    """Whether something was found that noise does not hold."""
    return any(span.rule not in _BY_CHANCE for span in spans)


def _within(file: Stored, look: Look, *, whole: bool) -> Iterator[Span]:
    """What is found in an archive; all of it is, where its members cannot be covered alone."""
    for number, (name, data) in enumerate(archives.members(file)):
        own = name.encode("utf-8", "surrogateescape")
        found = look(data, 0, len(data))
        if look(own, 0, len(own)).spans or (found.spans and whole) or found.crowded:
            yield Span(0, file.size, ARCHIVE)
        yield from (span._replace(member=number) for span in found.spans)


def _blocks(stream: IO[bytes], size: int, look: Look) -> tuple[list[Span], list[Stretch]]:
    """What is found in a file, of which a block and what stands around it is held at once."""
    spans: list[Span] = []
    crowded: list[Stretch] = []
    for start in range(0, max(1, size), BLOCK):
        base = max(0, start - MARGIN)
        stream.seek(base)
        data = _read(stream, start - base + BLOCK + MARGIN, max(0, size - base))
        found = look(data, start - base, min(len(data), start - base + BLOCK))
        spans += found.told if base == 0 else [
            Span(one.start + base, one.end + base, one.rule, one.form) for one in found.told
        ]  # fmt: skip
        crowded += [(first + base, last + base) for first, last in found.crowded]
    return merged(spans), crowded


def _read(stream: IO[bytes], most: int, size: int) -> bytes:
    """At most so many bytes; room for them is made where there are more than were told of."""
    data = stream.read(min(most, size + 1))
    return data + stream.read(most - len(data)) if len(data) > size else data


def _lined(file: Stored, spans: Sequence[Span]) -> list[Span]:
    """Spans with their lines, but for those in an archive."""
    if not spans or spans[0].member >= 0 or spans[0].rule == ARCHIVE:
        return list(spans[:1] if spans and spans[0].rule == ARCHIVE else spans)
    lined, line, at, base, piece = [], 1, 0, 0, b""
    with file.stream() as stream:
        for span in spans:
            while span.start > base + len(piece):
                line += _line_ends(piece, at - base, len(piece))
                base = at = base + len(piece)
                piece = stream.read(BLOCK)
                if not piece:
                    break
            line += _line_ends(piece, at - base, span.start - base)
            at = max(at, span.start)
            lined.append(Span(span.start, span.end, span.rule, span.form, line))
    return lined


def _line_ends(piece: bytes, start: int, end: int) -> int:
    """How many lines end in a part of some bytes.

    To look for each takes a fifth of the time of counting, unless lines are short.
    """
    number, most = 0, (end - start) // _SHORT
    at = piece.find(b"\n", start, end)
    while at >= 0:
        number += 1
        if number > most:
            return number + piece.count(b"\n", at + 1, end)
        at = piece.find(b"\n", at + 1, end)
    return number
