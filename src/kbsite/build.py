"""A build: whether there is anything to do, and then the doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbsite import feeds
from kbsite.engines import Engine, engine_of
from kbsite.errors import UsageError
from kbsite.model.finding import Finding
from kbsite.output import Work, alone
from kbsite.standing import Standing, digest, program, read_standing
from kbsite.store.inputs import Input, inputs
from kbsite.store.settings import Settings, denied_of, override
from kbsite.store.spares import MARKER

if TYPE_CHECKING:
    from kbsite.lookout import Tick
    from kbsite.record import Memory

__all__ = ["REDACTION", "Built", "build", "override"]

REDACTION = "data/redaction.json"
"""What is hidden of the runs: which rule, where and how often."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a build made."""

    out: Path
    pages: int
    findings: tuple[Finding, ...]
    """What is wrong with the input."""
    work: Work
    unmet: tuple[Finding, ...] = ()
    """Where the site does not keep what it says of its audits, or its runs hold what none may."""
    hidden: Mapping[str, int] = field(default_factory=dict)
    """How many passages of runs are hidden, by rule."""


def build(
    settings: Settings,
    tick: Tick | None = None,
    *,
    fresh: bool = False,
    memory: Memory | None = None,
    engine: Engine | None = None,
    told: Callable[[Built], None] | None = None,
) -> Built:
    """Make the site, whole or not at all: what stood at its place stays until all is written.

    What did not change since the last build is taken over, unless it is to be made `fresh`. The
    runs that are looked over are told, then the paths of the pages. A process that builds again
    and again has a `memory`, and reads less. As many processes do it as kbsite.yaml says, or
    another `engine`: what comes out is the same. What was built is `told` as soon as it stands.
    """
    jobs = settings.config.jobs
    settings = replace(settings, config=replace(settings.config, jobs=0))
    with alone(settings.out):
        out = settings.out
        if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
            raise UsageError(
                f"{out}: not made by kbsite, so not replaced; empty it or choose --out"
            )
        places = [settings.runs, settings.problems]
        if memory and fresh:
            memory.hear(None)
        since = memory.since(out, places) if memory else None
        before, heard = since or (Standing() if fresh else read_standing(out), None)
        now = Standing(
            program=dict(program(before.program, heard).files),
            settings=digest(settings, *denied_of(settings), feeds.installed()),
            inputs=inputs(places, before.inputs, heard),
        )
        tidy = None
        looks_again = memory is not None and memory.owes_a_look and heard is None
        if before.program and _same(before, now) and not looks_again:
            work, standing = Work(), before
        else:
            # Whoever has nothing to do waits for none of this.
            from kbsite.making import make

            output, standing = make(
                settings, before, now, engine or engine_of(otherwise=jobs), tick, memory
            )
            work, tidy = output.work, output.tidy
        if memory:
            memory.looked(out, places, standing)
        built = Built(out, standing.pages, standing.findings, work, standing.unmet, standing.hidden)
        if told:
            told(built)
        if tidy:
            tidy()
        return built


def _same(before: Standing, now: Standing) -> bool:
    """Whether what a site is made of holds what it held."""
    return (
        before.settings == now.settings
        and _hold_the_same(before.program, now.program)
        and _hold_the_same(before.inputs, now.inputs)
    )


def _hold_the_same(before: Mapping[str, Input], now: Mapping[str, Input]) -> bool:
    return before.keys() == now.keys() and all(
        old is file or old.digest == file.digest
        for old, file in ((before[path], file) for path, file in now.items())
    )
