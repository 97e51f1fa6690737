"""`kbsite audit queue`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import TEXT, config_option, settings, tell_errors
from kbsite.model.alarm import Level
from kbsite.model.counts import number_of

if TYPE_CHECKING:
    from kbsite.model.board import Board
    from kbsite.pages.page import Site
    from kbsite.pages.queue import Waiting


@click.command()
@click.option("--board", type=TEXT, metavar="ID", help="Only the runs of this board.")
@click.option("--all", "everything", is_flag=True, help="Also the runs that no rule asks for.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for each run.")
@config_option
def queue(board: str | None, config: Path | None, *, everything: bool, as_json: bool) -> None:
    """List the runs that somebody has to read next, those that need it most first.

    First the best run of a problem where alarms flag it, then what an alarm or a warning flags,
    then the best of each problem, then what the board's threshold asks for; of equals, the highest
    score first. Exit code 0, also where nothing waits; 1 where a run could not be read.

    \b
    Example:
      kbsite audit queue --board hard
    """
    from kbsite.cli.audit.printing import place, say
    from kbsite.cli.progress import progress
    from kbsite.pages.queue import waiting
    from kbsite.reading import lookout_of, read

    held = settings(config)
    with progress() as tick:
        site = read(held, lookout_of(held), tick)
    boards = _boards(site, board)
    names = {one.config.id for one in boards}
    found = [one for one in waiting(site, everything=everything) if one.board in names]
    for number, one in enumerate(found, start=1):
        path = place(one.stored.folder)
        lines = [json.dumps(_data(one, path))] if as_json else _entry(number, one, path)
        for line in lines:
            say(line)
    done, due = sum(one.audits_done for one in boards), sum(one.audits_due for one in boards)
    told = f"{len(found)} wait" if found else "nothing waits"
    broken = tell_errors(site.findings)
    say(f"{told}; audited {done} of {due} due", err=True)
    if broken:
        sys.exit(1)


def _boards(site: Site, named: str | None) -> list[Board]:
    """The boards of a site, or the one that is named; UsageError if there is none."""
    from kbsite.errors import UsageError

    found = [one for one in site.boards if named in (None, one.config.id)]
    if named is not None and not found:
        names = ", ".join(one.config.id for one in site.boards) or "none"
        raise UsageError(f"{named}: no such board; there are {names}")
    return found


def _data(one: Waiting, path: str) -> dict[str, object]:
    return {
        "run": one.stored.run.id,
        "board": one.board,
        "problem": one.stored.run.problem,
        "contender": one.stored.run.contender.label,
        "score": one.attempt.score,
        "best": one.best,
        "reasons": list(one.reasons),
        "alarms": {level.value: count for level, count in _levels(one).items()},
        "path": path,
    }


def _levels(one: Waiting) -> dict[Level, int]:
    """Number of its alarms by level, the heaviest first."""
    found = [alarm.level for alarm in one.attempt.alarms]
    return {level: found.count(level) for level in reversed(Level)}


def _entry(number: int, one: Waiting, path: str) -> Iterator[str]:
    from kbsite.cli.audit.printing import safe, score_of, wrapped

    run = one.stored.run
    reasons = "; ".join(one.reasons) or "nothing asks for it"
    yield f"{number:>3}. {score_of(one.attempt):<9} {reasons}"
    yield from wrapped(safe(f"{one.board} / {run.problem} / {run.contender.label}"), 5)
    told = [number_of(count, level.value)
            for level, count in _levels(one).items() if count]  # fmt: skip
    if told:
        yield f"     {', '.join(told)}"
    yield f"     {path}"
