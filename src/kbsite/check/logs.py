"""Checks of transcripts: rows that kbsite cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.harnesses import BY_ID
from kbsite.model.event import Malformed, Source, Unknown
from kbsite.model.finding import Finding, Severity
from kbsite.store.runs import TRANSCRIPT, StoredRun
from kbsite.transcripts import events, shown

NAMED = 3
"""How many rows of a kind are named; the others are counted."""


def transcript_findings(stored: StoredRun) -> Iterator[Finding]:
    """What cannot be read of a run's transcript; warnings, for the site shows it as it is."""
    held = stored.transcripts
    folder = str(stored.folder / TRANSCRIPT)
    chosen = shown(stored.run.harness, held)
    if chosen is None:
        module = BY_ID.get(stored.run.harness)
        if module is not None and module.FORMATS and any(f.size for f in held):
            message = f"holds no file that {module.HARNESS.title} is known to write"
            yield Finding(Severity.WARNING, folder, message)
        return
    rows: dict[str, list[tuple[Source, str]]] = {"malformed": [], "unknown": []}
    counts = dict.fromkeys(rows, 0)
    try:
        for event in events(*chosen):
            match event:
                case Malformed():
                    kind, what = "malformed", event.reason
                case Unknown():
                    kind, what = "unknown", f"unknown event {event.type!r}"
                case _:
                    continue
            counts[kind] += 1
            if len(rows[kind]) < NAMED:
                rows[kind].append((event.source, what))
    except OSError as error:
        yield Finding(Severity.ERROR, folder, f"cannot be read: {error.strerror}")
    for kind, named in rows.items():
        for source, what in named:
            path = str(stored.folder / TRANSCRIPT / source.file)
            yield Finding(Severity.WARNING, path, what, source.line)
        if counts[kind] > len(named):
            message = (
                f"{counts[kind]} {kind} rows in all, {counts[kind] - len(named)} not named here"
            )
            yield Finding(Severity.WARNING, folder, message)
