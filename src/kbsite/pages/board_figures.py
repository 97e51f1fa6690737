"""The figures of a board's page: where its contenders stand, and its charts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from markupsafe import Markup

from kbsite.charts.board import (
    BoardChart,
    Entry,
    Measure,
    RunRows,
    peaks,
    scatter,
    spent,
)
from kbsite.charts.board_drawing import Keep, made_anew
from kbsite.charts.board_ends import ends
from kbsite.charts.drawing import whole_percent
from kbsite.model.board import Attempt, Board
from kbsite.model.price import PriceTable, cost
from kbsite.model.run import Run
from kbsite.model.standing import Proportion, Standing
from kbsite.pages import facts
from kbsite.pages.page import Site
from kbsite.standing import digest, plain
from kbsite.standings import RESAMPLES, Ahead, Scored, standings, told_apart_once, wilson

MEASURES = (
    Measure(
        name="time",
        of=lambda run: run.elapsed_seconds,
        written=facts.duration,
        steps=(1, 2, 5, 10, 15, 30),
        base=60,
        ticked=(facts.elapsed,),
    ),
    Measure(
        name="output tokens",
        of=lambda run: run.usage.output,
        written=lambda tokens: facts.count(round(tokens)),
    ),
)
"""What a run's score is held against, beside its cost."""


def cost_measure(prices: PriceTable) -> Measure:
    """What a run cost: as its CLI says, else as the table of prices makes it, which is marked."""

    def marked(run: Run) -> str:
        told = cost(run, prices).remark
        return f" ({told})" if told else ""

    return Measure(
        name="cost", of=lambda run: cost(run, prices).usd, written=facts.money, marked=marked
    )


def standings_of(site: Site, board: Board) -> tuple[Standing, ...]:
    """The standing of each row; scores that did not change are not held against each other anew."""

    def apart(rows: Scored) -> Ahead:
        def made() -> str:
            return json.dumps(sorted(told_apart_once(rows)))

        told = site.kept.text(f"ahead-{board.config.id}", "all", digest(rows), made)
        return frozenset((upper, lower) for upper, lower in json.loads(told))

    return standings(board, apart)


def figures(site: Site, board: Board) -> dict[str, object]:
    """What the template shows below and beside the grid."""
    held = standings_of(site, board)
    return {
        "standings": held,
        "in_many_groups": any(one.brief != one.letters for one in held),
        "resamples": RESAMPLES,
        "column_shares": [
            Proportion(
                count=column.tally.passed,
                of=column.tally.attempted,
                interval=wilson(column.tally.passed, column.tally.attempted),
            )
            for column in board.columns
        ],
        "share": share,
        "ranks": ranks,
        "mean": mean,
    }


DrawRow = Callable[[tuple[Entry, ...], object], str]
"""Turns a row of a chart's table into HTML, given how addresses are made."""

Draw = Callable[[BoardChart, object, Callable[[BoardChart, DrawRow], Markup]], str]
"""Turns a chart into HTML, given how addresses are made and what gives the rows of its table."""


def ceilings(board: Board, keep: Keep = made_anew) -> list[BoardChart]:
    """What is shown of floors and ceilings; nothing where times stand for scores."""
    held = [floor.peak_fraction for row in board.floors for floor in row.floors if floor]
    if not board.scored and board.timed and not any(held):
        return []
    return [peaks(board, facts.score, keep)]


def costs(board: Board, prices: PriceTable, keep: Keep = made_anew) -> list[BoardChart]:
    """What is shown of what runs took; what cannot be drawn is said below what can."""
    measures = [*MEASURES, cost_measure(prices)]
    held = [scatter(board, measure, facts.score, keep) for measure in measures]
    drawn = [chart for chart in held if chart.drawing is not None]
    table = [spent(board, measures, facts.score)] if drawn else []
    return [*drawn, ends(board), *table, *(chart for chart in held if chart.drawing is None)]


def charts(site: Site, board: Board, which: str, draw: Draw, url: object) -> Markup:
    """The "ceilings" or the "costs" as HTML, of which points and rows are made that changed."""

    def kept(kind: str) -> Keep:
        return partial(_kept, site, f"{kind}-{board.config.id}")

    def rows(chart: BoardChart, row: DrawRow) -> Markup:
        held = chart.rows
        if isinstance(held, RunRows):
            made = partial(_row_html, held, row, url)
            told = kept("told")(held.name, chart.heads, held.runs, made)
        else:
            told = "".join(f"{row(one, url)}\n" for one in held)
        return Markup(told)  # noqa: S704 - a template made it

    def made() -> str:
        drawn = kept("drawn")
        held = ceilings(board, drawn) if which == "ceilings" else costs(board, site.prices, drawn)
        return "".join(f"{draw(chart, url, rows)}\n" for chart in held)

    html = site.kept.html(f"charts-{board.config.id}", which, _drawn_of(site, board), made)
    return Markup(html)  # noqa: S704 - a template made it


def _drawn_of(site: Site, board: Board) -> str:
    """A digest of all that charts show; empty where that is not known."""
    attempts = list(board.attempts)
    if not all(site.rows_depend.get(attempt.run.id) for attempt in attempts):
        return ""
    return digest(
        board.floors,
        [(column.problem, column.best and column.best.run.id) for column in board.columns],
        [row.contender for row in board.rows],
        plain([_point(site, board, attempt) for attempt in attempts]),
    )


def _point(site: Site, board: Board, attempt: Attempt) -> str:
    """What charts show of a run: of its audit no more than whether the run counts."""
    run = attempt.run

    def made() -> str:
        spent = cost(run, site.prices)
        return repr((
            run.id, run.contender, run.problem, attempt.score, attempt.counts,
            run.end_reason.value, run.elapsed_seconds, run.usage.output, str(spent.usd),
            spent.remark,
        ))  # fmt: skip

    return site.kept.text(f"points-{board.config.id}", run.id, site.rows_depend[run.id], made)


def _row_html(rows: RunRows, draw: DrawRow, url: object, attempt: Attempt) -> str:
    return f"{draw(rows.row(attempt), url)}\n"


def _kept(
    site: Site,
    kind: str,
    name: str,
    scale: object,
    runs: Sequence[Attempt],
    make: Callable[[Attempt], str],
) -> str:
    """What is said of runs, a piece each, of which those are made that are not known."""
    known, by_id = site.rows_depend, {attempt.run.id: attempt for attempt in runs}
    made_of = {run_id: known.get(run_id, "") for run_id in by_id}
    kind = f"{kind}-{name}"
    return site.kept.joined_html(kind, made_of, lambda run_id: make(by_id[run_id]), repr(scale))


def share(of: Proportion) -> str:
    """How many of how many, with the interval: "8 of 9, 95 % interval 57 % to 98 %"."""
    told = f"{of.count} of {of.of}"
    if of.interval is None:
        return told
    low, high = of.interval
    return f"{told}, 95 % interval {whole_percent(low)} to {whole_percent(high)}"


def ranks(of: Standing) -> str:
    """The ranks that the runs leave open: "1 to 3"."""
    low, high = of.ranks
    return str(low) if low == high else f"{low} to {high}"


def mean(of: Standing) -> str:
    """The mean and its standard error: ".245 ± .061"."""
    if of.mean is None:
        return "unknown"
    error = "" if of.error is None else f" ± {facts.margin(of.error, of.mean)}"
    return f"{facts.score(of.mean)}{error}"
