"""`kbsite audit queue`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import config_option, settings

if TYPE_CHECKING:
    from kbsite.auditing.queue import Waiting


@click.command()
@click.option("--board", metavar="ID", help="Only the runs of this board.")
@click.option("--all", "everything", is_flag=True, help="Also the runs that no rule asks for.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for each run.")
@config_option
def queue(board: str | None, config: Path | None, *, everything: bool, as_json: bool) -> None:
    """List the runs that somebody has to read next, those that need it most first.

    First the best run of a problem where alarms flag it, then what an alarm or a warning flags,
    then the best of each problem, then what the board's threshold asks for; of equals, the highest
    score first. Exit code 0, also where nothing waits.

    \b
    Example:
      kbsite audit queue --board hard
    """
    from kbsite.auditing.queue import waiting
    from kbsite.cli.audit.printing import place, say
    from kbsite.errors import UsageError
    from kbsite.reading import lookout_of, read

    chosen = settings(config)
    site = read(chosen, lookout_of(chosen))
    names = [one.config.id for one in site.boards]
    if board is not None and board not in names:
        raise UsageError(f"{board}: no such board; there are {', '.join(names) or 'none'}")
    found = [one for one in waiting(site, everything=everything) if board in (None, one.board)]
    for number, one in enumerate(found, start=1):
        if as_json:
            click.echo(json.dumps(_data(one, place(one.stored.folder))))
        else:
            for line in _entry(number, one, place(one.stored.folder)):
                say(line)
    boards = [one for one in site.boards if board in (None, one.config.id)]
    done, due = sum(one.audits_done for one in boards), sum(one.audits_due for one in boards)
    told = "nothing waits" if not found else f"{len(found)} wait"
    say(f"{told}; audited {done} of {due} due", err=True)


def _data(one: Waiting, path: str) -> dict[str, object]:
    return {
        "run": one.stored.run.id,
        "board": one.board,
        "problem": one.stored.run.problem,
        "contender": one.stored.run.contender.label,
        "score": one.attempt.score,
        "best": one.best,
        "reasons": list(one.reasons),
        "alarms": len(one.attempt.alarms),
        "path": path,
    }


def _entry(number: int, one: Waiting, path: str) -> Iterator[str]:
    from kbsite.cli.audit.printing import safe, score_of, wrapped

    run = one.stored.run
    reasons = "; ".join(one.reasons) or "nothing asks for it"
    alarms = len(one.attempt.alarms)
    told = "no alarms" if not alarms else "1 alarm" if alarms == 1 else f"{alarms} alarms"
    yield f"{number:>3}. {score_of(one.attempt):<9} {told:<10} {reasons}"
    yield from wrapped(safe(f"{one.board} / {run.problem} / {run.contender.label}"), 5)
    yield f"     {path}"
