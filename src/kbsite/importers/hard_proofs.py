"""The quotes of published notes, held against the files of the runs that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kbsite.importers.hard_notes import Note
from kbsite.importers.report import Checked
from kbsite.model.audit import Quote
from kbsite.proofs import proof
from kbsite.store.records import InvalidFileError, line_of
from kbsite.store.runs import StoredRun, read_run


def checked(out: Path, notes: Iterable[Note]) -> Iterator[Checked]:
    """What becomes of each quote that the notes brought in, run by run.

    The runs lie below `out`; one that is there but cannot be read has no file to compare with.
    """
    for note in notes:
        stored = _stored(out / note.raw.run_id)
        for quote in note.audit.quotes:
            yield Checked(
                file=note.file,
                line=_line(note, quote),
                quote=quote,
                proof=proof(stored, quote) if stored else None,
            )


def _line(note: Note, quote: Quote) -> int | None:
    """Where a note begins a quote, among those that were left out."""
    published = enumerate(note.raw.quotes or ())
    same = (n for n, item in published if (item.get("file"), item.get("text")) == _told(quote))
    number = next(same, None)
    return None if number is None else line_of(note.text, f".quotes[{number}]")


def _told(quote: Quote) -> tuple[str, str]:
    return quote.file, quote.text


def _stored(folder: Path) -> StoredRun | None:
    try:
        return read_run(folder)
    except InvalidFileError:
        # What is wrong with a run that was there before, `kbsite check` says.
        return None
