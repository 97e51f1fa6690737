"""`kbsite audit new`."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.audit.choosing import chosen, run_argument
from kbsite.cli.options import config_option
from kbsite.model.audit import Verdict

if TYPE_CHECKING:
    from kbsite.store.settings import Settings


@click.command()
@run_argument
@click.option("--verdict", type=click.Choice([one.value for one in Verdict]), help="What it is.")
@click.option("--summary", default="", help="For a reader of the board, at most 60 words.")
@click.option("--implication", default="", help="What follows; needed unless it is clean.")
@click.option("--no-edit", "closed", is_flag=True, help="Open no editor.")
@config_option
def new(
    named: str,
    verdict: str | None,
    summary: str,
    implication: str,
    config: Path | None,
    *,
    closed: bool,
) -> None:
    """Write the audit of a run: what is known is filled in, you write the rest in your editor.

    What you write is a draft, <run-id>.draft.yaml beside the run's folder, until it has a verdict
    and a summary and nothing is wrong with it; then it becomes audit.yaml. A draft is kept whatever
    happens, and the same command goes on with it. An audit.yaml that is there is never written
    over: `kbsite audit amend` changes a verdict.

    The editor is $VISUAL or $EDITOR; the auditor is $KBSITE_AUDITOR, else git's user.name.

    \b
    Example:
      kbsite audit new 050256 --verdict clean
    """
    from kbsite.auditing.drafts import begin, draft_path
    from kbsite.cli.audit.drafting import go_on
    from kbsite.cli.audit.printing import place
    from kbsite.errors import UsageError
    from kbsite.store.run_folders import AUDIT
    from kbsite.store.runs import read_run

    settings, folder = chosen(named, config)
    draft = draft_path(folder)
    if (folder / AUDIT).exists() and not draft.exists():
        raise UsageError(f"{folder / AUDIT}: there already; `kbsite audit amend` changes it")
    if draft.exists() and (verdict or summary or implication):
        raise UsageError(f"{draft}: begun already; go on with it without these options")
    fresh = not draft.exists()
    if fresh:
        begin(folder, _text(settings, folder, (verdict, summary, implication)))
    again = f"kbsite audit new {folder.name}"
    if go_on(settings, read_run(folder), draft, again, edit=not closed):
        return
    if not (closed and fresh and not summary):
        sys.exit(1)
    click.echo(place(draft))


def _text(settings: Settings, folder: Path, given: tuple[str | None, str, str]) -> str:
    from kbsite.auditing.auditor import auditor
    from kbsite.auditing.dossier import dossier
    from kbsite.auditing.template import Start, template
    from kbsite.cli.audit.printing import score_of
    from kbsite.cli.progress import progress

    with progress() as tick:
        held = dossier(settings, folder, tick)
    verdict, summary, implication = given
    run = held.stored.run
    due = "; ".join(held.due) or "nothing asks for it"
    told = f"{run.board} / {run.problem} / {run.contender.label}, {score_of(held.attempt)}; {due}."
    return template(
        Start(
            run_id=run.id,
            told=told,
            alarms=held.alarms,
            verdict=Verdict(verdict) if verdict else None,
            summary=summary,
            implication=implication,
            auditor=auditor(Path.cwd()),
            date=date.today(),
        )
    )
