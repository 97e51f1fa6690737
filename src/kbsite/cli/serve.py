"""`kbsite serve`."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import FOLDER, THERE, config_option, tally
from kbsite.errors import MachineError, UsageError
from kbsite.model.counts import number_of
from kbsite.model.finding import Severity

if TYPE_CHECKING:
    from kbsite.serving.builder import Outcome

PORT = 8417


@click.command()
@config_option
@click.option("--runs", type=FOLDER, help="Folder of the runs.")
@click.option("--problems", type=THERE, help="Folder of the problems.")
@click.option("--out", type=FOLDER, help="Folder of the site.")
@click.option("--watch", is_flag=True, help="Build it, and again whenever something changes.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port; 0 for any that is free.",
)
def serve(  # noqa: PLR0913 - each option is an argument
    config: Path | None,
    runs: Path | None,
    problems: Path | None,
    out: Path | None,
    *,
    watch: bool,
    host: str,
    port: int,
) -> None:
    """Show the site in a browser of this machine, as a web server would.

    With --watch, pages that are open follow what changes: runs, audits, problems, kbsite.yaml,
    templates. Errors of a build are shown there, and here once; the last whole site is served
    meanwhile.

    \b
    Example:
      kbsite serve --watch
    """
    try:
        from kbsite.serving.answers import is_loopback
        from kbsite.serving.builder import Source
        from kbsite.serving.served import Serving, Told
    except ImportError as error:
        cure = "install it with: pip install 'kbsite[serve]'"
        raise MachineError(f"`kbsite serve` cannot be used here: {error}; {cure}") from error

    if not watch:
        for name, value in (("--runs", runs), ("--problems", problems)):
            if value is not None:
                message = f"{name}: only --watch builds; give both, or `kbsite build` first"
                raise UsageError(message)
    needless = runs is not None or (out is not None and not watch)
    source = Source(_path(config, needless=needless), runs, problems, out)
    site = source.settings().out
    if not watch and not (site / "index.html").is_file():
        raise UsageError(f"{site}: no site; make it with `kbsite build`, or give --watch")
    if not host:
        # All addresses of this machine, to sockets: a variable that is not set asks for nothing.
        raise UsageError("--host: empty; expected an address, as 0.0.0.0 for all of this machine")
    if not is_loopback(host):
        warning = f"Everyone who reaches {host} can read this site, and what is not redacted in it."
        click.secho(warning, err=True, fg="red", bold=True)
    serving = Serving(site, host, port, source if watch else None)
    asyncio.run(serving.serve(Told(ready=_ready, built=Terminal().built)))


def _path(config: Path | None, *, needless: bool) -> Path | None:
    """The kbsite.yaml that counts here; None where there is none, and none is needed."""
    from kbsite.store.settings import config_path

    if config:
        return config
    try:
        return config_path(Path.cwd())
    except UsageError:
        if not needless:
            raise
        return None


def _ready(address: str) -> None:
    click.echo(address)
    click.echo("Ctrl-C ends it.", err=True)


@dataclass(slots=True)
class Terminal:
    """Who reads what came of builds: what was told once stands there, until it is mended."""

    _told: Counter[str] = field(default_factory=Counter)
    """What is wrong, as the last build that came to something said it."""

    def built(self, outcome: Outcome) -> None:
        """Tell what came of a build: what is wrong since then, and what is no longer."""
        if outcome.failed:
            click.secho(f"not built: {outcome.failed}", err=True, fg="red")
            return
        held = Counter((*outcome.errors, *outcome.warnings))
        new, gone = held - self._told, self._told - held
        self._told = held
        for texts, colour in ((outcome.errors, "red"), (outcome.warnings, "yellow")):
            for text in (text for text in dict.fromkeys(texts) if text in new):
                click.secho(text, err=True, fg=colour)
        for text in gone:
            click.secho(f"gone: {text}", err=True, fg="green")
        click.echo(_summary(outcome), err=True)


def _summary(outcome: Outcome) -> str:
    seen = Counter({Severity.ERROR: len(outcome.errors), Severity.WARNING: len(outcome.warnings)})
    done = (
        f"{number_of(outcome.rendered, 'page')} rendered, "
        f"{number_of(outcome.written, 'file')} written"
    )
    return f"built in {outcome.seconds * 1000:.0f} ms: {done}, {tally(seen)}"
