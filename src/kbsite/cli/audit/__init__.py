"""`kbsite audit`: for the person who reads the runs. Each command is a module of its own."""

from __future__ import annotations

import click

from kbsite.cli.lazy import LazyGroup

COMMANDS = {
    "queue": ("kbsite.cli.audit.queue:queue", "List the runs that somebody has to read next."),
    "show": ("kbsite.cli.audit.show:show", "Show all that there is to judge a run by."),
    "new": ("kbsite.cli.audit.new:new", "Write the audit of a run, in your editor."),
    "quote": ("kbsite.cli.audit.quote:quote", "Add a passage of the run to its audit, proven."),
    "amend": ("kbsite.cli.audit.amend:amend", "Change a verdict, and keep the earlier one."),
    "stats": ("kbsite.cli.audit.stats:stats", "Count verdicts, coverage, proofs and alarms."),
    "scan": ("kbsite.cli.audit.scan:scan", "List what the detectors notice about runs."),
}
"""Every command of the group: where it is, and what it does in one line."""


@click.group("audit", cls=LazyGroup, lazy=COMMANDS)
def audit() -> None:
    """Read runs, and write down what an auditor finds.

    RUN is the id of a run, a part of it that no other id has, or the run's folder.

    \b
    Example:
      kbsite audit queue
      kbsite audit show 050256
      kbsite audit new 050256
    """
