"""pi: its session logs and what it prints, and those of programs that grew out of it."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.pi import session, stream
from kbsite.model.harness import Harness

HARNESS = Harness("pi", "pi", maker="Mario Zechner", keeps_folder=False)

FORMATS: list[Format] = [
    Format(
        id="pi-session",
        title="session log",
        globs=("home/.pi/agent/sessions/**/*.jsonl", "session/**/*"),
        parse=session.parse,
        recognises=session.recognises,
        stored_as="session",
    ),
    Format(
        id="pi-stream",
        title="events on stdout",
        globs=("stdout.jsonl", "stream/*"),
        parse=stream.parse,
        recognises=stream.recognises,
        stored_as="stream",
    ),
]
