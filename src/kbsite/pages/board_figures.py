"""The figures of a board's page: where its contenders stand, and its charts."""

from __future__ import annotations

from kbsite.board_charts import Measure, ends, peaks, scatter
from kbsite.model.board import Board
from kbsite.model.price import PriceTable, cost
from kbsite.model.run import Run
from kbsite.model.standing import Proportion, Standing
from kbsite.pages import facts
from kbsite.standings import RESAMPLES, standings, wilson

MEASURES = (
    Measure(
        name="time",
        of=lambda run: run.elapsed_seconds,
        written=facts.elapsed,
        steps=(1, 2, 5, 10, 15, 30),
        base=60,
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
        return " (estimate)" if cost(run, prices).estimated else ""

    return Measure(
        name="cost", of=lambda run: cost(run, prices).usd, written=facts.money, marked=marked
    )


def figures(board: Board, prices: PriceTable) -> dict[str, object]:
    """What the template shows below and beside the grid."""
    measures = [*MEASURES, cost_measure(prices)]
    costs = [*(scatter(board, held, facts.score) for held in measures), ends(board)]
    return {
        "standings": standings(board),
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
        "peaks": peaks(board, facts.score),
        # What cannot be drawn is said below what can.
        "costs": sorted(costs, key=lambda chart: chart.drawing is None),
    }


def share(of: Proportion) -> str:
    """How many of how many, with the interval: "8 of 9, 95 % interval 57 % to 98 %"."""
    told = f"{of.count} of {of.of}"
    if of.interval is None:
        return told
    low, high = of.interval
    return f"{told}, 95 % interval {low * 100:.0f} % to {high * 100:.0f} %"


def ranks(of: Standing) -> str:
    """The ranks that the runs leave open: "1 to 3"."""
    low, high = of.ranks
    return str(low) if low == high else f"{low} to {high}"


def mean(of: Standing) -> str:
    """The mean and its standard error: ".245 ± .061"."""
    if of.mean is None:
        return "unknown"
    error = "" if of.error is None else f" ± {facts.score(of.error)}"
    return f"{facts.score(of.mean)}{error}"
