"""`kbsite audit stats`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import config_option, settings, tell_errors
from kbsite.model.audit import Verdict

if TYPE_CHECKING:
    from kbsite.auditing.tallies import BoardTally, KindTally, Tallies, Verdicts

LABEL = 36
"""Characters of a name in a table."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_option
def stats(config: Path | None, *, as_json: bool) -> None:
    """Count audits: coverage and verdicts by board and contender, proven quotes, auditors.

    And what became of alarms: how many runs raised one of a kind, how many of those were audited,
    with which verdicts, and in how many something was wrong. That is how right a detector is, as
    far as somebody looked; what was wrong with runs without alarms is what all of them missed.
    Exit code 1 where a run could not be read, which is not counted.

    \b
    Example:
      kbsite audit stats --json
    """
    from kbsite.auditing.tallies import tallies
    from kbsite.cli.audit.printing import say
    from kbsite.cli.progress import progress
    from kbsite.reading import lookout_of, read

    held = settings(config)
    with progress() as tick:
        site = read(held, lookout_of(held), tick)
    found = tallies(site)
    if as_json:
        click.echo(json.dumps(_data(found), indent=2))
    else:
        for line in _lines(found):
            say(line)
    if tell_errors(site.findings):
        sys.exit(1)


def _lines(found: Tallies) -> Iterator[str]:
    from kbsite.cli.audit.printing import columns, titled

    yield titled("coverage").removeprefix("\n")
    rows = [(_short(one.id), str(one.due), str(one.done), str(one.due - one.done))
            for one in found.boards]  # fmt: skip
    yield from columns([("board", "due", "audited", "waiting"), *rows])
    for board in found.boards:
        yield titled(f"verdicts on {_short(board.id)}")
        yield from columns(_verdict_rows(board))
    yield titled("quotes")
    yield f"  {found.proven} of {found.quotes} proven"
    yield titled("alarms, and what became of them")
    yield from columns([_KINDS, *(_kind_row(one) for one in found.kinds)])
    yield "  wrong: leak, hack or bug, of the runs that were audited"
    yield titled("auditors")
    audits = [(_short(who), str(count)) for who, count in found.auditors.items()]
    yield from columns([("auditor", "audits"), *audits])


_VERDICTS = tuple(one.value.rpartition("_")[2][:5] for one in Verdict)
_KINDS = ("kind", "level", "runs", "wrong", *_VERDICTS)


def _verdict_rows(board: BoardTally) -> Iterator[tuple[str, ...]]:
    yield ("contender", *_VERDICTS, "unaudited")
    for label, verdicts in board.contenders.items():
        yield (_short(label), *_counts(verdicts), _figure(verdicts.get(None, 0)))
    yield ("all", *_counts(board.verdicts), _figure(board.verdicts.get(None, 0)))


def _kind_row(one: KindTally) -> tuple[str, ...]:
    runs, level = sum(one.verdicts.values()), one.level.value if one.level else ""
    wrong = f"{one.confirmed}/{one.audited}"
    return (one.kind or "no alarm at all", level, str(runs), wrong, *_counts(one.verdicts))


def _counts(verdicts: Verdicts) -> list[str]:
    return [_figure(verdicts.get(verdict, 0)) for verdict in Verdict]


def _figure(count: int) -> str:
    return str(count) if count else "·"


def _short(name: str) -> str:
    from kbsite.cli.audit.printing import safe

    flat = safe(name)
    return flat if len(flat) <= LABEL else f"{flat[: LABEL - 1]}…"


def _data(found: Tallies) -> dict[str, object]:
    return {
        "boards": [
            {
                "id": board.id,
                "due": board.due,
                "audited": board.done,
                "verdicts": _named(board.verdicts),
                "contenders": {who: _named(held) for who, held in board.contenders.items()},
            }
            for board in found.boards
        ],
        "quotes": found.quotes,
        "proven": found.proven,
        "alarms": [
            {
                "kind": one.kind or None,
                "level": one.level.value if one.level else None,
                "runs": sum(one.verdicts.values()),
                "audited": one.audited,
                "wrong": one.confirmed,
                "verdicts": _named(one.verdicts),
            }
            for one in found.kinds
        ],
        "auditors": dict(found.auditors),
    }


def _named(verdicts: Verdicts) -> dict[str, int]:
    named = {verdict.value: verdicts.get(verdict, 0) for verdict in Verdict}
    return named | {"unaudited": verdicts.get(None, 0)}
