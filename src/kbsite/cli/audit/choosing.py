"""The argument RUN, as all commands of an auditor take it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import TEXT, settings

if TYPE_CHECKING:
    from kbsite.store.settings import Settings

run_argument = click.argument("named", type=TEXT, metavar="RUN")


def chosen(named: str, config: Path | None) -> tuple[Settings, Path]:
    """The settings, and the folder of the run that is named.

    A run's folder can be named where there is no kbsite.yaml; UsageError where no run is meant.
    """
    from kbsite.auditing.named import named_run
    from kbsite.store.run_folders import is_run

    here = Path(named)
    held = settings(config, here.parent if here.is_dir() and is_run(here) else None)
    return held, named_run(named, held.runs)
