"""`kbsite audit quote`."""

from __future__ import annotations

from pathlib import Path

import click

from kbsite.cli.audit.choosing import chosen, run_argument
from kbsite.cli.options import TEXT, config_option


@click.command()
@run_argument
@click.argument("where", type=TEXT, metavar="WHERE")
@click.option("--label", required=True, help="What the passage shows, in a few words.")
@click.option("--text", default="", help="The passage; all that stands there, without it.")
@config_option
def quote(named: str, where: str, label: str, text: str, config: Path | None) -> None:
    """Add a passage of the run to its audit, or to the draft of it, proven.

    WHERE is FILE:12 or FILE:12-20 for lines of a file of the run, or transcript/FILE@EVENT for an
    event, by its anchor on the run's page (`kbsite audit show` has both); snapshots/NAME.py.diff is
    what a snapshot changed. The passage is taken from the file itself; what does not stand there,
    word for word, is refused.

    \b
    Example:
      kbsite audit quote 050256 solution.py:12-20 --label "keyed on the pointer"
      kbsite audit quote 050256 transcript/stdout.jsonl@L34 --label "it knew" --text "the grader"
    """
    from kbsite.auditing.drafts import draft_path, writing
    from kbsite.auditing.quoting import address, cited, proven_quote
    from kbsite.cli.audit.printing import as_line, place, say
    from kbsite.errors import UsageError
    from kbsite.model.audit import Audit
    from kbsite.store.alone import alone_in
    from kbsite.store.audits import add_quote
    from kbsite.store.records import yaml_record
    from kbsite.store.run_folders import AUDIT
    from kbsite.store.runs import read_run

    if not label.strip():
        raise UsageError("--label is empty; expected in a few words what the passage shows")
    meant = cited(where)
    _, folder = chosen(named, config)
    draft = draft_path(folder)
    path = draft if draft.exists() else folder / AUDIT
    if not path.exists():
        raise UsageError(f"{path}: not there; begin with `kbsite audit new {folder.name}`")
    made = proven_quote(read_run(folder), meant, label, text)
    with writing(path), alone_in(folder):
        held = yaml_record(path, Audit).quotes
        if (address(made), made.text) in [(address(one), one.text) for one in held]:
            raise UsageError(f"{as_line(address(made))}: the audit quotes this already")
        add_quote(path, made)
    say(as_line(f"{place(path)}: quotes[{len(held)}]: {address(made)}: {label}"))
    for row in made.text.split("\n"):
        say(f"  {as_line(row.expandtabs(4))}")
