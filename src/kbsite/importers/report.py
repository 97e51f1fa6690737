"""What an import of a published board brought in, and everything odd that it met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kbsite.model.audit import Quote
from kbsite.model.counts import number_of
from kbsite.model.proof import Proof, ProofState
from kbsite.model.status import Status

NUMBER = "peak_fraction"
"""The key of oddities that are about a score."""

UNREADABLE = "The run's files cannot be read."


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """Something in the published files that a reader of the board has to know."""

    file: str
    """Path within the published folder, or within the runs written."""
    found: str
    done: str
    """What the import made of it."""
    line: int | None = None
    key: str | None = None

    @property
    def text(self) -> str:
        """The remark on one line, as a compiler would write it; control signs are escaped."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        whole = ": ".join(part for part in (place, self.key, self.found) if part)
        return printable(f"{whole}; {self.done}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A quote of a note, held against the run that it is about."""

    file: str
    """The note, within the published folder."""
    line: int | None
    quote: Quote
    proof: Proof | None
    """None where the run could not be read."""

    @property
    def proven(self) -> bool:
        """Whether the passage stands where the note says."""
        return self.proof is not None and self.proof.proven

    @property
    def why(self) -> str:
        """What comparing it says, in one sentence."""
        return self.proof.state.sentence if self.proof else UNREADABLE

    @property
    def text(self) -> str:
        """The quote on one line: note, place and label."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        lines = " to ".join(str(line) for line in dict.fromkeys(self.quote.lines))
        told = f"{place}: {self.quote.file} {lines}: {self.quote.label or 'no label'}"
        held = self.proof.lines if self.proof else ()
        if held:
            told += f" (stands in {' to '.join(str(line) for line in dict.fromkeys(held))})"
        return printable(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts of what an import brought in, and the oddities in order of file and line."""

    board: str
    cells: Mapping[Status, int]
    """Runs on disk after the import, by status."""
    scored: int
    """How many of them passed with a score."""
    written: int
    already_there: int
    """Runs that were there before, changed or not; they were kept."""
    audits: int
    quotes_kept: int
    quotes_refused: int
    """Quotes that were left out: placeholders, and what cannot be read."""
    quotes: tuple[Checked, ...]
    """Those that were kept, in order of the notes."""
    floors: int
    floors_scored: int
    """How many of the floors have a peak_fraction."""
    oddities: tuple[Oddity, ...]

    @property
    def numbers(self) -> tuple[Oddity, ...]:
        """Where a note tells another score than the board."""
        return tuple(oddity for oddity in self.oddities if oddity.key == NUMBER)

    @property
    def refused(self) -> tuple[Oddity, ...]:
        """The quotes that were left out, and why."""
        return tuple(odd for odd in self.oddities if (odd.key or "").startswith("quotes"))

    @property
    def proven(self) -> int:
        """How many of the quotes kept are proven."""
        return sum(quote.proven for quote in self.quotes)

    def text(self) -> str:
        """The report for a terminal."""
        listed = {*self.numbers, *self.refused}
        other = [oddity for oddity in self.oddities if oddity not in listed]
        counted = ", ".join(f"{count} {status.value}" for status, count in self.cells.items())
        head = [
            f"{self.board}: {number_of(sum(self.cells.values()), 'run')}"
            f" ({self.written} written, {self.already_there} already there)",
            f"  cells    {counted or 'none'}; {self.scored} with a score",
            f"  audits   {self.audits}, with {self.quotes_kept} quotes"
            f" ({self.quotes_refused} refused)",
            f"  quotes   {self.proven} of {self.quotes_kept} proven against the files of the runs",
            f"  numbers  {len(self.numbers)} of {self.audits} notes tell another score than the"
            " board",
            f"  floors   {self.floors}, {self.floors_scored} of them with a peak_fraction",
            f"  oddities {len(self.oddities)}: {len(self.numbers)} numbers,"
            f" {len(self.refused)} quotes, {len(other)} others",
        ]
        odd = [f"    {oddity.text}" for oddity in other]
        lines = [*map(printable, head), *odd, *self._on_numbers(), *self._on_quotes()]
        return "\n".join(lines)

    def _on_quotes(self) -> Iterator[str]:
        """Each quote that is not proven, below the reason; those that are, are counted."""
        reasons = [state.sentence for state in ProofState] + [UNREADABLE]
        for why in reasons:
            held = [quote for quote in self.quotes if quote.why == why]
            if held:
                yield f"  {len(held)} of {self.quotes_kept} quotes: {why}"
                yield from (f"    {quote.text}" for quote in held if not quote.proven)
        if self.refused:
            yield f"  {self.quotes_refused} quotes were left out"
            yield from (f"    {oddity.text}" for oddity in self.refused)

    def _on_numbers(self) -> Iterator[str]:
        if self.numbers:
            yield f"  {len(self.numbers)} notes tell another score than the board"
            yield from (f"    {oddity.text}" for oddity in self.numbers)


def printable(text: str) -> str:
    """Text with escapes for control signs, for a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
