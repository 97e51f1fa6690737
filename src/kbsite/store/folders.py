"""Folders of runs that are being written; standard library only, as bench writes them too."""

from __future__ import annotations

import os
from pathlib import Path

from kbsite.errors import UsageError

PARTIAL = ".partial"


def new_run_folder(board: Path, run_id: str) -> Path:
    """A fresh `<run-id>.partial` below a board's folder; UsageError if the run is there.

    What an earlier one left unfinished is UsageError too: somebody may still write it.
    """
    if not run_id or Path(run_id).name != run_id or run_id.startswith("."):
        raise UsageError(f"{run_id!r} cannot be a run's id, for it names its folder")
    if (board / run_id).exists():
        message = f"{board / run_id}: the run is already there; delete it or write elsewhere"
        raise UsageError(message)
    partial = board / f"{run_id}{PARTIAL}"
    board.mkdir(parents=True, exist_ok=True)
    try:
        partial.mkdir()
    except FileExistsError as error:
        message = f"{partial}: the run is being written, or was broken off; delete it to start anew"
        raise UsageError(message) from error
    return partial


def sync(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
