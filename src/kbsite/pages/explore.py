"""The page that draws all runs as a reader asks: axes, colours, boards; with the same as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import quantiles

from msgspec import Struct

from kbsite.charts.board import is_known
from kbsite.model.run import Contender
from kbsite.pages import listing
from kbsite.pages.page import INDEX, File, Page, Renderer, Site, address, attempt_of, run_path
from kbsite.store.runs import StoredRun
from kbsite.text import visible

EXPLORE = f"explore/{INDEX}"
"""Where the page stands."""

DATA = "explore/data.js"
"""What it draws, as a script: from disk a page can load nothing else."""

ROWS = 500
"""Runs in the table: the best ones, where there are more."""

FEW = 20
"""Runs whose table stands open: on a phone each is a card."""


class Spread(Struct, frozen=True):
    """How the scores of a contender are spread."""

    contender: Contender
    scores: Sequence[float]
    """At least one, the lowest first."""

    @property
    def quarters(self) -> tuple[float, float, float]:
        """The values that a quarter, a half and three quarters of the scores do not exceed."""
        if len(self.scores) == 1:
            return (self.scores[0],) * 3
        low, middle, high = quantiles(self.scores, n=4, method="inclusive")
        return low, middle, high


def pages(site: Site) -> Iterator[Page]:
    """One page, also of a site without runs: every page leads there."""
    yield Page(EXPLORE, partial(_files, site))


class _Scored(Struct, frozen=True):
    """A run, with what it scored."""

    stored: StoredRun
    score: float | None
    counts: bool
    """Whether no verdict takes it out of the ranking."""

    @property
    def counted(self) -> float | None:
        """Its score in the ranking."""
        return self.score if self.counts else None


def _files(site: Site, renderer: Renderer) -> Iterator[File]:
    rows = listing.joined(site, "explored", site.runs, _packed, ",")
    yield File(DATA, data=partial(b"".join, [b"window.kbsiteExplored=[", rows, b"];\n"]))
    scored = [_scored(stored) for stored in site.runs]
    values = {
        "title": "explore",
        "runs": [one.stored for one in sorted(scored, key=_best_first)[:ROWS]],
        "few": FEW,
        "spreads": list(_spreads(scored)),
        "struck": sum(one.score is not None and not one.counts for one in scored),
    }
    yield File(EXPLORE, renderer.page("pages/explore.html", EXPLORE, values))


def _scored(stored: StoredRun) -> _Scored:
    attempt = attempt_of(stored)
    return _Scored(stored, attempt.score, attempt.counts)


def _best_first(scored: _Scored) -> tuple[bool, float, str]:
    score = scored.counted
    return (score is None, -(score or 0.0), scored.stored.run.id)


def _spreads(runs: Sequence[_Scored]) -> Iterator[Spread]:
    """The spread of each contender's scores that count, by label."""
    held: dict[tuple[str, str, str | None, str | None], list[float]] = {}
    for one in runs:
        score, run = one.counted, one.stored.run
        if is_known(score):
            # Of thousands few differ: a contender is made for each of these.
            who = (run.harness, run.model, run.effort, run.variant)
            held.setdefault(who, []).append(score)
    spreads = [Spread(Contender(*who), sorted(scores)) for who, scores in held.items()]
    yield from sorted(spreads, key=lambda spread: spread.contender.label)


def _row(site: Site, stored: StoredRun) -> dict[str, object]:
    """A run as static/explore/explore.js draws it; what nobody knows is left out."""
    run, usage, spent = stored.run, stored.run.usage, site.cost(stored.run)
    attempt = attempt_of(stored)
    board = site.board_of.get(run.id)
    told = None if usage.sent is None or usage.output is None else usage.sent + usage.output
    words = {
        "run": run.id,
        "contender": run.contender.label,
        "model": run.model,
        "harness": run.harness,
        "problem": run.problem,
        "board": board.config.title if board else run.board,
        "verdict": stored.audit.verdict.value if stored.audit else "not audited",
        "status": stored.metrics.status.label,
    }
    figures = {
        "score": attempt.score,
        "time": run.elapsed_seconds,
        "output": usage.output,
        "tokens": told,
        "cost": spent.usd,
    }
    return {
        "page": address(run_path(run.id), seen_from=EXPLORE),
        **{name: visible(word) for name, word in words.items()},
        **{name: value for name, value in figures.items() if is_known(value)},
        **({"estimated": spent.remark} if spent.estimated else {}),
        **({} if attempt.counts else {"out": True}),
    }


def _packed(site: Site, stored: StoredRun) -> str:
    return listing.packed(_row(site, stored))
