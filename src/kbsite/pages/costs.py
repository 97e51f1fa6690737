"""What a run cost, as the charts of its page say it."""

from __future__ import annotations

from kbsite.charts.score import SoFar
from kbsite.model.price import Cost, estimate
from kbsite.model.run import Run
from kbsite.model.trajectory import Trajectory
from kbsite.model.transcript import Transcript
from kbsite.model.usage import NOTHING, Usage
from kbsite.pages.facts import money
from kbsite.pages.page import Site


def in_words(cost: Cost, *, few: bool = False) -> str:
    """The figure to compare runs by: "$4.10", "estimate $4.12"; empty where nobody knows.

    `few` says that the transcript counts fewer tokens than were used.
    """
    if cost.usd is None:
        return ""
    least = "at least " if few or cost.least else ""
    return f"{'estimate ' if cost.estimated else ''}{least}{money(cost.usd)}"


def spent(
    site: Site, run: Run, shown: Transcript | None, told: Trajectory
) -> tuple[str, SoFar | None]:
    """What a session cost in words, to stand beside its main agent's tokens; and `so_far`."""
    few = shown is not None and shown.lower_bound
    cost = in_words(site.cost(run, shown), few=few)
    own, whole = told.points[-1].used if told.points else NOTHING, told.signs.usage
    if cost and (own.sent, own.output) != (whole.sent, whole.output):
        # Sub-agents had some of them.
        cost += " in all"
    return cost, so_far(site, run)


def so_far(site: Site, run: Run) -> SoFar | None:
    """Tells what tokens of a run cost by the table of prices; None where its model has no price."""
    if site.prices.price(run.model, run.day) is None:
        return None

    def told(used: Usage) -> str:
        found = estimate(used, run.model, run.day, site.prices)
        if found is None:
            return ""
        return f"{'at least ' if found.lower_bound else ''}{money(float(found.usd))}"

    return told
