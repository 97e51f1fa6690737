"""The files of the index of words: blocks of some hundred words in their order, and a list of them.

They are scripts, since from disk a page can load nothing else. Whether a word begins a block is
said by what it stands for: what a run changes are the blocks that hold its words, and no other.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

from kbsite.pages.listing import packed

FOLDER = "search"
"""Where an index stands in a site."""

LIST = f"{FOLDER}/index.js"
"""The script that says what kind of index there is, and what the parts of this one are."""

_BYTES = 24_000
"""Of a block, on average."""

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""Those of a number, five bits each, the low ones first; of the second half if more follow."""

WEIGHTS = 8
"""How often a word stands in a text: 0 once, 1 twice or more, 2 four times or more, and so on."""


def weight(count: int) -> int:
    """The weight of a word that stands in a text so often."""
    return min(WEIGHTS, count.bit_length()) - 1


def encoded(number: int) -> str:
    """A number as a few characters."""
    return _SHORT[number] if number < len(_SHORT) else _digits(number)


def _digits(number: int) -> str:
    text = ""
    while number >= 32:
        text += _DIGITS[32 + number % 32]
        number //= 32
    return text + _DIGITS[number]


_SHORT = [_digits(number) for number in range(1 << 14)]


def places_text(places: Mapping[int, int]) -> str:
    """The texts that hold a word, by number, each with its weight there."""
    text, last = [], 0
    for number in sorted(places):
        text.append(encoded((number - last) * WEIGHTS + places[number]))
        last = number
    return "".join(text)


def read_places(text: str) -> dict[int, int]:
    """What `places_text` was given."""
    places, last, number, shift = {}, 0, 0, 0
    for digit in map(_DIGITS.index, text):
        number += digit % 32 << shift
        shift += 5
        if digit < 32:
            last += number // WEIGHTS
            places[last] = number % WEIGHTS
            number = shift = 0
    return places


@dataclass(frozen=True, slots=True)
class Block:
    """Words that follow each other, and where each stands."""

    first: str
    """What it is called by: its first word, and of the first one, which may have none, nothing."""
    entries: Sequence[tuple[str, str]]

    @property
    def path(self) -> str:
        """Where it stands in a site."""
        return block_path(self.first)

    @property
    def data(self) -> bytes:
        """The script."""
        words, places = zip(*self.entries, strict=True) if self.entries else ((), ())
        held = packed([_name(self.first), " ".join(words), " ".join(places)])
        return f"kbsiteWords({held});\n".encode()


def block_path(first: str) -> str:
    """Where the block of this name stands in a site."""
    return f"{FOLDER}/words/{_name(first)}.js"


def _name(first: str) -> str:
    return sha256(first.encode()).hexdigest()[:12]


def read_block(data: bytes) -> list[tuple[str, str]]:
    """The words of a block, and where each stands."""
    _, words, places = json.loads(data[data.index(b"[") : data.rindex(b"]") + 1])
    return list(zip(words.split(), places.split(), strict=True))


def cut(entries: Iterable[tuple[str, str]], first: str = "") -> Iterator[Block]:
    """Words in their order as blocks, of which the first has the name that is given."""
    held: list[tuple[str, str]] = []
    for word, places in entries:
        if word != first and begins(word, places):
            yield Block(first, held)
            first, held = word, []
        held.append((word, places))
    yield Block(first, held)


def begins(word: str, places: str) -> bool:
    """Whether a block begins with a word: by chance, the sooner the longer what is said of it."""
    return crc32(word.encode()) % _BYTES < len(word) + len(places)


@dataclass(frozen=True, slots=True)
class Listed:
    """What the index says of itself."""

    texts: Sequence[str | Sequence[object]]
    """What holds words, by number: the key of a run, or address, title and filters of others."""
    blocks: Sequence[str]
    """The names of its blocks, in order."""

    @property
    def data(self) -> bytes:
        """The script."""
        names = " ".join(map(_name, self.blocks))
        held = {"kind": "words", "texts": self.texts, "firsts": " ".join(self.blocks)}
        return f"kbsiteIndex({packed({**held, 'names': names})});\n".encode()

    def block_of(self, word: str) -> str:
        """The name of the block that holds a word, if any does."""
        return self.blocks[bisect_right(self.blocks, word) - 1]


def read_list(data: bytes) -> Listed | None:
    """What an index says of itself; None where it is of another kind."""
    told = json.loads(data[data.index(b"{") : data.rindex(b"}") + 1])
    return Listed(told["texts"], told["firsts"].split(" ")) if told["kind"] == "words" else None
