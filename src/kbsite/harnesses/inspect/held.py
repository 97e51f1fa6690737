"""What a log holds, read one sample at a time: its head, its samples, what of it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import IO

from msgspec import Struct

from kbsite.harnesses.inspect.archive import HEADER, SAMPLES, START, Member, members
from kbsite.harnesses.inspect.parts import Parts, part_of
from kbsite.harnesses.lines import Line, mapping, parsed, sequence
from kbsite.harnesses.rows import documents
from kbsite.model.event import Malformed


class Head(Struct, frozen=True):
    """What a log says of all of its samples."""

    value: Mapping[str, object]


class One(Struct, frozen=True):
    """A sample."""

    value: Mapping[str, object]


class Lost(Struct, frozen=True):
    """A part of a log that cannot be read."""

    name: str
    why: str


def held(stream: IO[bytes]) -> Iterator[Head | One | Lost]:
    """The head of an open log, and then its samples, whether it is an archive or plain."""
    found = members(stream)
    for first in found:
        # Of whichever kind the first is, the others are: they are not held to be told apart.
        rest = chain([first], found)
        yield from _of_archive(rest) if isinstance(first, Member) else _of_document(rest)


def _of_archive(found: Iterable[Line]) -> Iterator[Head | One | Lost]:
    reading = _Reading()
    for member in found:
        if isinstance(member, Member):
            yield from reading.member(member)
    yield from reading.whole("")


def _of_document(found: Iterable[Line]) -> Iterator[Head | One | Lost]:
    for row in documents(found, ""):
        if isinstance(row, Malformed):
            yield Lost("the log", row.reason)
        else:
            yield Head({key: value for key, value in row.value.items() if key != "samples"})
            samples = row.value.get("samples")
            for number, item in enumerate(sequence(samples), start=1):
                yield One(item) if isinstance(item, dict) else Lost(f"sample {number}", "no object")
            if samples and not isinstance(samples, list):
                yield Lost("samples", "no list")


class _Reading(Struct):
    """How far an archive is read."""

    parts: Parts | None = None

    def member(self, member: Member) -> Iterator[Head | One | Lost]:
        """What a member is; parts of a sample wait for the others."""
        yield from self.whole(member.name)
        sample, part = member.name.startswith(SAMPLES), part_of(member.name)
        if not sample and member.name not in {HEADER, START}:
            if member.problem and not member.name.startswith("_journal/"):
                yield Lost(member.name, member.problem)
            return
        value = _value(member, listed=part is not None)
        if isinstance(value, Lost):
            yield value
        elif part:
            self.parts = self.parts or Parts(part.sample)
            if why := self.parts.add(part, value, len(member.text)):
                yield Lost(member.name, why)
        else:
            yield One(mapping(value)) if sample else Head(mapping(value))

    def whole(self, name: str) -> Iterator[One | Lost]:
        """The sample whose parts have come, unless the next member is one of them."""
        part = part_of(name)
        if self.parts and (part is None or part.sample != self.parts.sample):
            found, self.parts = self.parts, None
            yield One(found.whole())
            if found.cut:
                yield Lost(found.sample, found.cut)


def _value(member: Member, *, listed: bool) -> object:
    """What a member holds, an object unless it may be a list; Lost where that cannot be told."""
    if member.problem:
        return Lost(member.name, member.problem)
    try:
        value = parsed(member.text, strict=True)
    except (ValueError, RecursionError) as error:
        return Lost(member.name, f"not valid JSON: {error}")
    return value if listed or isinstance(value, dict) else Lost(member.name, "no object")
