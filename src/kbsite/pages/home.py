"""The home page: banner, a card for each board, the latest verdicts, the principles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from kbsite.model.board import Board
from kbsite.pages.page import INDEX, Page, Site, templated
from kbsite.store.runs import MANIFEST, StoredRun
from kbsite.text import banner

LATEST = 3
"""How many verdicts the home page shows."""


@dataclass(frozen=True, slots=True)
class Principle:
    """A principle of the site, with the state of the check behind it."""

    text: str
    ok: bool | None
    """None where there is nothing to pass or fail, only a number to tell."""
    state: str


def pages(site: Site) -> Iterator[Page]:
    """The home page."""
    yield templated(INDEX, "pages/home.html", partial(_values, site))


def _values(site: Site) -> dict[str, object]:
    audited = sorted(
        (stored for stored in site.runs if stored.audit),
        key=lambda stored: (_date(stored), stored.run.id),
        reverse=True,
    )
    return {
        "title": site.config.title,
        "banner": banner(site.config.title),
        "latest": audited[:LATEST],
        "principles": list(principles(site)),
    }


def _date(stored: StoredRun) -> str:
    return str(stored.audit.date or "") if stored.audit else ""


def principles(site: Site) -> Iterator[Principle]:
    """What the site stands for, each with what the build found."""
    runs = len(site.runs)
    wrong_metric = [board.config.id for board in site.boards if board.config.metric != METRIC]
    yield Principle(
        "Share of the physical ceiling, not speedup over a baseline.",
        not wrong_metric,
        f"{len(site.boards) - len(wrong_metric)} of {len(site.boards)} boards in {METRIC}",
    )
    real = sum(stored.run.harness_version is not None for stored in site.runs)
    yield Principle(
        "Real coding-agent CLIs are the harness, and their version is on record.",
        real == runs,
        f"{real} of {runs} runs name the CLI's version",
    )
    timed = sum(stored.run.budget_seconds is not None for stored in site.runs)
    yield Principle(
        "A wall-clock budget, the same for all runs of a board.",
        timed == runs,
        f"{timed} of {runs} runs have a budget on record",
    )
    done, due = audits(site.boards)
    yield Principle(
        "High runs are read by a person.", done == due, f"{done} of {due} runs due are audited"
    )
    kept = sum(stored.file(MANIFEST) is not None for stored in site.runs)
    refused = sum(len(board.refused) for board in site.boards)
    yield Principle(
        "Flaws are published, not hidden.",
        None,
        f"{refused} runs refused by a board, {len(site.findings)} findings about the input",
    )
    yield Principle(
        "Nothing on the site is typed by hand: every figure comes from a run's files.",
        kept == runs,
        f"{kept} of {runs} runs are sealed by a manifest",
    )


METRIC = "peak_fraction"


def audits(boards: tuple[Board, ...]) -> tuple[int, int]:
    """How many audits all boards have, and how many their rules want."""
    return sum(board.audits_done for board in boards), sum(board.audits_due for board in boards)
