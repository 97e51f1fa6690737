"""opencode: session exports, what its server sends, and what `run --format json` prints."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import spread
from kbsite.harnesses.opencode import export, run, server
from kbsite.model.harness import Harness

HARNESS = Harness("opencode", "opencode", maker="Anomaly", keeps_folder=False)

FORMATS: list[Format] = [
    Format(
        id="opencode-export",
        title="session export",
        globs=("export/*", "export.json"),
        parse=export.parse,
        recognises=export.recognises,
        stored_as="export",
        read=spread,
    ),
    Format(
        id="opencode-server",
        title="events of the server",
        globs=("events/*", "events.json"),
        parse=server.parse,
        recognises=server.recognises,
        stored_as="events",
    ),
    Format(
        id="opencode-run",
        title="run --format json",
        globs=("stdout.jsonl", "stream/*"),
        parse=run.parse,
        recognises=run.recognises,
        stored_as="stream",
    ),
]
