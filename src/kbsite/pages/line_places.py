"""Where a line of a solution is shown, told without colouring the files, for pages of many runs."""

from __future__ import annotations

from kbsite.model.audit import Quote
from kbsite.model.solution import LONGEST
from kbsite.pages.page import INDEX
from kbsite.pages.source import FILES, HERE, PAGE, WHOLE, named_files
from kbsite.store.files import Stored
from kbsite.store.runs import StoredRun


def line_place(stored: StoredRun, quote: Quote) -> tuple[str, str] | None:
    """The page, within the run's folder, and the place on it of the first line that a quote cites.

    None where that is no line of a file that `pages.source` shows.
    """
    names, files = named_files(stored)
    counts = {file.name: _count(file) for file in files[:FILES]}
    if not quote.lines or not 0 < quote.lines[0] <= min(counts.get(quote.file, 0), WHOLE // 2):
        return None
    room, here = HERE, True
    for count in counts.values():
        here = here and count <= max(4, room)
        room -= count
    return (INDEX if here else PAGE), f"{names[quote.file]}-L{quote.lines[0]}"


def _count(file: Stored) -> int:
    """How many lines of a file there are to show; 0 for one that is only named, or is gone."""
    if not 0 < file.size <= LONGEST:
        return 0
    try:
        data = file.read()
    except OSError:
        # Its run's page says so; that of a board is about others too.
        return 0
    return 0 if data.count(b"\0") * 20 > len(data) else len(data.removesuffix(b"\n").split(b"\n"))
