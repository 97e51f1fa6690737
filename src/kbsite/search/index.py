"""The index of words: which texts hold a word, for sites whose texts are too many for Pagefind.

It is sorted on disk: copies of the process write down the words of some texts each, in order, and
these lists are merged. Where little changed since the last build, only those blocks are written
anew that hold words which came or went.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TextIO

from kbsite.engines import Engine, Lost
from kbsite.errors import MachineError
from kbsite.output import Output
from kbsite.search.blocks import (
    FOLDER,
    LIST,
    WEIGHTS,
    Block,
    Listed,
    begins,
    block_path,
    cut,
    encoded,
    places_text,
    read_block,
    read_list,
    read_places,
    weight,
)
from kbsite.search.words import words_of
from kbsite.store.swapping import remove

_AT_ONCE = 24_000_000
"""Bytes of pages whose words are sorted in memory."""

_READ = re.compile(r"(?:.*/)?(?:index|solution|steps-[^/]*|text-[^/]*)\.html", re.DOTALL)
"""The files of a page that hold its texts: states of a solution say again what the texts do."""

Files = Mapping[str, Collection[str]]
"""The files of pages, by the pages' paths."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a hit leads to: a run, a problem or a board."""

    page: str
    """Its page."""
    told: str | Sequence[object]
    """What the index says of it: the key of a run; else address, title and filters."""


def write_index(
    texts: Sequence[Text], output: Output, engine: Engine, made: Files, stood: Files
) -> None:
    """Put the index of the texts in its place: of what their pages, which are `made`, hold.

    `stood` are the pages of the site that is to be replaced, if this very code made its index, or
    nothing. The index is the same to the byte whatever stood.
    """
    pages = [_pages(made, text.page) for text in texts]
    listed = _standing(texts, output) if stood else None
    changes = (
        _changes([_pages(stood, text.page) for text in texts], pages, output) if listed else None
    )
    if listed is None or changes is None:
        blocks = _whole(pages, output, engine)
    else:
        blocks = _patched(listed, changes, output)
    output.write_bytes(LIST, Listed([text.told for text in texts], blocks).data)


def _pages(files: Files, page: str) -> list[str]:
    return sorted(path for path in files.get(page, ()) if _READ.fullmatch(path))


def _size(folder: Path, pages: Iterable[str]) -> int:
    return sum((folder / page).stat().st_size for page in pages)


def _words(folder: Path, pages: Iterable[str]) -> dict[str, int]:
    return words_of((folder / page).read_text("utf-8") for page in pages)


# All anew ---------------------------------------------------------------------------------------


def _whole(texts: Sequence[Sequence[str]], output: Output, engine: Engine) -> list[str]:
    """Write the blocks of texts, given the pages of each; the names of the blocks, in order."""
    folder = output.folder / f"{FOLDER}.partial"
    folder.mkdir()
    lists = [folder / f"{number:06}" for number in range(len(texts))]
    tasks, weights = _shares([_size(output.folder, pages) for pages in texts])

    def told(_: int, lost: Lost | None) -> None:
        if lost:
            raise MachineError(f"the index of texts: a process that made it was {lost.why}")

    work = partial(_write_list, output.folder, texts, lists)
    engine.each(work, tasks, weights, told)
    names = []
    with ExitStack() as opened:
        streams = [opened.enter_context(lists[task.start].open(encoding="utf-8")) for task in tasks]
        for block in cut(_merged(streams)):
            output.write_bytes(block.path, block.data)
            names.append(block.first)
    remove(folder)
    return names


def _shares(sizes: Sequence[int]) -> tuple[list[range], list[int]]:
    """Texts that follow each other, as many as are sorted in memory, and the bytes of each."""
    shares, weights = [], []
    start = held = 0
    for number, size in enumerate(sizes):
        held += size
        if held >= _AT_ONCE or number == len(sizes) - 1:
            shares.append(range(start, number + 1))
            weights.append(held)
            start, held = number + 1, 0
    return shares, weights


def _write_list(
    folder: Path, texts: Sequence[Sequence[str]], lists: Sequence[Path], share: range
) -> None:
    """Write down the words of some texts, in order: of each the first place, the last, the rest."""
    found: dict[str, tuple[int, int, str]] = {}
    for number in share:
        for word, count in _words(folder, texts[number]).items():
            place = number * WEIGHTS + weight(count)
            first, last, rest = found.get(word, (place, number, ""))
            if last < number:
                rest += encoded(place - last * WEIGHTS)
            found[word] = first, number, rest
    with lists[share.start].open("w", encoding="utf-8") as stream:
        for word in sorted(found):
            first, last, rest = found[word]
            stream.write(f"{word}\t{first}\t{last}\t{rest}\n")


def _merged(lists: Iterable[TextIO]) -> Iterator[tuple[str, str]]:
    """Each word of the lists, in order, and where it stands."""
    rows = merge(*(_rows(number, stream) for number, stream in enumerate(lists)))
    for word, held in groupby(rows, itemgetter(0)):
        places: list[str] = []
        before = 0
        for _, _, row in held:
            first, last, rest = row.rstrip("\n").split("\t")
            places += encoded(int(first) - before * WEIGHTS), rest
            before = int(last)
        yield word, "".join(places)


def _rows(number: int, stream: TextIO) -> Iterator[tuple[str, int, str]]:
    for line in stream:
        word, _, row = line.partition("\t")
        yield word, number, row


# What changed -----------------------------------------------------------------------------------

_Changes = dict[str, dict[int, int | None]]
"""Of words the numbers of texts, each with the word's weight there, or None where it is gone."""


def _standing(texts: Sequence[Text], output: Output) -> Listed | None:
    """The index that stands, if it gives each of its texts the number that it has now."""
    path = output.out / LIST
    listed = read_list(path.read_bytes()) if path.is_file() else None
    if listed is None:
        return None
    before = [_address(told) for told in listed.texts]
    return listed if before == [_address(text.told) for text in texts][: len(before)] else None


def _address(told: str | Sequence[object]) -> object:
    return told if isinstance(told, str) else told[0]


def _changes(
    before: Sequence[Sequence[str]], now: Sequence[Sequence[str]], output: Output
) -> _Changes | None:
    """What changed in the words of texts, given the pages of each; None where that is much."""
    written = set(output.placed.written)
    changed = [
        number
        for number, pages in enumerate(now)
        if pages != before[number] or not written.isdisjoint(pages)
    ]
    if sum(_size(output.folder, now[number]) for number in changed) > _AT_ONCE:
        return None
    changes: _Changes = {}
    for number in changed:
        old, new = _words(output.out, before[number]), _words(output.folder, now[number])
        _compare(old, new, number, changes)
    return changes


def _compare(
    old: Mapping[str, int], new: Mapping[str, int], number: int, changes: _Changes
) -> None:
    """Take down what is different in a text."""
    for word, count in new.items():
        if word not in old or weight(old[word]) != weight(count):
            changes.setdefault(word, {})[number] = weight(count)
    for word in old.keys() - new.keys():
        changes.setdefault(word, {})[number] = None


def _patched(listed: Listed, changes: _Changes, output: Output) -> list[str]:
    """Write the blocks that changes make others; the names of all, in order."""
    touched: dict[str, list[str]] = {}
    for word in changes:
        touched.setdefault(listed.block_of(word), []).append(word)
    names: list[str] = []
    orphans: list[tuple[str, str]] = []
    # From the last to the first: what is left of a block whose first word begins none any more
    # follows the words of the block before it.
    for first in reversed(listed.blocks):
        if first not in touched and not orphans:
            output.keep([block_path(first)])
            names.append(first)
            continue
        entries = dict(read_block((output.out / block_path(first)).read_bytes()))
        for word in touched.get(first, ()):
            _change(entries, word, changes[word])
        orphans = [*sorted(entries.items()), *orphans]
        if first == "" or (first in entries and begins(first, entries[first])):
            made = list(cut(orphans, first))
            _write(made, output)
            names += [block.first for block in reversed(made)]
            orphans = []
    return names[::-1]


def _write(blocks: Iterable[Block], output: Output) -> None:
    for block in blocks:
        output.write_bytes(block.path, block.data)


def _change(entries: dict[str, str], word: str, changes: Mapping[int, int | None]) -> None:
    places = read_places(entries.pop(word, ""))
    for number, held in changes.items():
        places.pop(number, None)
        if held is not None:
            places[number] = held
    if places:
        entries[word] = places_text(places)
