"""A large sample whose messages, events and attachments are members of an archive of their own.

Beside `samples/<id>_epoch_<n>/sample.json` stand sequences, cut into members that are named by the
index of their first item, and summaries of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from kbsite.harnesses.inspect import archive
from kbsite.harnesses.lines import count, dump, sequence

_PART = re.compile(
    r"(samples/.*_epoch_\d+)/(?:(sample|metadata|skeleton)"
    r"|(messages|events|calls|attachments)/(\d{1,12}|stats|uuids))\.json",
    re.DOTALL,
)
_EACH = 64
"""Bytes that a message counts for beside its text."""
_SUMMARIES = ("skeleton", "stats", "uuids")
"""Members that follow from the others."""


class Part(Struct, frozen=True):
    """What a member's name says of it."""

    member: str
    sample: str
    kind: str
    first: int = 0
    """Index of its first item, in a sequence."""


def part_of(name: str) -> Part | None:
    """What part of which sample a member is; None if it is no part."""
    found = _PART.fullmatch(name)
    if found is None:
        return None
    sample, alone, sequenced, which = found.groups()
    if sequenced and which.isdigit():
        return Part(name, sample, sequenced, int(which))
    return Part(name, sample, alone or which)


class Parts(Struct):
    """The parts of one sample while they are read."""

    sample: str
    shell: Mapping[str, object] = field(default_factory=dict)
    sequences: dict[str, dict[int, list[object]]] = field(default_factory=dict)
    size: int = 0
    cut: str = ""
    """What is not read of the sample that was put together."""

    def add(self, part: Part, value: object, size: int) -> str:
        """Take in a part; why it cannot be taken, or an empty text."""
        if part.kind in _SUMMARIES:
            return ""
        self.size += size
        if self.size > archive.MEMBER_BYTES:
            return f"beyond the {archive.MEMBER_BYTES} bytes that are read of a sample"
        if part.kind == "sample" and isinstance(value, dict):
            self.shell = {**self.shell, **value}
        elif part.kind == "metadata" and isinstance(value, dict):
            self.shell = {"metadata": value, **self.shell}
        elif isinstance(value, list):
            self.sequences.setdefault(part.kind, {})[part.first] = value
        else:
            return "not what its name says"
        return ""

    def whole(self) -> dict[str, object]:
        """The sample as it would stand in one member."""
        pool = self._all("messages")
        shell = {key: held for key, held in self.shell.items() if key != "message_refs"}
        texts = self._all("attachments")
        return shell | {
            "messages": list(self._referred(pool)),
            "events": self._all("events"),
            "events_data": {"messages": pool, "calls": self._all("calls")},
            "attachments": {str(index): text for index, text in enumerate(texts)},
        }

    def _referred(self, pool: list[object]) -> Iterator[object]:
        """The messages of the conversation, as many as a member could hold."""
        left, sizes = archive.MEMBER_BYTES, dict[int, int]()
        for index in indices(len(pool), self.shell.get("message_refs")):
            if index not in sizes:
                sizes[index] = len(dump(pool[index])) + _EACH
            left -= sizes[index]
            if left < 0:
                self.cut = f"names more than {archive.MEMBER_BYTES} bytes of messages"
                return
            yield pool[index]

    def _all(self, kind: str) -> list[object]:
        chunks = self.sequences.get(kind, {})
        return [item for first in sorted(chunks) for item in chunks[first]]


class Unseen(Struct):
    """Which indices were not met before, however often ranges name them."""

    after: dict[int, int] = field(default_factory=dict)
    """By an index that was met, one behind it that was not, or that leads on to it."""

    def within(self, first: int, last: int) -> Iterator[int]:
        """The indices of a range that are met for the first time."""
        index = self._next(first)
        while index < last:
            self.after[index] = index + 1
            yield index
            index = self._next(index + 1)

    def _next(self, index: int) -> int:
        """The first from `index` on that was not met; what led there leads there at once."""
        end = index
        while end in self.after:
            end = self.after[end]
        while index < end:
            self.after[index], index = end, self.after[index]
        return end


Ranges = Sequence[tuple[int, int]]


def beyond(now: Ranges, before: Ranges) -> Ranges | None:
    """What ranges name beyond others that they begin with; None if they begin otherwise."""
    if not before:
        return now
    *whole, (first, last) = before
    begun = len(whole)
    if len(now) < len(before) or [*now[:begun]] != whole:
        return None
    start, end = now[begun]
    if start != first or end < last:
        return None
    return [(last, end), *now[begun + 1 :]]


def indices(size: int, refs: object) -> Iterator[int]:
    """The indices below `size` that ranges name, in their order."""
    for first, last in ranges(size, refs):
        yield from range(first, last)


def ranges(size: int, refs: object) -> Iterator[tuple[int, int]]:
    """The ranges that are named, none of which ends behind `size`."""
    for item in sequence(refs):
        pair = [count(part) for part in sequence(item)]
        if len(pair) == 2 and pair[0] is not None and pair[1] is not None:
            yield pair[0], min(pair[1], size)
