"""/data/: everything that other programs read of the site, and a page that lists it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec
from msgspec import Struct

from kbsite import __version__
from kbsite.feeds import atom, bundles, parquet, sitemap, table
from kbsite.feeds.leaderboard import latest, leaderboard, listed_board
from kbsite.model.board import Board
from kbsite.model.config import Config, may_be_listed
from kbsite.model.leaderboard import ListedBoard, ListedLeak
from kbsite.model.published import FORMAT, Published, PublishedBoard, PublishedProblem
from kbsite.pages import hardware, listing, methodology
from kbsite.pages.board import are_apart, board_alone, runs_of
from kbsite.pages.board_figures import standings_of
from kbsite.pages.covered import covered_rules
from kbsite.pages.leaks import leaks
from kbsite.pages.news import entries, last_day
from kbsite.pages.page import (
    INDEX,
    File,
    Page,
    Renderer,
    Site,
    board_file,
    board_path,
    charts_path,
    from_home,
    hardware_path,
    harness_path,
    model_path,
    problem_path,
    run_path,
)
from kbsite.pages.social import base_url, board_card, bundle_path, canonical, run_card
from kbsite.standing import digest, plain
from kbsite.store.inputs import Input
from kbsite.store.runs import StoredRun
from kbsite.store.writing import json_text

DATA = f"data/{INDEX}"
"""Where the page that lists the files stands."""

LEADERBOARD = "data/leaderboard.json"
SITE = "data/site.json"
CSV = "data/runs.csv"
PARQUET = "data/runs.parquet"
FEED = "data/feed.xml"
REDACTION = "data/redaction.json"


class Offer(Struct, frozen=True):
    """A file that the page lists."""

    path: str
    says: str
    missing: str = ""
    """Why there is no link to it; empty where there is one."""


def pages(site: Site) -> Iterator[Page]:
    """The page with its files, then cards, then what says where all pages are."""
    yield Page(DATA, partial(_files, site), weight=2)
    if site.config.bundles:
        yield from map(bundle, site.every_run)
    if not base_url(site):
        return
    for board in site.boards:
        yield Page(f"data/boards/{board.config.id}/card.svg", partial(_board_card, site, board))
    for stored in site.every_run:
        yield run_card(site, stored)
    listed = may_be_listed(site.config.robots)
    yield Page("sitemap.xml" if listed else "robots.txt", partial(_places, site, listed=listed))


def bundle(stored: StoredRun) -> Page:
    """The files of a run as one archive."""
    path = bundle_path(stored.run.id)
    return Page(path, partial(_bundle, stored), partial(_bundled, stored), stored)


def _bundle(stored: StoredRun, renderer: Renderer) -> Iterator[File]:  # noqa: ARG001
    made = partial(bundles.bundle, stored.run.id, stored.files)
    yield File(bundle_path(stored.run.id), data=made)


def _bundled(stored: StoredRun, inputs: Mapping[str, Input]) -> object:
    """What a bundle depends on: names and contents of its files, and what is hidden of them."""
    held = [(file, inputs.get(str(file.path.absolute()))) for file in stored.files]
    return [(file.name, file.hidden, known.holds if known else "") for file, known in held]


def _files(site: Site, renderer: Renderer) -> Iterator[File]:
    yield from _leaderboards(site)
    lines = listing.joined(site, "csv", site.ordered, _csv_line)
    yield File(CSV, data=partial(b"".join, [table.csv_text([]).encode(), lines]))
    if site.extras.parquet:
        rows = listing.joined(site, "table", site.ordered, _packed_row, ",")
        yield File(PARQUET, data=partial(_parquet, rows))
    yield File(FEED, _feed(site))
    yield File(SITE, json_text(published(site)))
    values = {
        "title": "data", "offers": _offers(site), "covered": covered_rules(site.redactions)
    }  # fmt: skip
    yield File(DATA, renderer.page("pages/data.html", DATA, values))


def _leaderboards(site: Site) -> Iterator[File]:
    """All boards in one file, then each in its own."""
    held = [(latest(board), _listed_text(site, board).encode()) for board in site.boards]
    yield File(LEADERBOARD, data=partial(_leaderboard, held))
    for board, one in zip(site.boards, held, strict=True):
        yield File(board_file(board.config.id), data=partial(_leaderboard, [one]))


def _leaderboard(held: Sequence[tuple[datetime | None, bytes]]) -> bytes:
    """json_text of the file of some boards, of which each is JSON already, with its latest run."""
    whole = json_text(leaderboard(filter(None, (when for when, _ in held))))
    return listing.filled(whole, [text for _, text in held])


def _listed_text(site: Site, board: Board) -> str:
    shortcuts = _shortcuts(site, board)

    def made() -> str:
        return listing.inner_json(_listed(site, board, shortcuts))

    made_of = _listed_of(site, board, shortcuts)
    return site.kept.text("leaderboard", board.config.id, made_of, made)


def _listed_of(site: Site, board: Board, shortcuts: Sequence[ListedLeak]) -> str:
    """A digest of all that is listed of a board, of audits no words; empty if it is not known."""
    ids = runs_of(board)
    held = [(site.by_id[run_id].unaudited, site.by_id[run_id].audit) for run_id in ids]
    if not all(unaudited for unaudited, _ in held):
        return ""
    cells = [(cell.due, cell.below_floor) for _, _, cell in board.cells]
    runs = [(told, audit and (audit.verdict, audit.date, audit.counts)) for told, audit in held]
    return digest(board_alone(site, board), shortcuts, plain((cells, ids, runs)))


def _csv_line(site: Site, stored: StoredRun) -> str:
    return table.csv_line(_table_row(site, stored))


def _packed_row(site: Site, stored: StoredRun) -> str:
    return json.dumps([*_table_row(site, stored).values()])


def _table_row(site: Site, stored: StoredRun) -> table.Row:
    return table.row(listing.one_listed(site, stored))


def _parquet(packed_rows: bytes) -> bytes:
    whole = b"[%b]" % packed_rows
    try:
        return parquet.parquet(msgspec.json.decode(whole))
    except msgspec.DecodeError:
        # A figure that is no number.
        return parquet.parquet(json.loads(whole))


def _shortcuts(site: Site, board: Board) -> tuple[ListedLeak, ...]:
    return tuple(
        ListedLeak(
            title=card.title,
            problem=card.problem,
            runs=tuple(instance.attempt.run.id for instance in card.instances),
        )
        for card in leaks(site, board)
    )


def _listed(site: Site, board: Board, shortcuts: tuple[ListedLeak, ...]) -> ListedBoard:
    page = from_home(board_path(board.config.id))
    stand = standings_of(site, board)
    return listed_board(board, shortcuts, site.problem_title, _page_of, page, stand)


def _page_of(run: str) -> str:
    return from_home(run_path(run))


def _feed(site: Site) -> str:
    base = base_url(site)
    home = base or "../"
    # A title is changed more often than an address.
    key = base or site.config.title
    return atom.feed(site.config.title, key, home, f"{home}{FEED}", entries(site, home))


def _offers(site: Site) -> Sequence[Offer]:
    lacks = "" if site.extras.parquet else f"left out: {parquet.EXTRA} was not installed"
    bundled = site.config.bundles
    return [
        Offer(LEADERBOARD, "every board as its page shows it"),
        *(Offer(board_file(b.config.id), f"the board {b.config.title} alone") for b in site.boards),
        Offer(listing.LISTING, "every run in one record, attempts included"),
        Offer(CSV, "the same as a table"),
        Offer(PARQUET, "the same as a table of Apache Parquet", lacks),
        *([Offer("runs/<id>/bundle.tar.zst", "a run's files", _EACH)] if bundled else []),
        Offer(FEED, "new runs, new verdicts and corrections, as an Atom feed"),
        Offer(REDACTION, "what is hidden of the runs: where, by which rule, how often"),
        Offer(SITE, "what the site was made from beside its runs: kbsite verify makes it anew"),
    ]


_EACH = "one for each run, beside its page"


def published(site: Site) -> Published:
    """What data/site.json holds of a site."""
    problems = tuple(
        PublishedProblem(
            id=one.id, hash=one.hash, problem=one.problem, prompt=one.prompt,
            reference=one.reference,
        )
        for one in site.problems.values()
    )  # fmt: skip
    return Published(
        format=FORMAT,
        kbsite=__version__,
        config=_config(site.config),
        boards=tuple(map(_board, site.boards)),
        runs=tuple(stored.run.id for stored in site.runs),
        floor_runs=tuple(stored.run.id for stored in site.floor_runs),
        problems=problems,
        hardware=dict(sorted(site.hardware.items())),
        prices=site.prices,
        findings=site.findings,
    )


def _config(config: Config) -> Config:
    """What is shown of kbsite.yaml anyway: no folder, and nothing that says what is hidden."""
    return Config(
        title=config.title, tagline=config.tagline, about=config.about, contact=config.contact,
        url=config.url, robots=config.robots, canary=config.canary, search=config.search,
        bundles=config.bundles, boards=config.boards, leaks=config.leaks,
    )  # fmt: skip


def _board(board: Board) -> PublishedBoard:
    shown = {attempt.run.id for attempt in board.attempts}
    refused = {refusal.run_id for refusal in board.refused}
    floors = (floor for row in board.floors for floor in row.floors)
    told = tuple(floor for floor in floors if floor is not None and floor.run is None)
    return PublishedBoard(
        config=board.config, runs=tuple(sorted(shown | refused)), told_floors=told
    )


def _board_card(site: Site, board: Board, renderer: Renderer) -> Iterator[File]:  # noqa: ARG001
    yield from board_card(site, board)


def _places(site: Site, renderer: Renderer, *, listed: bool) -> Iterator[File]:  # noqa: ARG001
    base = base_url(site)
    yield File("robots.txt", sitemap.robots(base, listed=listed))
    if not listed:
        return
    addresses = [canonical(site, path) for path in _own_pages(site)]
    changed = {
        canonical(site, run_path(one.run.id)): day
        for one in site.every_run
        if (day := last_day(one))
    }
    for path, text in sitemap.sitemaps(addresses, base, changed).items():
        yield File(path, text)


def _own_pages(site: Site) -> list[str]:
    """The paths of the pages that search engines are told of."""
    return [
        INDEX,
        *(board_path(board.config.id) for board in site.boards),
        *(charts_path(board.config.id) for board in site.boards if are_apart(board)),
        f"runs/{INDEX}", f"audits/{INDEX}", f"compare/{INDEX}", f"explore/{INDEX}",
        methodology.PATH, methodology.CAUGHT, methodology.EXPLOITS, DATA,
        *(problem_path(problem) for problem in site.problems),
        *([hardware.PATH] if site.hardware else []),
        *(hardware_path(one) for one in site.hardware),
        *dict.fromkeys(model_path(stored.run.model) for stored in site.ordered),
        *dict.fromkeys(harness_path(stored.run.harness) for stored in site.ordered),
        *(run_path(stored.run.id) for stored in site.every_run),
    ]  # fmt: skip
