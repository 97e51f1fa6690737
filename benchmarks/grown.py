"""Sessions of any length, made of those that CLIs left in this repository.

A longer one goes on as the captured one did: with its calls again, under other ids and at later
times. In each some words are others, so that no two runs say the same: what is read, covered,
drawn and indexed is never known already.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import accumulate, product
from pathlib import Path

from kbsite.store.files import contents
from kbsite.transcripts import shown

VOCABULARY = 20_000
"""Words that texts have instead of their own; the n-th is as frequent as 1/n."""

_SLOT = re.compile(
    rb"(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    rb"|\b[a-z_]*(?:call|msg|resp|req|rs|prt|chatcmpl)[_-](?=\w*\d)\w+)"
    rb"|(?P<time>2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}(?=Z)|\b1795\d{9}\b|\b1795\d{6}\.\d+)"
    rb"|(?<= )(?P<word>the|a|to|of|and|is|in|it|you|for|or|with)(?= )"
)
"""What is not the same in each part of a session: ids, times, and words of texts."""

_CALL = re.compile(rb"call_\w*\d")


@dataclass(frozen=True)
class Session:
    """What a CLI left of a session, and which of it goes on where a longer one is asked for."""

    harness: str
    files: Mapping[str, bytes]
    """By path within transcript/."""
    log: str
    """The file that goes on; empty where the session made no call, or its log is one document."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    def grown(self, size: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
        """Its files, of about `size` bytes where that is more than they have."""
        for name, pieces in self._pieces.items():
            yield name, b"".join([pieces.again(0, chance), *self._more(name, size, chance)])

    def _more(self, name: str, size: int, chance: random.Random) -> Iterator[bytes]:
        rounds = (size - self.size) // max(1, self._round.size) if name == self.log else 0
        for number in range(1, rounds + 1):
            yield self._round.again(number, chance)

    @cached_property
    def _pieces(self) -> dict[str, _Pieces]:
        return {name: _Pieces.of(data, self._own) for name, data in self.files.items()}

    @cached_property
    def _round(self) -> _Pieces:
        """From its first call on."""
        data = self.files.get(self.log, b"")
        first = _CALL.search(data)
        start = data.rfind(b"\n", 0, first.start()) + 1 if first else len(data)
        return _Pieces.of(data[start:], self._own)

    @cached_property
    def _own(self) -> frozenset[bytes]:
        """Ids of the session itself: they stand on most lines of its log, or in a file's name."""
        lines = self.files.get(self.log, b"").splitlines()
        held: dict[bytes, int] = {}
        for line in lines:
            for one in {found["id"] for found in _SLOT.finditer(line) if found["id"]}:
                held[one] = held.get(one, 0) + 1
        names = "\n".join(self.files).encode()
        return frozenset(one for one, n in held.items() if 3 * n > len(lines) or one in names)


@dataclass(frozen=True)
class _Pieces:
    """A text, cut where it differs from one round of a session to the next."""

    size: int
    parts: Sequence[bytes]
    ids: Sequence[int]
    """Which parts are ids; likewise below."""
    times: Sequence[int]
    words: Sequence[int]

    @classmethod
    def of(cls, data: bytes, own: frozenset[bytes]) -> _Pieces:
        parts: list[bytes] = []
        kinds: dict[str, list[int]] = {"id": [], "time": [], "word": []}
        end = 0
        for found in _SLOT.finditer(data):
            if found[0] in own:
                continue
            kinds[found.lastgroup or ""].append(len(parts) + 1)
            parts += [data[end : found.start()], found[0]]
            end = found.end()
        parts.append(data[end:])
        return cls(len(data), parts, kinds["id"], kinds["time"], kinds["word"])

    def again(self, number: int, chance: random.Random) -> bytes:
        """The text in a round of this number, 0 for what was captured."""
        parts = list(self.parts)
        words = chance.choices(_WORDS, cum_weights=_FREQUENCY, k=len(self.words))
        for at, word in zip(self.words, words, strict=True):
            parts[at] = word
        if number:
            for at in self.ids:
                parts[at] = _other(parts[at], number)
            for at in self.times:
                parts[at] = _later(parts[at], number)
        return b"".join(parts)


def _other(name: bytes, number: int) -> bytes:
    """The id that a round has instead of another one."""
    return name + b"%04d" % number if b"_" in name else name[:-6] + b"%06x" % number


def _later(time: bytes, number: int) -> bytes:
    """A time so many rounds, of five seconds each, later."""
    if b"T" in time:
        moved = datetime.fromisoformat(time.decode()) + timedelta(seconds=5 * number)
        return moved.isoformat(timespec="milliseconds").encode()
    if b"." in time:
        return b"%.6f" % (float(time) + 5 * number)
    return b"%d" % (int(time) + 5000 * number)


_WORDS = [
    "".join(held).encode()
    for held in product(("", "ba", "de", "fi", "go", "lu"), *2 * [
        ("ka", "me", "ni", "po", "ru", "sta", "tre", "vi", "wo", "xa"),
    ], ("l", "n", "r", "s", "t", "m", "ck", "d", "p", "x"), ("", "a", "e", "o"))
][:VOCABULARY]  # fmt: skip
_FREQUENCY = list(accumulate(1 / n for n in range(1, len(_WORDS) + 1)))


def session(harness: str, folder: Path, without: str = "") -> Session:
    """The session whose files lie in a folder as in transcript/, but for those below `without`."""
    files = [
        file for file in contents(folder)[0] if not without or not file.name.startswith(without)
    ]
    chosen = shown(harness, files)
    held = [file for file in (chosen[1] if chosen else ()) if file.name.endswith(".jsonl")]
    data = {file.name: file.read() for file in files}
    longest = max(held, key=lambda file: file.size).name if held else ""
    rows = data.get(longest, b"")
    grows = rows.count(b"\n") > _DOCUMENTS and _CALL.search(rows)
    return Session(harness, data, longest if grows else "")


_DOCUMENTS = 4
"""Lines of a log that has a document on each, and not a step."""


def fitting(sessions: Sequence[Session], size: int) -> Session:
    """The one of them that a session of this size is made of."""
    held = [one for one in sessions if one.size <= size]
    longest = max(held or sessions, key=lambda one: one.size if held else -one.size)
    if longest.log or size < 2 * longest.size:
        return longest
    return max((one for one in held if one.log), key=lambda one: one.size, default=longest)
