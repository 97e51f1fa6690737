"""Runs made for tests of alarms."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kbsite.model.run import Run
from kbsite.model.status import EndReason

_BASE = Run(
    format=1, id="", board="b", problem="p", problem_hash=None, prompt_hash=None, harness="claude",
    harness_version=None, model="m", effort=None, hardware="h200", budget_seconds=None,
    started=None, ended=None, end_reason=EndReason.FINISHED,
)  # fmt: skip


def made_run(run_id: str, hour: int | None = None, **more: Any) -> Run:
    """A run that began at an hour of some day, or nobody knows when."""
    started = None if hour is None else datetime(2026, 11, 20, hour, tzinfo=UTC)
    return replace(_BASE, id=run_id, started=started, **more)
