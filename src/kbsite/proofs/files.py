"""Passages held against the lines of a file."""

from __future__ import annotations

from dataclasses import replace

from msgspec import Struct, field

from kbsite.model.audit import Quote
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs.passages import (
    Passage,
    places,
    rows_from,
    starts,
    texts_of,
    without_blank_ends,
)

FOUND = 1000
"""Characters of the cited lines that are told where they do not hold the passage."""

MOST_LINES = 5_000_000
"""Lines of a file that can be cited: no log is longer."""

BLANK = 100
"""Lines by which more may be cited than a passage has, if they are blank."""

COMPARED = 200_000
"""Lines of a file that are compared with passages which stand elsewhere."""

PARSED = 64_000_000
"""Bytes of a transcript's rows that are searched for texts which stand elsewhere."""


class Held(Struct):
    """A file while quotes are held against it."""

    data: bytes
    json: bool
    """Whether its rows may be JSON, so that texts within them count."""
    wanted: set[int]
    """The lines that quotes cite."""
    _starts: dict[int, int] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)
    _room: int = PARSED
    _lines: int = COMPARED

    def __post_init__(self) -> None:
        self._starts = starts(self.data, self.wanted, MOST_LINES)

    def proof(self, quote: Quote) -> Proof:
        """What becomes of a quote that cites some of the wanted lines."""
        first, last = quote.lines[0], quote.lines[-1]
        passage = Passage(quote.text)
        if last not in self._starts:
            near = self._elsewhere(passage, first)
            state = ProofState.ELSEWHERE if near else ProofState.NO_LINE
            return Proof(quote=quote, state=state, lines=near)
        start = self._starts[first]
        text = self._as_in(passage, start, last - first + 1)
        if text is not None:
            return Proof(quote=replace(quote, text=text), state=ProofState.PROVEN)
        near = self._elsewhere(passage, first)
        state = ProofState.ELSEWHERE if near else ProofState.DIFFERS
        found = rows_from(self.data, start, min(last - first + 1, FOUND))
        return Proof(quote=quote, state=state, found=_told(found), lines=near)

    def _as_in(self, passage: Passage, start: int, count: int) -> str | None:
        """A passage as it may be shown; None if it does not stand in the lines from `start` on.

        Blank lines at both ends count no more among the lines than they do in the passage.
        """
        if count <= len(passage.rows) + BLANK:
            rows = rows_from(self.data, start, count)
            text = passage.as_in(without_blank_ends(rows))
            if text is not None:
                return text
        within = self.json and count == 1 and passage.stands_within(self._texts_at(start))
        return passage.text if within else None

    def _texts_at(self, start: int) -> str:
        """The texts of the row that starts here; many quotes may ask for them."""
        if start not in self._texts:
            self._texts[start] = texts_of(rows_from(self.data, start, 1)[0])
        return self._texts[start]

    def _elsewhere(self, passage: Passage, near: int) -> tuple[int, ...]:
        """The lines nearest to `near` that a passage stands in; none if it stands nowhere."""
        rows, count = passage.rows, len(passage.rows)
        if not rows:
            return ()
        found = []
        for number, start in places(self.data, rows[0]):
            self._lines -= count
            if self._lines < 0:
                break
            if passage.stands_in(rows_from(self.data, start, count)):
                found.append(number)
        if not found and self.json:
            found, count = self._rows_within(passage), 1
        if not found:
            return ()
        first = min(found, key=lambda number: (abs(number - near), number))
        return (first,) if count == 1 else (first, first + count - 1)

    def _rows_within(self, passage: Passage) -> list[int]:
        found = []
        for number, start in places(self.data, passage.token):
            if start not in self._texts:
                end = self.data.find(b"\n", start)
                self._room -= (len(self.data) if end < 0 else end) - start
            if self._room < 0:
                break
            if passage.stands_within(self._texts_at(start)):
                found.append(number)
        return found


def _told(rows: list[bytes]) -> str:
    text = "\n".join(row[: 4 * FOUND].decode("utf-8", "replace") for row in rows)
    return text if len(text) <= FOUND else f"{text[:FOUND]}…"
