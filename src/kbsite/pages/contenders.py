"""A page for each model, and one for each harness: its cells on every board, how sessions went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from statistics import median
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from kbsite.model.audit import Verdict
from kbsite.model.board import Board, Cell, Column, Row
from kbsite.model.counts import number_of
from kbsite.model.price import Cost
from kbsite.model.run import Contender, Run
from kbsite.model.status import EndReason, Status
from kbsite.pages import facts, listing
from kbsite.pages.board import latency
from kbsite.pages.page import Page, Site, attempt_of, harness_path, model_path, templated
from kbsite.store.runs import StoredRun
from kbsite.text import visible

CELLS = 200
"""Cells that a page shows; of further ones it says where they are."""

NAMED = 20
"""Values that a line names; further ones are counted."""


class Kind(Struct, frozen=True):
    """One of the two halves that make a contender."""

    name: str
    plural: str
    of: Callable[[Run | Contender], str]
    path: Callable[[str], str]


MODEL: Final = Kind("model", "models", lambda held: held.model, model_path)
HARNESS: Final = Kind("harness", "harnesses", lambda held: held.harness, harness_path)


class Shown(Struct, frozen=True):
    """A cell, and the best one of its problem."""

    column: Column
    cell: Cell
    is_best: bool


class Results(Struct, frozen=True):
    """What one contender did on one board."""

    row: Row
    shown: list[Shown]
    """In the order of the deck; those for which there is room."""
    without: list[str]
    """Problems that it has no run on."""


class Section(Struct, frozen=True):
    """All contenders of a page on one board, best first."""

    board: Board
    results: list[Results]
    in_time: Mapping[str, float | None]
    """The problems whose cells show times, each with the library floor's, in milliseconds."""
    more: int
    """Cells that are not shown here."""


class About(Struct, frozen=True):
    """What a page is about."""

    name: str
    kind: Kind
    other: Kind
    """What its contenders differ in."""
    runs: list[StoredRun]
    """Attempts included, on boards or on none."""
    sections: list[Section]


class Fact(Struct, frozen=True):
    """A line about all sessions: a text, or values with the number of runs that have each."""

    label: str
    text: str = ""
    values: tuple[tuple[str, int], ...] = ()
    more: int = 0
    """Values that are not named."""
    path: Callable[[str], str] | None = None
    """Where the page of a value stands, if it has one."""


def pages(site: Site) -> Iterator[Page]:
    """The pages of models, then those of harnesses, each in the order of their names."""
    in_time = [latency(site, board) for board in site.boards]
    for kind, other in ((MODEL, HARNESS), (HARNESS, MODEL)):
        runs: dict[str, list[StoredRun]] = {}
        for stored in site.ordered:
            runs.setdefault(kind.of(stored.run), []).append(stored)
        sections = _sections(site, kind, in_time)
        for name in sorted(runs):
            about = About(name, kind, other, runs[name], sections.get(name, []))
            values, depends = partial(_values, site, about), partial(_depends, site, about)
            yield templated(kind.path(name), "pages/contender.html", values, depends)


def _depends(site: Site, about: About) -> object:
    """What the page shows: its runs, where they stand, and what is best beside them."""
    sections = []
    for section in about.sections:
        results = [
            (one.row.contender, one.row.tally, one.without, [*map(_told, one.shown)])
            for one in section.results
        ]
        sections.append((section.board.config.id, section.in_time, section.more, results))
    return about.kind.name, sections, listing.rows_depend(site, about.runs)


def _told(shown: Shown) -> object:
    cell, best = shown.cell, shown.column.best
    # Of the best one its figure is shown, and nothing that an auditor says of it.
    figure = best and (best.run.id, best.score, best.metrics.ms, best.metrics.interval)
    return (
        shown.column.problem, cell.shown.run.id, len(cell.attempts), cell.below_floor, cell.due,
        figure,
    )  # fmt: skip


def _values(site: Site, about: About) -> dict[str, object]:
    return {
        "title": about.name,
        "kind": about.kind.name,
        "narrowed": _narrowed(about),
        "runs": about.runs,
        "sections": about.sections,
        "facts": list(_facts(site, about)),
        "cost_of": site.cost,
    }


def _narrowed(about: About) -> str:
    """What follows the address of the page of all runs, for it to show those of this page."""
    return f"?{about.kind.name}={quote(visible(about.name), safe='')}"


def _sections(
    site: Site, kind: Kind, in_time: Sequence[Mapping[str, float | None]]
) -> dict[str, list[Section]]:
    """What each did on the boards that it is on, in their order, by name."""
    found: dict[str, list[Section]] = {}
    for board, times in zip(site.boards, in_time, strict=True):
        rows: dict[str, list[Row]] = {}
        for row in board.rows:
            rows.setdefault(kind.of(row.contender), []).append(row)
        for name, held in rows.items():
            before = found.setdefault(name, [])
            room = CELLS - sum(len(one.shown) for section in before for one in section.results)
            before.append(_section(board, held, times, room))
    return found


def _section(
    board: Board, rows: Sequence[Row], times: Mapping[str, float | None], room: int
) -> Section:
    results: list[Results] = []
    for row in rows:
        if room > 0:
            results.append(_results(board, row, room))
            room -= len(results[-1].shown)
    cells = sum(cell is not None for row in rows for cell in row.cells)
    return Section(board, results, times, cells - sum(len(one.shown) for one in results))


def _results(board: Board, row: Row, room: int) -> Results:
    pairs = list(zip(board.columns, row.cells, strict=True))
    held = [
        Shown(column, cell, column.best is not None and column.best.run.id == cell.shown.run.id)
        for column, cell in pairs
        if cell is not None
    ]
    return Results(row, held[:room], [column.problem for column, cell in pairs if cell is None])


def _facts(site: Site, about: About) -> Iterator[Fact]:
    """How the sessions went, one line after the other."""
    runs, other = [stored.run for stored in about.runs], about.other
    yield _counted(other.plural, Counter(map(other.of, runs)), other.path)
    yield _counted("versions", Counter(_version(about.kind, run) for run in runs))
    yield from _ended(about.runs)
    seen = (attempt_of(one, site.alarms.get(one.run.id, ())) for one in about.runs)
    yield Fact("flagged by an alarm", _share(sum(one.flagged for one in seen), runs))
    yield _middle("time", [run.elapsed_seconds for run in runs], facts.duration)
    yield _middle("tokens sent", [run.usage.sent for run in runs], _whole)
    yield _middle("tokens generated", [run.usage.output for run in runs], _whole)
    yield _costs([site.cost(run) for run in runs])
    if about.kind is HARNESS:
        yield from _tells(runs)


def _ended(runs: Sequence[StoredRun]) -> Iterator[Fact]:
    """What became of runs, each kind in its own order."""
    graded = Counter(stored.metrics.status for stored in runs)
    yield _in_order("results", {status.label: graded[status] for status in Status})
    audits = Counter(stored.audit and stored.audit.verdict for stored in runs)
    told = {verdict.value: audits[verdict] for verdict in Verdict}
    yield _in_order("verdicts", {**told, "not audited": audits[None]})
    ends = Counter(stored.run.end_reason for stored in runs)
    yield _in_order("how sessions ended", {r.value.replace("_", " "): ends[r] for r in EndReason})


def _in_order(label: str, found: Mapping[str, int]) -> Fact:
    return Fact(label, values=tuple((word, count) for word, count in found.items() if count))


def _version(kind: Kind, run: Run) -> str:
    version = run.harness_version or "not recorded"
    return f"{run.harness} {version}" if kind is MODEL else version


def _counted(label: str, found: Counter[str], path: Callable[[str], str] | None = None) -> Fact:
    """Values by how many runs have them, then by name."""
    ranked = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return Fact(label, values=tuple(ranked[:NAMED]), more=len(ranked[NAMED:]), path=path)


def _middle(label: str, values: Sequence[float | None], written: Callable[[float], str]) -> Fact:
    """The median of what is known of runs, and of how many it is known."""
    known = [value for value in values if value is not None and isfinite(value)]
    if not known:
        return Fact(label, "not recorded")
    told = f"median {written(median(known))}"
    if len(known) < len(values):
        told += f", known of {facts.count(len(known))} of {number_of(len(values), 'run')}"
    return Fact(label, told)


def _costs(costs: Sequence[Cost]) -> Fact:
    """The median of costs, and how many of them nobody told."""
    middle = _middle("cost", [cost.usd for cost in costs], facts.money)
    guesses = sum(cost.estimated for cost in costs)
    least = sum(cost.least for cost in costs)
    told = [middle.text]
    if guesses:
        told.append(number_of(guesses, "of them is an estimate", "of them are estimates"))
    if least:
        told.append(number_of(least, "a lower bound", "lower bounds"))
    return Fact("cost", ", ".join(told))


def _whole(tokens: float) -> str:
    return f"{tokens:,.1f}".removesuffix(".0")


def _tells(runs: Sequence[Run]) -> Iterator[Fact]:
    """What a harness tells of its sessions, and what it does not: figures hang on it."""
    asked: tuple[tuple[str, Callable[[Run], object]], ...] = (
        ("tells of tokens sent", lambda run: run.usage.input),
        ("tells of tokens from its cache", lambda run: run.usage.cache_read),
        ("tells of tokens of reasoning", lambda run: run.usage.reasoning),
        ("tells what it cost", lambda run: run.cost_usd),
        ("was asked for an effort", lambda run: run.effort),
    )
    for label, of in asked:
        known = sum(of(run) is not None for run in runs)
        yield Fact(label, _share(known, runs))


def _share(number: int, runs: Sequence[Run]) -> str:
    return f"{facts.count(number)} of {number_of(len(runs), 'run')}"
