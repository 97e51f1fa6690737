"""Factory's droid: its session logs, with the settings file beside each."""

from __future__ import annotations

from kbsite.harnesses.droid import session
from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("droid", "droid", maker="Factory")

FORMATS: list[Format] = [
    Format(
        id="droid-session",
        title="session log",
        globs=("home/.factory/sessions/**/*.jsonl", "home/.factory/sessions/**/*.settings.json",
               "session/**/*"),
        parse=session.parse,
        recognises=session.recognises,
        stored_as="session",
    ),
]  # fmt: skip
