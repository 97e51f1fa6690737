"""Folders of runs that are being written; standard library only, as bench writes them too."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kbsite.errors import UsageError
from kbsite.whole import write_bytes

PARTIAL = ".partial"

BEGUN = ".begun"
"""How the hidden folder ends that becomes the one of a run: who is killed meanwhile leaves it."""


def new_run_folder(board: Path, run_id: str, holds: Mapping[str, bytes] | None = None) -> Path:
    """A fresh `<run-id>.partial` below a board's folder; UsageError if the run is there.

    What an earlier one left unfinished is UsageError too: somebody may still write it. The files
    that it `holds`, by name, are in it when it appears: nobody finds one that does not say what it
    is, whenever its maker was killed.
    """
    if not run_id or Path(run_id).name != run_id or run_id.startswith("."):
        raise UsageError(f"{run_id!r} cannot be a run's id, for it names its folder")
    if (board / run_id).exists():
        message = f"{board / run_id}: the run is already there; delete it or write elsewhere"
        raise UsageError(message)
    partial = board / f"{run_id}{PARTIAL}"
    board.mkdir(parents=True, exist_ok=True)
    try:
        if holds:
            _appear(partial, holds)
        else:
            partial.mkdir()
    except FileExistsError as error:
        message = f"{partial}: the run is being written, or was broken off; delete it to start anew"
        raise UsageError(message) from error
    return partial


def _appear(partial: Path, holds: Mapping[str, bytes]) -> None:
    """Make a folder that holds some files from the first; FileExistsError if it is there."""
    if partial.exists():
        # An empty one would be replaced below; one that holds something is not.
        raise FileExistsError(partial)
    begun = partial.with_name(f".{secrets.token_hex(8)}{BEGUN}")
    begun.mkdir()
    try:
        for name, data in holds.items():
            write_bytes(begun / name, data, lasting=True)
        begun.rename(partial)
    except BaseException as error:
        shutil.rmtree(begun, ignore_errors=True)
        if isinstance(error, OSError) and partial.exists():
            raise FileExistsError(partial) from error
        raise


@contextmanager
def filled(partial: Path) -> Iterator[None]:
    """While this holds a run's folder is filled; what is not completed by then is removed.

    Nobody would go on with it, and who makes the run anew would only meet it.
    """
    try:
        yield
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sync(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
