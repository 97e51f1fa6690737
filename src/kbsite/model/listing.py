"""data/runs.json: every run of a site in one line each, for other programs."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from kbsite.model.audit import Verdict
from kbsite.model.status import EndReason, Status
from kbsite.model.usage import Usage

FORMAT: Final = 1
"""Version of the format of data/runs.json."""


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run, as data/runs.json lists it. Null where it was not recorded."""

    id: str
    page: str
    """Address of the run's page, from the folder of the site on."""
    board: str
    """Id of the board that shows it; of the one that it names, if none does."""
    on_board: bool
    """Whether a board shows it."""
    problem: str
    harness: str
    model: str
    effort: str | None
    variant: str | None
    hardware: str | None
    status: Status
    peak_fraction: float | None
    """Its score, in its board's metric; null unless it passed with one."""
    interval: tuple[float, float] | None
    """Confidence interval of the score, low and high."""
    ms: float | None
    """Geometric mean of the times over the shapes, milliseconds."""
    verdict: Verdict | None
    """Null where nobody has audited the run."""
    counts: bool
    """Whether no verdict takes it out of the ranking."""
    end_reason: EndReason
    cut: bool
    """Whether the wall-clock budget stopped the agent."""
    started: datetime | None
    seconds: float | None
    """How long the session took."""
    cost_usd: float | None
    """What the run itself tells of its cost."""
    cost_is_estimate: bool
    """Whether that is an estimate too: no CLI counted it, as of tables that others published."""
    estimate_usd: float | None
    """What it cost by the site's table of prices; null without a price or counts of tokens."""
    estimate_is_least: bool
    """Whether the estimate lacks the price of some kind of its tokens: it cost more then."""
    usage: Usage
    """Tokens by kind, of all agents."""
    attempt: int
    """Which attempt of its cell it is, from 1."""
    attempts: int
    """How many attempts its cell has."""


class Listing(Struct, frozen=True, kw_only=True):
    """data/runs.json: every run of the site, attempts included, by board and id."""

    format: Literal[1]
    """Version of the format."""
    runs: tuple[ListedRun, ...]
