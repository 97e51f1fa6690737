"""Who is auditing, as far as the machine tells."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator
from pathlib import Path

NAME = "KBSITE_AUDITOR"
"""The environment variable that says so."""

LONGEST = 1_000_000
"""Bytes of a file of settings that are read."""

_SECTION = re.compile(r"\s*\[\s*([^\]\"]*?)\s*(\".*\")?\s*\]")
_KEY = re.compile(r"\s*name\s*=\s*(.*?)\s*", re.IGNORECASE)
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"|([^#;]*)')


def auditor(here: Path) -> str:
    """The name in $KBSITE_AUDITOR, else git's for a checkout around `here`, else the user's.

    Git's is read from its files: kbsite starts no program for it. Empty where nothing tells.
    """
    told = os.environ.get(NAME, "").strip()
    named = (_git_name(path) for path in _git_files(here))
    return told or next((name for name in named if name), "") or _user()


def _git_files(here: Path) -> Iterator[Path]:
    """Where git keeps a user's name, the file that counts most first."""
    home = Path(os.environ.get("HOME") or Path.cwd())
    around = [folder / ".git" for folder in [here.absolute(), *here.absolute().parents]]
    checkout = next((folder for folder in around if folder.is_dir()), None)
    if checkout:
        yield checkout / "config"
    yield home / ".gitconfig"
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"


def _git_name(path: Path) -> str:
    """The user's name in a file of git's settings; empty where it has none."""
    try:
        with path.open("rb") as stream:
            text = stream.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    section, name = "", ""
    for line in text.splitlines():
        if head := _SECTION.match(line):
            section = "" if head[2] else head[1].lower()
        elif section == "user" and (found := _KEY.fullmatch(line)):
            value = _VALUE.match(found[1])
            name = "" if value is None else (value[1] or value[2] or "").strip()
    return name


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A user without a name, as in a container.
        return ""
