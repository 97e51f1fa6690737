"""What a run cost, as the charts of its page say it."""

from __future__ import annotations

from collections.abc import Callable

from kbsite.model.price import Cost, estimate
from kbsite.model.run import Run
from kbsite.model.usage import Usage
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


def so_far(site: Site, run: Run) -> Callable[[Usage], str] | None:
    """Tells what tokens of a run cost by the table of prices; None where its model has no price."""
    if site.prices.price(run.model, run.day) is None:
        return None

    def told(used: Usage) -> str:
        found = estimate(used, run.model, run.day, site.prices)
        return "" if found is None else money(float(found.usd))

    return told
