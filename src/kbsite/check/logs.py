"""Checks of transcripts: rows that kbsite cannot read, and the tokens that they tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbsite.check.used import transcript_usage_findings
from kbsite.fold.tokens import Ledger
from kbsite.harnesses import module_of
from kbsite.harnesses.form import Format
from kbsite.model.event import Malformed, Source, Unknown
from kbsite.model.finding import Finding, Severity
from kbsite.store.files import Stored
from kbsite.store.run_folders import TRANSCRIPT
from kbsite.store.runs import StoredRun
from kbsite.transcripts import events, shown

NAMED = 3
"""How many rows of a kind are named; the others are counted."""


def transcript_findings(stored: StoredRun) -> Iterator[Finding]:
    """What cannot be read of a run's transcript; warnings, for the site shows it as it is."""
    chosen = shown(stored.run.harness, stored.transcripts)
    if chosen is None:
        yield from _nothing_known(stored)
    else:
        yield from _odd_rows(stored, *chosen)


def _nothing_known(stored: StoredRun) -> Iterator[Finding]:
    module = module_of(stored.run.harness)
    if module is not None and module.FORMATS and any(f.size for f in stored.transcripts):
        message = f"holds no file that {module.HARNESS.title} is known to write"
        yield Finding(Severity.WARNING, str(stored.folder / TRANSCRIPT), message)


def _odd_rows(stored: StoredRun, form: Format, held: Sequence[Stored]) -> Iterator[Finding]:
    folder = str(stored.folder / TRANSCRIPT)
    rows: dict[str, list[tuple[Source, str]]] = {"malformed": [], "unknown": []}
    counts = dict.fromkeys(rows, 0)
    ledger = Ledger()
    try:
        for event in events(form, held):
            match event:
                case Malformed():
                    kind, what = "malformed", event.reason
                case Unknown():
                    kind, what = "unknown", f"unknown event {event.type!r}"
                case _:
                    ledger.take(event)
                    continue
            counts[kind] += 1
            if len(rows[kind]) < NAMED:
                rows[kind].append((event.source, what))
    except OSError as error:
        yield Finding(Severity.ERROR, folder, f"cannot be read: {error.strerror}")
    else:
        yield from transcript_usage_findings(stored, ledger.total)
    for kind, named in rows.items():
        for source, what in named:
            path = str(stored.folder / TRANSCRIPT / source.file)
            yield Finding(Severity.WARNING, path, what, source.line)
        if counts[kind] > len(named):
            message = (
                f"{counts[kind]} {kind} rows in all, {counts[kind] - len(named)} not named here"
            )
            yield Finding(Severity.WARNING, folder, message)
