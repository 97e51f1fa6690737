"""The logs of a run on its page, with the lines that its audit quotes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from markupsafe import Markup
from msgspec import Struct

from kbsite.model.proof import Proof
from kbsite.pages.long_text import WHOLE, ends_of
from kbsite.pages.quotes import backs_by_file, lines_by_file, proven
from kbsite.store.run_folders import LOGS
from kbsite.store.runs import StoredRun


class Stretch(Struct, frozen=True):
    """Lines of a log that stand together."""

    text: str
    place: str = ""
    """Its place on the page, for a line that is quoted; empty for the lines between."""
    back: Markup = Markup()
    """Links to the quotes that start with it."""
    left_out: int = 0
    """Lines behind it that are not shown, as there are too many."""


class Log(Struct, frozen=True):
    """A log of a run, long ones by their ends and those around what is quoted."""

    name: str
    text: str
    stretches: tuple[Stretch, ...]

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def opens(self) -> bool:
        """Whether it is shown without a click: it is short, or quoted."""
        return self.lines <= SHORT or any(one.place for one in self.stretches)


SHORT = 40
"""Lines of the longest log that is shown without a click."""


def logs(stored: StoredRun, held: tuple[Proof, ...]) -> Iterator[Log]:
    """The logs that a run has, in the order in which they are shown."""
    quoted, backs = lines_by_file(held), backs_by_file(held, first=True)
    for number, name in enumerate(LOGS, start=1):
        file = stored.file(name)
        if file is None or not file.size:
            continue
        text = file.read().decode("utf-8", "surrogateescape")
        own = quoted.get(name, frozenset())
        yield Log(name, text, tuple(_stretches(text, number, own, backs.get(name, {}))))


def log_places(stored: StoredRun, held: tuple[Proof, ...]) -> dict[int, str]:
    """The addresses of quotes from logs, by the quote's number, from 0."""
    there = {file.name for file in stored.files if file.size}
    return {
        number: f"#{_place(LOGS.index(quote.file) + 1, quote.lines[0])}"
        for number, quote in proven(held)
        if quote.lines and quote.file in LOGS and quote.file in there
    }


def _place(log: int, line: int) -> str:
    return f"log-{log}-L{line}"


def _stretches(
    text: str, log: int, quoted: frozenset[int], backs: Mapping[int, Markup]
) -> Iterator[Stretch]:
    if not quoted:
        yield from _in_short(text)
        return
    numbered = enumerate(_lines(text), start=1)
    for place, rows in groupby(numbered, lambda row: row[0] if row[0] in quoted else 0):
        whole = "".join(line for _, line in rows)
        if place:
            yield Stretch(whole, _place(log, place), backs.get(place, Markup()))
        else:
            yield from _in_short(whole)


def _in_short(text: str) -> Iterator[Stretch]:
    """Lines that nobody quotes; of too many the first and the last."""
    if len(text) <= WHOLE:
        yield Stretch(text)
        return
    head, tail, left_out = ends_of(text)
    yield Stretch(head, left_out=left_out)
    yield Stretch(tail)


def _lines(text: str) -> list[str]:
    """The lines as proofs count them, with their ends: a form feed ends none."""
    *rows, last = text.split("\n")
    return [*(f"{row}\n" for row in rows), *([last] if last else [])]
