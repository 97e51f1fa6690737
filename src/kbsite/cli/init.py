"""`kbsite init`."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import click

from kbsite.cli.options import FOLDER
from kbsite.model.finding import one_line

BOARD = "mine"
"""Id of the board that a new site begins with."""

KEPT = ".gitkeep"
"""Lets git keep a folder that has nothing else in it."""

SETTINGS = """\
# What this site is called, and which boards it has. `kbsite check` names each key that is wrong.
title: {title}
tagline: What a model does when a coding agent is left alone with a kernel problem

# Texts of the first page, in Markdown.
about: |
  What is measured here, by whom, on what.
# contact: |
#   Found a flaw? Write to bench@example.org.

# Where the site will stand; a sitemap and cards for links are made only then.
# url: https://bench.example.org/
# What each page asks of crawlers, so that solutions stay out of what models are trained on.
# robots: noindex, noai
# A GUID of this site's own that pages name, by which they are found where models learnt from them.
# canary: {guid}

boards:
  # The runs in runs/{board}/, on the page {board}/.
  - id: {board}
    title: {name}
    # What it does not name is what most of its runs have; runs with something else are refused.
    # hardware: h100-sxm
    # budget_seconds: 2700
    # The problems in order, by their ids; or in groups: {{title: Level 1, problems: [...]}}.
    # deck: [rowsum]
"""

IGNORED = """\
# What kbsite makes of runs/ and problems/.
/site/
/.site.*
"""

NEXT = """\
made {made}. Next:
{cd}  kbsite build                    # the site; its board is still empty
  kbsite import transcript session.jsonl --out runs/{board} --problem rowsum
                                  # a run of a transcript that you have
  kbsite check                    # what is wrong with runs, problems and settings"""


@click.command("init")
@click.argument("folder", metavar="DIR", type=FOLDER)
def init(folder: Path) -> None:
    """Begin a site in DIR: kbsite.yaml, and folders for runs and problems.

    What is there already is left alone. A site that has a kbsite.yaml is no new one (exit code 2).

    \b
    Example:
      kbsite init mybench && cd mybench && kbsite build
    """
    from uuid import uuid4

    from kbsite.errors import UsageError
    from kbsite.store.folders import refuse_blocked
    from kbsite.store.settings import CONFIG

    refuse_blocked(folder)
    if os.path.lexists(folder / CONFIG):
        raise UsageError(f"{folder / CONFIG} is there already; nothing was changed")
    title = json.dumps(one_line(folder.resolve().name or BOARD.title()), ensure_ascii=False)
    settings = SETTINGS.format(title=title, name=BOARD.title(), board=BOARD, guid=uuid4())
    made = [
        name
        for name, text in (
            (f"runs/{BOARD}/{KEPT}", ""), (f"problems/{KEPT}", ""), (".gitignore", IGNORED),
            # Last: what is broken off before can be begun again.
            (CONFIG, settings),
        )
        if _made(folder / name, text)
    ]  # fmt: skip
    told = ", ".join(name.removesuffix(f"/{KEPT}") for name in made)
    # Whoever stands there need not go there.
    there = Path().absolute() == folder.absolute()
    # A shell would take what begins with a hyphen for an option.
    named = f"./{folder}" if str(folder).startswith("-") else str(folder)
    cd = "" if there else f"  cd {shlex.quote(one_line(named))}\n"
    click.echo(NEXT.format(made=told, cd=cd, board=BOARD), err=True)
    click.echo(folder / CONFIG)


def _made(path: Path, text: str) -> bool:
    """Whether a file is written now: not where it is, nor to keep a folder that holds something."""
    from kbsite.store.folders import make_folder
    from kbsite.store.writing import write_once

    make_folder(path.parent)
    if path.name == KEPT and any(path.parent.iterdir()):
        return False
    try:
        write_once(str(path), text.encode("utf-8"))
    except FileExistsError:
        return False
    return True
