"""Cards of boards and runs, for whoever links to them, of a site that says where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from kbsite.feeds import cards
from kbsite.feeds.cards import Card
from kbsite.model.audit import Audit
from kbsite.model.board import Attempt, Board
from kbsite.model.config import published_base
from kbsite.model.counts import number_of
from kbsite.model.run import Run
from kbsite.pages import facts
from kbsite.pages.home import audited_in_short, best_in_short
from kbsite.pages.page import INDEX, File, Page, Renderer, Site, attempt_of, from_home
from kbsite.store.inputs import Input
from kbsite.store.runs import StoredRun


def base_url(site: Site) -> str:
    """Where the site will be published, with a slash at its end; empty where nobody says."""
    return published_base(site.config.url)


def published_at(site: Site, path: str) -> str:
    """The address that a file of the site will have."""
    return base_url(site) + from_home(path)


def canonical(site: Site, page: str) -> str:
    """The one address that others are told of a page: the sitemap, cards and search engines."""
    return published_at(site, page).removesuffix(INDEX)


def bundle_path(run_id: str) -> str:
    """Where a run stands as one archive, of a site that has them."""
    return f"runs/{run_id}/bundle.tar.zst"


def picture(site: Site, folder: str) -> str:
    """The card in a folder of the site that others are shown: the PNG where there is one."""
    return f"{folder}/card.{'png' if site.extras.cards else 'svg'}"


def board_card(site: Site, board: Board) -> Iterator[File]:
    """The card of a board."""
    best = best_in_short(board)
    sizes = {
        "contender": len(board.rows),
        "problem": len(board.columns),
        "run": board.run_count,
    }
    lines = [
        f"{best}: {_whose(board)}" if best else "no run has a score yet",
        " · ".join(number_of(number, word) for word, number in sizes.items()),
        audited_in_short(site, board),
        board.hardware or "hardware not recorded",
    ]
    title = board.config.title
    card = Card(title, lines, site.config.title)
    yield from _files(f"data/boards/{board.config.id}", card, png=site.extras.cards)


def _whose(board: Board) -> str:
    """Who is first: one of many that are equal is not named before the others."""
    leaders = board.leaders
    return leaders[0].label if len(leaders) == 1 else number_of(len(leaders), "contender")


def run_in_short(run: Run, attempt: Attempt) -> str:
    """What came of a run: what a search engine or a message shows below its title."""
    verdict = f"audit: {_judged(attempt.audit)}" if attempt.audit else "not audited"
    told = facts.came_to(attempt), "" if run.is_floor else verdict, _session(run)
    return " · ".join(filter(None, told))


def _judged(audit: Audit) -> str:
    """A verdict, with what it does to the score that stands beside it: pages strike that."""
    return audit.verdict.value + ("" if audit.counts else " (does not count)")


def _session(run: Run) -> str:
    """How long it took, where that is known, and on what."""
    took, where = run.elapsed_seconds, run.hardware or "hardware not recorded"
    return where if took is None else f"{facts.duration(took)} · {where}"


def run_card(site: Site, stored: StoredRun) -> Page:
    """The card of a run, drawn anew only where something that it shows changed."""
    run, attempt = stored.run, attempt_of(stored)
    verdict = f"{_judged(attempt.audit)}, {attempt.audit.auditor}" if attempt.audit else ""
    lines = [
        run.contender.label,
        f"{stored.metrics.status.glyph} {facts.came_to(attempt)}",
        f"audit: {verdict}" if verdict else "not audited",
        _session(run),
    ]
    card = Card(site.problem_title(run.problem), lines, f"{site.config.title} {run.id}")
    folder, png = f"runs/{run.id}", site.extras.cards

    def depends(inputs: Mapping[str, Input]) -> object:  # noqa: ARG001
        return card, png

    return Page(f"{folder}/card.svg", partial(_made, folder, card, png), depends)


def _made(
    folder: str,
    card: Card,
    png: bool,  # noqa: FBT001
    renderer: Renderer,  # noqa: ARG001
) -> Iterator[File]:
    yield from _files(folder, card, png=png)


def _files(folder: str, card: Card, *, png: bool) -> Iterator[File]:
    drawn = cards.svg(card)
    yield File(f"{folder}/card.svg", drawn)
    if png:
        yield File(f"{folder}/card.png", data=partial(cards.png, drawn))
