"""A captured session of a CLI as a run directory.

A capture is a folder with stdout.jsonl, stderr.txt, meta.json (command line, environment, exit
status, signal), home/ (what the CLI wrote there) and work/ (the workspace afterwards).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kbsite.errors import UsageError
from kbsite.importers.run_ids import begun_run, board_name
from kbsite.importers.transcript import (
    copy,
    cost_source,
    told_model,
    told_version,
    usage_source,
)
from kbsite.model.run import FORMAT, Run
from kbsite.model.status import EndReason
from kbsite.model.transcript import Transcript
from kbsite.store.files import Refused, Stored, contents
from kbsite.store.manifests import complete
from kbsite.store.records import json_record
from kbsite.store.run_folders import SOLUTION, TRANSCRIPT
from kbsite.transcripts import transcript

META = "meta.json"
ORIGIN = "imported from a captured session"

_HARNESSES = {"kimicode": "kimi"}
"""Where a capture's name of a CLI is not the harness's id."""
_PLACES = {"stdout.jsonl": "transcript/stdout.jsonl", "stderr.txt": "transcript/stderr.log",
           f"work/{SOLUTION}": SOLUTION}  # fmt: skip
_SQLITE = b"SQLite format 3\0"
_PRIVATE = (
    (re.compile(r"home/(.*/)?\.claude/sessions/.*\.key"), "a key"),
    (re.compile(r"home/(.*/)?shell-snapshots/.*"), "a snapshot of the shell"),
    (re.compile(r"home/(.*/)?(\.credentials\.json|auth\.json|credentials(/.*)?)"), "credentials"),
    (re.compile(r"home/(.*/)?device_id"), "names a machine"),
    (re.compile(r"home/(.*/)?[^/]*\.(db|sqlite3?)(-wal|-shm)?"), "a database"),
    (re.compile(r"work/(.*/)?\.git/.*"), "history of the workspace"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a capture does not tell of its run."""

    model: str | None = None
    problem: str = "unknown"
    hardware: str | None = None
    harness_version: str | None = None
    """Used where the transcript does not tell it."""
    variant: str | None = None
    problem_hash: str | None = None
    """Only where the prompt is known to be the problem's."""
    prompt_hash: str | None = None
    notes: tuple[str, ...] = ()
    board: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A run that was made of a capture, and what of the capture is not in it."""

    folder: Path
    left_out: tuple[Refused, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meta:
    cli: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    rc: int | None
    wall_s: float | None = None
    signal: str | None = None


def import_capture(folder: Path, out: Path, facts: Facts | None = None) -> Imported:
    """The run below `out` that was made of a captured session, and what it leaves out."""
    facts = facts or Facts()
    meta = json_record(folder / META, _Meta)
    harness = _HARNESSES.get(meta.cli, meta.cli)
    board = board_name(out, facts.board)
    kept, left_out = _sorted(folder)
    shown = transcript(harness, _transcript(kept))
    if shown is None:
        raise UsageError(f"{folder}: no transcript of {harness!r} to show in it")
    model = facts.model or told_model(shown)
    run_id, partial = begun_run(out, shown.first, harness, model, facts.problem)
    for file in kept:
        copy(file.path, partial / file.name)
    run = replace(_run(meta, shown, facts), id=run_id, board=board, harness=harness, model=model)
    return Imported(complete(partial, run, None), tuple(left_out))


def _run(meta: _Meta, shown: Transcript, facts: Facts) -> Run:
    return Run(
        format=FORMAT,
        id="",
        board="",
        problem=facts.problem,
        problem_hash=facts.problem_hash,
        prompt_hash=facts.prompt_hash,
        harness="",
        harness_version=told_version(shown) or facts.harness_version,
        model="",
        effort=None,
        variant=facts.variant,
        command=meta.argv,
        environment=tuple(sorted(meta.env)),
        hardware=facts.hardware,
        budget_seconds=None,
        started=shown.first,
        ended=shown.last,
        seconds=meta.wall_s,
        exit_code=meta.rc if meta.rc is not None and meta.rc >= 0 else None,
        signal=meta.signal,
        end_reason=_end(meta, shown),
        usage=shown.usage,
        usage_source=usage_source(shown),
        cost_usd=shown.cost_usd,
        cost_source=cost_source(shown),
        origin=ORIGIN,
        notes=facts.notes,
    )


def _end(meta: _Meta, shown: Transcript) -> EndReason:
    if meta.signal is not None or (meta.rc or 0) < 0:
        return EndReason.SIGNAL
    failed = shown.finish is not None and shown.finish.ok is False
    if meta.rc or failed:
        return EndReason.ERROR
    return EndReason.UNKNOWN if meta.rc is None else EndReason.FINISHED


def _transcript(kept: Sequence[Stored]) -> list[Stored]:
    return [
        replace(file, name=file.name.removeprefix(TRANSCRIPT))
        for file in kept
        if file.name.startswith(TRANSCRIPT)
    ]


def _sorted(folder: Path) -> tuple[list[Stored], list[Refused]]:
    """The files of a capture under the names that they have in a run, and those left out."""
    files, left_out = contents(folder)
    kept = []
    for file in files:
        name = _place(file.name)
        reason = "not of the run" if name is None else private(file)
        if name is None or reason:
            left_out.append(Refused(file.name, reason or ""))
        else:
            kept.append(replace(file, name=name))
    told = [item for item in left_out if item.name != META]
    return sorted(kept, key=lambda f: f.name), sorted(told, key=lambda r: r.name)


def _place(name: str) -> str | None:
    if name in _PLACES:
        return _PLACES[name]
    if name.startswith(("home/", "export/")):
        return TRANSCRIPT + name
    if name.startswith("work/"):
        return "files/" + name.removeprefix("work/")
    return None


def private(file: Stored) -> str | None:
    """Why a file must not be published; None if it may be."""
    for pattern, reason in _PRIVATE:
        if pattern.fullmatch(file.name):
            return reason
    with file.stream() as stream:
        return "a database" if stream.read(len(_SQLITE)) == _SQLITE else None
