"""`kbsite audit show`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from kbsite.cli.audit.choosing import chosen, run_argument
from kbsite.cli.options import config_option


@click.command()
@run_argument
@click.option("--no-pager", "plain", is_flag=True, help="Print all of it at once.")
@config_option
def show(named: str, config: Path | None, *, plain: bool) -> None:
    """Show all that there is to judge a run by, from top to bottom.

    Facts, the grade against the floors, the audit that there is and whether its quotes are proven,
    alarms, where in the transcript the score moved and solution.py changed, the solution with its
    lines, and the files of the run, as `kbsite audit quote` takes them.

    RUN is the id of a run, a part of it that no other id has, or the run's folder.

    \b
    Example:
      kbsite audit show 050256
    """
    from kbsite.auditing.dossier import dossier
    from kbsite.cli.audit.printing import terminal_text
    from kbsite.cli.audit.sheet import sheet
    from kbsite.cli.progress import progress

    settings, folder = chosen(named, config)
    with progress() as tick:
        held = dossier(settings, folder, tick)
    text = terminal_text(sheet(held, colour=sys.stdout.isatty()))
    if plain or not _is_command(os.environ.get("PAGER", "")):
        click.echo(text, nl=False)
    else:
        click.echo_via_pager(text)


def _is_command(pager: str) -> bool:
    """Whether click can read $PAGER as a shell would; what is wrong with it is told."""
    import shlex

    try:
        shlex.split(pager)
    except ValueError as error:
        click.echo(f"$PAGER is no command, so nothing stops the text: {error}", err=True)
        return False
    return True
