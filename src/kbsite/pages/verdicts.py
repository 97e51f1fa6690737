"""Every verdict of the site in a row: on /audits/, and in data/audits.js for that page's script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from markupsafe import Markup
from msgspec import Struct

from kbsite.model.audit import Audit
from kbsite.model.board import Attempt
from kbsite.pages import listing
from kbsite.pages.facts import in_short
from kbsite.pages.leaks import leaks as board_leaks
from kbsite.pages.page import File, Site, attempt_of, board_path, from_home, run_key
from kbsite.standing import digest
from kbsite.store.runs import StoredRun
from kbsite.text import visible

SCRIPT = "data/audits.js"

FILTERS = (
    "board", "verdict", "counts", "problem", "model", "harness", "passages", "leak", "auditor",
)  # fmt: skip
"""What verdicts can be filtered by, in the order of the page."""

COLUMNS = ("date", "verdict", "judged", "score", "summary", "quotes", "auditor")
"""What the table says of a verdict."""

SORTS = tuple(name for name in COLUMNS if name != "summary")
"""The columns that a script can sort by."""

FIELDS = (
    "key", *FILTERS, "status", "cut", "effort", "variant", "score", "told", "half", "date",
    "summary", "quotes", "proven", "quoted", "card",
)  # fmt: skip
"""What data/audits.js holds of each verdict, in the order of its lists."""

NO_LEAK = "none"


class Judged(Struct, frozen=True):
    """A run that somebody audited."""

    stored: StoredRun
    attempt: Attempt
    audit: Audit
    proven: int
    """How many of the quotes are proven."""
    leak: str
    """The title of the leak that it is an instance of; its id where nobody declared it."""
    card: tuple[str, str] | None
    """The page of the board that tells of the leak, and the place on it; None without a leak."""

    @property
    def passages(self) -> str:
        """Whether its quotes are proven: "all", "some", "no", or "none" where it has no quotes."""
        quotes = len(self.audit.quotes)
        if not quotes:
            return "none"
        return "all" if self.proven == quotes else "some" if self.proven else "no"

    @property
    def quoted(self) -> str:
        """How many quotes it has, and how many of them are proven, in words."""
        if not self.audit.quotes:
            return "none"
        return f"{self.proven} of {len(self.audit.quotes)} proven"

    @property
    def date(self) -> str:
        """The day of the verdict; empty where it is not known."""
        return self.audit.date.isoformat() if self.audit.date else ""

    @property
    def summary(self) -> str:
        """Its summary as plain text, on one line."""
        return in_short(self.audit.summary)


def judged(site: Site) -> list[Judged]:
    """All verdicts, the newest first; those without a date last."""
    leaks = {leak.id: leak.title for leak in site.config.leaks}
    cards = _cards(site)
    found = [
        Judged(
            stored=stored,
            attempt=attempt_of(stored),
            audit=stored.audit,
            proven=sum(proof.proven for proof in site.proofs.get(stored.run.id, ())),
            leak=leaks.get(stored.audit.leak, stored.audit.leak),
            card=cards.get(stored.run.id) if stored.audit.leak else None,
        )
        for stored in site.runs
        if stored.audit is not None
    ]
    return sorted(found, key=lambda one: (one.date, one.stored.run.id), reverse=True)


def _cards(site: Site) -> dict[str, tuple[str, str]]:
    """Where a board tells of the leak of a run, by the run's id."""
    return {
        instance.attempt.run.id: (board_path(board.config.id), card.anchor)
        for board in site.boards
        for card in board_leaks(site, board)
        for instance in card.instances
    }


def choices(site: Site, rows: Sequence[Judged]) -> dict[str, list[listing.Choice]]:
    """For each filter the values that verdicts have."""
    words = {
        **listing.words(site),
        "counts": {"yes": "counts", "no": "does not count"},
        "passages": {
            "all": "all quotes proven", "some": "some quotes proven", "no": "no quote proven",
            "none": "without quotes",
        },
        "leak": {visible(row.leak): visible(row.leak) for row in rows if row.leak},
    }  # fmt: skip
    words["leak"][NO_LEAK] = "no leak"
    held = {name: [_value(site, row, name) for row in rows] for name in FILTERS}
    return listing.counted(held, words)


def script(site: Site, rows: Sequence[Judged], shown: Mapping[str, str]) -> File:
    """The file that hands the rows to static/runs/; `shown` by them is what `made_of` says."""
    by_id = {row.stored.run.id: row for row in rows}
    values = site.kept.joined("judged", shown, lambda run_id: _packed(site, by_id[run_id]), ",")
    runs = [row.stored for row in rows]
    return File(SCRIPT, data=partial(listing.script, site, runs, FIELDS, values))


def rows_html(
    site: Site,
    kind: str,
    shown: Mapping[str, str],
    rows: Sequence[Judged],
    draw: Callable[[Judged], Markup],
) -> Markup:
    """Rows of a page as HTML, made anew only where something that they show changed."""
    by_id = {row.stored.run.id: row for row in rows}
    own = {run_id: shown[run_id] for run_id in by_id}
    html = site.kept.joined_html(kind, own, lambda run_id: f"{draw(by_id[run_id])}\n")
    return Markup(html)  # noqa: S704 - a template made it


def made_of(site: Site, row: Judged) -> str:
    """A digest of what a row hangs on beside code, titles and settings; empty if not known."""
    run = row.stored.run
    known = site.rows_depend.get(run.id)
    held = known, row.proven, row.leak, row.card, site.problem_title(run.problem)
    return digest(held) if known else ""


def _packed(site: Site, row: Judged) -> str:
    return listing.packed(_row(site, row))


_OWN: Mapping[str, Callable[[Judged], str]] = {
    "counts": lambda row: listing.counts(row.stored),
    "passages": lambda row: row.passages,
    "leak": lambda row: row.leak or NO_LEAK,
    "auditor": lambda row: row.audit.auditor,
}
"""The values that verdicts have for filters of their own."""


def _value(site: Site, row: Judged, name: str) -> str:
    """The value that a verdict has for a filter, as it came."""
    return _OWN[name](row) if name in _OWN else listing.VALUES[name](site, row.stored)


def _row(site: Site, row: Judged) -> list[object]:
    """The value of each of FIELDS."""
    run = row.stored.run
    return [
        run_key(run.id),
        *(visible(_value(site, row, name)) for name in (*FILTERS, "status", "cut")),
        visible(run.effort or ""),
        visible(run.variant or ""),
        *listing.scored(row.stored),
        row.date,
        row.summary,
        len(row.audit.quotes),
        row.proven,
        row.quoted,
        from_home(*row.card) if row.card else "",
    ]
