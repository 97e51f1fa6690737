"""The command line. A command imports what it needs when it runs, so that `--help` is quick.

Messages go to stderr, results to stdout. Exit codes: 0 fine, 1 the input or the result is bad,
2 wrong use, 3 the machine cannot do it; `kbsite build` says with more how many files have errors.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

import click

from kbsite import __version__
from kbsite.cli.beside import OpenGroup
from kbsite.cli.lazy import with_help
from kbsite.errors import KbsiteError, of_machine, of_run

COMMANDS = {
    "audit": ("kbsite.cli.audit:audit", "Read runs, and write down what an auditor finds."),
    "build": ("kbsite.cli.build:build", "Make the site of a folder of runs."),
    "check": ("kbsite.cli.check:check", "Say what is wrong with runs, audits, problems, config."),
    "export": ("kbsite.cli.export:export", "Write runs as others read them."),
    "import": ("kbsite.cli.imports:imports", "Make run directories of what others have written."),
    "init": ("kbsite.cli.init:init", "Begin a site in a folder of its own."),
    "lint": (
        "kbsite.cli.lint:lint",
        "Say what is wrong with a built site, before it is published.",
    ),
    "publish": ("kbsite.cli.publish:publish", "Let a bucket hold a site that stands in a folder."),
    "serve": ("kbsite.cli.serve:serve", "Show the site in a browser, and follow what changes."),
    "verify": ("kbsite.cli.verify:verify", "Derive a site's figures anew from its raw data."),
}
"""Every command: where it is, and what it does in one line."""

BESIDE = {"bench": "Run agents in sandboxes, and grade what they leave."}
"""Commands of other packages that --help lists; looking for more would take longer than it does."""


@click.group(
    cls=OpenGroup,
    lazy=COMMANDS,
    beside=BESIDE,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="kbsite")
@click.pass_context
def kbsite(context: click.Context) -> None:
    """Turn run directories of coding agents into a leaderboard site.

    \b
    Example:
      kbsite check && kbsite build
    """
    # As rich has it, which shows tables and progress: https://no-color.org
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        context.color = False


with_help(kbsite)


def main() -> None:
    """Run the command line; an error that a person can mend is told in one message."""
    try:
        kbsite(prog_name="kbsite", standalone_mode=True)
    except KbsiteError as error:
        _end(error)
    except OSError as error:
        told = of_machine(error) or of_run(error)
        if told is None:
            raise
        _end(told)
    finally:
        # All that is held goes with the process: Python would look for cycles in it before.
        gc.freeze()


def _end(error: KbsiteError) -> NoReturn:
    from kbsite.model.finding import one_line

    # Names of files and what servers say may stand in it, and would act on a terminal.
    told = "\n".join(map(one_line, str(error).split("\n")))
    click.echo(f"kbsite: {told}", err=True)
    sys.exit(error.exit_code)
