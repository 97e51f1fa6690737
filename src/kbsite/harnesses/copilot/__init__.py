"""GitHub's Copilot CLI: the event logs of its sessions."""

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
]  # fmt: skip
