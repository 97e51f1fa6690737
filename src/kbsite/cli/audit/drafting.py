"""From a draft to an audit: the editor, what is wrong, and the place that it takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.audit.printing import place, say
from kbsite.cli.options import tell
from kbsite.errors import MachineError, UsageError
from kbsite.model.counts import number_of

if TYPE_CHECKING:
    from kbsite.auditing.drafts import Checked
    from kbsite.store.runs import StoredRun
    from kbsite.store.settings import Settings


def go_on(settings: Settings, stored: StoredRun, draft: Path, again: str, *, edit: bool) -> bool:
    """Let the auditor write, then let the draft take its place if nothing is wrong with it.

    Whether it did; if not, what is wrong and how to go on (the command `again`) has been told.
    """
    from kbsite.auditing.amending import changes_nothing
    from kbsite.auditing.drafts import check, publish
    from kbsite.check.known import known
    from kbsite.store.run_folders import AUDIT
    from kbsite.store.runs import read_run

    if edit:
        _edit(draft, again)
    checked = check(stored, draft, known(settings))
    for finding in checked.findings:
        tell(finding)
    if not checked.finished:
        say(f"still a draft, so nobody sees it: {place(draft)}", err=True)
        say(f"go on with it by: {again}", err=True)
        return False
    if stored.audit and checked.audit and changes_nothing(stored.audit, checked.audit):
        draft.unlink()
        message = "nothing to amend: verdict, auditor and all else are what they are already"
        raise UsageError(f"{stored.folder / AUDIT}: {message}; it stays, and the draft is gone")
    audit = publish(stored.folder, draft)
    for finding in read_run(stored.folder).findings:
        tell(finding)
    click.echo(place(audit))
    _told(checked)
    return True


def _told(checked: Checked) -> None:
    audit = checked.audit
    assert audit
    counts = "counts" if audit.counts else "does not count"
    quotes = number_of(len(audit.quotes), "quote")
    say(f"{audit.verdict.value}, {quotes}; the run {counts} in the ranking", err=True)


def _edit(draft: Path, again: str) -> None:
    """Open the auditor's editor; MachineError where there is none, or it fails."""
    chosen = any(os.environ.get(name) for name in ("VISUAL", "EDITOR"))
    later = f"the draft stays in {place(draft)}; go on with it by: {again}"
    if not chosen and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MachineError(f"no terminal for an editor; {later}, or add --no-edit")
    try:
        click.edit(filename=str(draft))
    except click.ClickException as error:
        raise MachineError(f"{error.format_message()}; {later}") from error
    except ValueError as error:
        # A quote that nothing closes: click reads it as a shell would.
        message = f"$VISUAL or $EDITOR is no command: {error}; set it to a program; {later}"
        raise MachineError(message) from error
    if not draft.exists():
        raise UsageError(f"{draft}: is gone, so nothing is written")
    if not draft.read_bytes().strip():
        # Who gives up empties it, as git has it; to go on with nothing would lead nowhere.
        draft.unlink()
        raise UsageError(f"{draft}: nothing was left in it, so it is gone, and nothing is written")
