"""`kbsite check`."""

from __future__ import annotations

from pathlib import Path

import click

from kbsite.cli.options import (
    conclude,
    config_option,
    json_option,
    settings,
    strict_option,
    tell_all,
)
from kbsite.errors import UsageError
from kbsite.filled import FilledPath
from kbsite.store.settings import Settings


@click.command()
@click.argument("paths", nargs=-1, type=FilledPath(path_type=Path), metavar="[PATH]...")
@config_option
@strict_option
@click.option("--fix", is_flag=True, help="Let quotes cite the lines that they stand in, first.")
@click.option("--imported", is_flag=True, help="With --fix: change imported audits too.")
@json_option
def check(
    paths: tuple[Path, ...],
    config: Path | None,
    *,
    strict: bool,
    fix: bool,
    imported: bool,
    as_json: bool,
) -> None:
    """Say what is wrong with runs, audits, problems and kbsite.yaml.

    PATH is a run, a folder of runs, a problem, problems/, bench/hardware, a kbsite.yaml or its
    folder, or a file of these; without PATH, everything that kbsite.yaml names. Exit 1 on any
    error.

    With --fix, a quote that stands, verbatim, elsewhere in its file is made to cite those lines;
    nothing else of an audit.yaml changes.

    \b
    Example:
      kbsite check runs/demo --strict
      kbsite check --fix
    """
    from kbsite.check import check as findings_of
    from kbsite.check.fixes import fix as fixed

    if imported and not fix:
        raise UsageError("--imported says what --fix may change; give both")
    known = _known(paths, config)
    for done in fixed(paths, known, imported=imported) if fix else ():
        click.echo(f"mended: {done.text}", err=as_json)
    conclude(tell_all(findings_of(paths, known), as_json=as_json), strict=strict)


def _known(paths: tuple[Path, ...], config: Path | None) -> Settings | None:
    try:
        return settings(config)
    except UsageError:
        if not paths or config:
            raise
        return None  # a run can be checked anywhere, only not against its problem
