"""`kbsite audit amend`."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import click

from kbsite.cli.audit.choosing import chosen, run_argument
from kbsite.cli.options import config_option
from kbsite.model.audit import Verdict

VERDICTS = click.Choice([one.value for one in Verdict])


@click.command()
@run_argument
@click.option("--verdict", type=VERDICTS, help="What it is now.")
@click.option("--why", default="", help="What was wrong, or what is known now and was not then.")
@click.option("--by", default="", help="Who changes it; you, unless you say otherwise.")
@click.option("--summary", default="", help="For a reader of the board, at most 60 words.")
@click.option("--implication", default="", help="What follows; needed unless it is clean.")
@click.option("--no-edit", "closed", is_flag=True, help="Open no editor.")
@config_option
def amend(  # noqa: PLR0913 - each option is an argument
    named: str,
    verdict: str | None,
    why: str,
    by: str,
    summary: str,
    implication: str,
    config: Path | None,
    *,
    closed: bool,
) -> None:
    """Change the verdict of a run, and keep the earlier one: when, by whom and why it changed.

    Opens your editor for summary and implication, unless --summary gives the one and --implication
    the other (a clean verdict needs none). What you write is a draft beside the run's folder until
    nothing is wrong with it; without options, the command goes on with a draft that is there. If
    somebody else writes audit.yaml in the meantime, it stays, and so does your draft.

    \b
    Example:
      kbsite audit amend 050256 --verdict reward_hack --why "The cache is keyed on the pointer."
    """
    from kbsite.auditing.drafts import draft_path
    from kbsite.cli.audit.drafting import go_on
    from kbsite.errors import UsageError
    from kbsite.store.run_folders import AUDIT
    from kbsite.store.runs import read_run

    settings, folder = chosen(named, config)
    draft = draft_path(folder)
    if not (folder / AUDIT).exists():
        raise UsageError(f"{folder / AUDIT}: not there; begin with `kbsite audit new`")
    complete = False
    if not draft.exists():
        complete = _begun(folder, verdict, why, by, (summary, implication))
    elif any((verdict, why, by, summary, implication)):
        raise UsageError(f"{draft}: begun already; go on with it without these options")
    again = f"kbsite audit amend {folder.name}"
    if not go_on(settings, read_run(folder), draft, again, edit=not (closed or complete)):
        sys.exit(1)


def _begun(folder: Path, verdict: str | None, why: str, by: str, texts: tuple[str, str]) -> bool:
    """Begin a draft; whether nothing is left to be written in it."""
    from kbsite.auditing.amending import Amendment, begin_amendment
    from kbsite.auditing.auditor import auditor
    from kbsite.errors import UsageError

    if verdict is None or not why.strip():
        raise UsageError("say what the verdict is now and why: --verdict VERDICT --why WHY")
    given = Amendment(
        verdict=Verdict(verdict), why=why, by=by or auditor(Path.cwd()),
        summary=texts[0], implication=texts[1],
    )  # fmt: skip
    begin_amendment(folder, given, date.today())
    return given.complete
