"""The home page: banner, a card for each board, the latest verdicts, the principles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from kbsite.model.board import Board, Due
from kbsite.model.config import SHARE
from kbsite.model.counts import number_of
from kbsite.pages import facts
from kbsite.pages.banners import kept_banner
from kbsite.pages.leaks import hacks, leaks
from kbsite.pages.page import INDEX, Page, Site, templated
from kbsite.store.run_folders import MANIFEST
from kbsite.store.runs import StoredRun

LATEST = 3
"""How many verdicts the home page shows."""


class Principle(Struct, frozen=True):
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
        "banner": kept_banner(site, "home", site.config.title),
        "latest": audited[:LATEST],
        "audited": partial(audited_in_short, site),
        "best": best_in_short,
        "principles": list(principles(site)),
        "boardless": boardless(site),
    }


def boardless(site: Site) -> list[str]:
    """Ids of the problems that no board leads to: those of the repository, and those of runs."""
    led_to = {column.problem for board in site.boards for column in board.columns}
    named = {stored.run.problem for stored in site.every_run} | set(site.problems)
    return sorted(named - led_to)


def _date(stored: StoredRun) -> str:
    return str(stored.audit.date or "") if stored.audit else ""


def principles(site: Site) -> Iterator[Principle]:
    """What the site stands for, each with what the build found."""
    runs = len(site.runs)
    wrong_metric = [board.config.id for board in site.boards if not board.config.in_shares]
    yield Principle(
        "Share of the physical ceiling, not speedup over a baseline.",
        not wrong_metric,
        f"{len(site.boards) - len(wrong_metric)} of {number_of(len(site.boards), 'board')} in "
        f"{SHARE}",
    )
    real = sum(stored.run.harness_version is not None for stored in site.runs)
    yield Principle(
        "Real coding-agent CLIs are the harness, and their version is on record.",
        real == runs,
        _told(real, runs, "run names", "runs name") + " the CLI's version",
    )
    timed = sum(stored.run.budget_seconds is not None for stored in site.runs)
    yield Principle(
        "A wall-clock budget, the same for all runs of a board.",
        timed == runs,
        _told(timed, runs, "run has", "runs have") + " a budget on record",
    )
    yield from _read_by_a_person(site)
    kept = sum(stored.file(MANIFEST) is not None for stored in site.every_run)
    refused = sum(len(board.refused) for board in site.boards)
    yield Principle(
        "Flaws are published, not hidden.",
        None,
        f"{number_of(refused, 'run')} refused by a board, "
        f"{number_of(len(site.findings), 'finding')} about the input",
    )
    yield Principle(
        "Nothing on the site is typed by hand: every figure comes from a run's files.",
        kept == len(site.every_run),
        _told(kept, len(site.every_run), "run is", "runs are") + " sealed by a manifest",
    )


def _read_by_a_person(site: Site) -> Iterator[Principle]:
    done, due = audits(site.boards)
    yield Principle(
        "High runs are read by a person.",
        done == due,
        _told(done, due, "run that is due is", "runs that are due are") + " audited",
    )
    quotes = sum(len(stored.audit.quotes) for stored in site.runs if stored.audit)
    proven = sum(proof.proven for held in site.proofs.values() for proof in held)
    yield Principle(
        "What an audit quotes can be looked up.",
        proven == quotes,
        _told(
            proven,
            quotes,
            "quote stands verbatim where it says",
            "quotes stand verbatim where they say",
        ),
    )


def _told(count: int, of: int, one: str, several: str) -> str:
    """How many of how many, which are one or several."""
    return f"{count} of {of} {one if of == 1 else several}"


def audits(boards: tuple[Board, ...]) -> tuple[int, int]:
    """How many audits all boards have, and how many their rules want."""
    return sum(board.audits_done for board in boards), sum(board.audits_due for board in boards)


def audited_in_short(site: Site, board: Board) -> str:
    """What a board's card says of its audits: "audited 4 of 4 from 10 % up · 2 leaks · 1 hack"."""
    high, whole = board.coverage(Due.HIGH), board.coverage()
    told = ["no run is due for an audit"]
    if whole.due:
        told = [f"audited {whole.done} of {whole.due} due"]
    if high.due:
        up = facts.threshold(board.config)
        told = [f"audited {high.done} of {high.due} from {up} up"]
    if board.imported:
        told.append("figures imported")
    counts = {"leak": len(leaks(site, board)), "hack": hacks(board)}
    told += [number_of(n, word) for word, n in counts.items() if n]
    return " · ".join(told)


def best_in_short(board: Board) -> str:
    """What is best of what ranks on a board: "best .896", else "most passed 4 of 9"; or nothing."""
    if board.best is not None:
        return f"best {facts.score(board.best.score)}"
    passed = board.most_passed
    return f"most passed {passed} of {len(board.columns)}" if passed else ""
