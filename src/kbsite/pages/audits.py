"""/audits/: every verdict, what the boards' rules still want read, and what was corrected."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from markupsafe import Markup
from msgspec import Struct

from kbsite.model.audit import Audit, Earlier, Verdict
from kbsite.model.board import Board, Due
from kbsite.pages import verdicts
from kbsite.pages.coloured import Made
from kbsite.pages.page import INDEX, File, Page, Renderer, Site
from kbsite.pages.queue import Waiting, waiting
from kbsite.pages.verdicts import Judged
from kbsite.standing import digest
from kbsite.store.runs import StoredRun

ROWS = 100
"""Verdicts on a page."""

WAITING = 100
"""Runs of the queue, and corrections, that the page shows; more are counted."""


class Reason(Struct, frozen=True):
    """Cells that a board's rule wants audited for one reason."""

    due: Due
    cells: int
    audited: int


class BoardCoverage(Struct, frozen=True):
    """How much of what a board's rule wants audited is."""

    board: Board
    reasons: tuple[Reason, ...]
    """Only those that some cell has; a cell can have several."""


class Correction(Struct, frozen=True):
    """A verdict that was replaced, and by what."""

    stored: StoredRun
    earlier: Earlier
    counted: bool
    """Whether the score counted in the ranking."""
    verdict: Verdict
    """The one that took its place."""
    counts: bool

    @property
    def stays(self) -> bool:
        """Whether it says the same of the run, in other words or of another auditor."""
        return self.earlier.verdict is self.verdict and self.counted is self.counts


def pages(site: Site) -> Iterator[Page]:
    """The page of all verdicts, and the pages that its list goes on with."""
    yield Page(f"audits/{INDEX}", partial(_files, site))


def page_path(number: int) -> str:
    """Where a page of the list stands, from 1."""
    return f"audits/{INDEX}" if number == 1 else f"audits/index/{number}.html"


def _files(site: Site, renderer: Renderer) -> Iterator[File]:
    rows = verdicts.judged(site)
    shown = {row.stored.run.id: verdicts.made_of(site, row) for row in rows}
    yield verdicts.script(site, rows, shown)
    cut = [rows[at : at + ROWS] for at in range(0, len(rows), ROWS)] or [[]]
    for number, held in enumerate(cut, start=1):
        path, made = page_path(number), None
        if number > 1:
            made = _made([shown[row.stored.run.id] for row in held], number, len(cut))
            if made and made == renderer.made(path, page_path(1)):
                yield File(path, made=made, stays=True)
                continue
        values = {
            "title": "audits" if number == 1 else f"audits, page {number}",
            "number": number,
            "numbers": len(cut),
            "page_path": page_path,
            "columns": verdicts.COLUMNS,
            "sorts": verdicts.SORTS,
            "rows": held,
            "verdict_rows": partial(verdicts.rows_html, site, f"verdicts-{number}", shown),
            "waiting_rows": partial(queue_html, site),
        }
        if number == 1:
            values |= _overview(site, rows)
        yield File(path, renderer.page("pages/audits.html", path, values), made=made)


def _made(rows: Sequence[str], number: int, numbers: int) -> Made | None:
    """What a page that shows nothing but rows is made of; None where that is not known."""
    return Made(digest((number, numbers, rows)), len(rows)) if all(rows) else None


def _overview(site: Site, rows: Sequence[Judged]) -> dict[str, object]:
    """What stands on the first page only."""
    counts = Counter(row.audit.verdict for row in rows)
    corrected = corrections(site)
    queue = waiting(site)
    return {
        "verdicts": len(rows),
        "census": [(verdict, counts[verdict]) for verdict in Verdict if counts[verdict]],
        "quotes": sum(len(row.audit.quotes) for row in rows),
        "proven": sum(row.proven for row in rows),
        "choices": verdicts.choices(site, rows),
        "coverage": [coverage(board) for board in site.boards],
        "corrections": corrected[:WAITING],
        "more_corrections": max(0, len(corrected) - WAITING),
        "queue": queue[:WAITING],
        "more_waiting": max(0, len(queue) - WAITING),
    }


def queue_html(site: Site, queue: Sequence[Waiting], draw: Callable[[Waiting], Markup]) -> Markup:
    """Runs of the queue as HTML, made anew only where something that they show changed."""
    by_id = {one.stored.run.id: one for one in queue}
    made_of = {run_id: _queued(site, one) for run_id, one in by_id.items()}
    html = site.kept.joined_html("waiting", made_of, lambda run_id: f"{draw(by_id[run_id])}\n")
    return Markup(html)  # noqa: S704 - a template made it


def _queued(site: Site, one: Waiting) -> str:
    """A digest of what is shown of a run of the queue; empty where that is not known."""
    run = one.stored.run
    known = site.rows_depend.get(run.id), site.untold.get(run.id)
    return digest(known, one.reasons, site.problem_title(run.problem)) if all(known) else ""


def coverage(board: Board) -> BoardCoverage:
    """What a board's rule wants audited, and how much of it is, by reason."""
    cells: Counter[Due] = Counter()
    audited: Counter[Due] = Counter()
    for _, _, cell in board.cells:
        cells.update(cell.due)
        if cell.shown.audit is not None:
            audited.update(cell.due)
    reasons = tuple(Reason(due, cells[due], audited[due]) for due in Due if cells[due])
    return BoardCoverage(board, reasons)


def corrections(site: Site) -> list[Correction]:
    """Every verdict that was replaced, the latest replaced first."""
    found = [
        correction
        for stored in site.runs
        if stored.audit is not None
        for correction in _replaced(stored, stored.audit)
    ]
    # Those of one run and day stand in the order of their time.
    return sorted(found, key=_when)[::-1]


def _replaced(stored: StoredRun, audit: Audit) -> Iterator[Correction]:
    laters: list[Earlier | Audit] = [*audit.history, audit]
    for earlier, later in zip(audit.history, laters[1:], strict=True):
        yield Correction(stored, earlier, earlier.counts, later.verdict, later.counts)


def _when(correction: Correction) -> tuple[datetime.date, str]:
    return correction.earlier.replaced, correction.stored.run.id
