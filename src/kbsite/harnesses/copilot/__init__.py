"""GitHub's Copilot CLI: the event logs of its sessions, and the events that it prints."""

from __future__ import annotations

from kbsite.harnesses.copilot import session
from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("copilot", "Copilot CLI", maker="GitHub")

FORMATS: list[Format] = [
    Format(
        id="copilot-session",
        title="event log",
        globs=("home/.copilot/session-state/*/events.jsonl", "home/.copilot/session-state/*.jsonl",
               "session/**/*"),
        parse=session.parse,
        recognises=session.recognises,
        stored_as="session",
    ),
    Format(
        id="copilot-stream",
        title="events on stdout",
        globs=("stdout.jsonl", "stream/*"),
        parse=session.parse,
        recognises=session.recognises_printed,
        stored_as="stream",
    ),
]  # fmt: skip
