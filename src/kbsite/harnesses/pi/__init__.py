"""pi: its session logs, and those of programs that grew out of it."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.pi import session
from kbsite.model.harness import Harness

HARNESS = Harness("pi", "pi", maker="Mario Zechner")

FORMATS: list[Format] = [
    Format(
        id="pi-session",
        title="session log",
        globs=("home/.pi/agent/sessions/**/*.jsonl", "session/**/*"),
        parse=session.parse,
        recognises=session.recognises,
        stored_as="session",
    ),
]
