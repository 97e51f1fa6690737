"""`kbsite audit scan`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.audit.choosing import chosen
from kbsite.cli.options import TEXT, config_option, settings, tell
from kbsite.model.alarm import Level
from kbsite.model.counts import number_of
from kbsite.model.finding import Severity

if TYPE_CHECKING:
    from kbsite.auditing.scanning import Scanned, ScannedRuns
    from kbsite.model.alarm import Alarm


@click.command()
@click.argument("named", nargs=-1, type=TEXT, metavar="[RUN]...")
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    default=Level.NOTE.value,
    show_default=True,
    help="Only what weighs this much or more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for each alarm.")
@click.option("--strict", is_flag=True, help="Exit 1 if anything of the level is found.")
@config_option
def scan(
    named: tuple[str, ...], level: str, config: Path | None, *, as_json: bool, strict: bool
) -> None:
    """List what the detectors notice about runs, a line each, as a compiler writes warnings.

    RUN is the id of a run, a part of it that no other id has, or the run's folder; without RUN,
    all runs. An alarm is evidence, no verdict: exit code 0, unless --strict says otherwise, or a
    run could not be looked over, which stops no other.

    \b
    Example:
      kbsite audit scan --level warning
    """
    from kbsite.auditing.scanning import scan as scanned
    from kbsite.cli.audit.printing import say
    from kbsite.cli.progress import progress

    held = [chosen(name, config) for name in named]
    known = held[0][0] if held else settings(config)
    with progress() as tick:
        made = scanned(known, [folder for _, folder in held], tick)
    least = Level(level).weight
    found = [(run, one) for run in made.runs for one in run.alarms if one.level.weight >= least]
    for run, alarm in found:
        say(json.dumps(_data(run, alarm)) if as_json else _line(run, alarm))
    whole = _told(made)
    if not whole or (strict and found):
        sys.exit(1)


def _told(made: ScannedRuns) -> bool:
    """Whether all runs could be looked over; on stderr, which not, and a summary."""
    from kbsite.cli.audit.printing import say

    failed = list(_failures(made))
    for line in failed:
        say(line, err=True)
    for finding in made.findings:
        tell(finding)
    say(_summary(made), err=True)
    return not failed and all(one.severity is not Severity.ERROR for one in made.findings)


def _line(run: Scanned, alarm: Alarm) -> str:
    from kbsite.cli.audit.printing import as_line, place, toned

    where = place(run.stored.folder / alarm.file if alarm.file else run.stored.folder)
    line = f":{alarm.lines[0]}" if alarm.lines else ""
    told = as_line(f"{alarm.kind}: {alarm.saw} {alarm.look}")
    return f"{where}{line}: {toned(alarm.level.value, alarm.level.tone)}: {told}"


def _data(run: Scanned, alarm: Alarm) -> dict[str, object]:
    from kbsite.cli.audit.printing import place

    return {
        "run": run.stored.run.id,
        "path": place(run.stored.folder),
        "file": alarm.file,
        "lines": list(alarm.lines),
        "level": alarm.level.value,
        "kind": alarm.kind,
        "saw": alarm.saw,
        "look": alarm.look,
        "other": alarm.other,
    }


def _failures(made: ScannedRuns) -> Iterator[str]:
    from kbsite.cli.audit.printing import as_line, place

    for run in made.runs:
        for failure in run.failures:
            yield as_line(f"{place(run.stored.folder)}: error: not looked over: {failure}")


def _summary(made: ScannedRuns) -> str:
    seen = Counter(alarm.level for run in made.runs for alarm in run.alarms)
    count = len(made.runs)
    found = ", ".join(number_of(seen[level], level.value) for level in reversed(Level))
    each = f"; {made.seconds * 1000 / count:.1f} ms a run on average" if count else ""
    return f"{number_of(count, 'run')}: {found}{each}"
