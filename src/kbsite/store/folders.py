"""Folders that are made, of runs above all; standard library only, as bench makes them too."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kbsite.errors import MachineError, UsageError, of_machine
from kbsite.model.finding import one_line
from kbsite.whole import write_bytes

PARTIAL = ".partial"

BEGUN = ".begun"
"""How the hidden folder ends that becomes the one of a run: who is killed meanwhile leaves it."""

_OF_RUN = ("run.json", "manifest.json")
"""Files that each complete run has."""


def run_around(place: Path) -> Path | None:
    """The complete run that a place lies in, or is; None where there is none.

    A run is whole as it is: what comes into it later stands in no manifest.
    """
    here = place.resolve()
    for folder in (here, *here.parents):
        if all((folder / name).exists() for name in _OF_RUN):
            return folder
    return None


SHOWN = 8
"""Runs that are told where any of them could be meant."""


def any_of(named: str, runs: Sequence[Path]) -> UsageError:
    """What is wrong with a name by which any of several runs could be meant, and which they are."""
    lines = [f"  {one_line(str(run))}" for run in runs[:SHOWN]]
    if len(runs) > SHOWN:
        lines.append(f"  and {len(runs) - SHOWN} more")
    could = f"{one_line(named)}: could be any of {len(runs)} runs; say more:"
    return UsageError("\n".join([could, *lines]))


def refuse_blocked(folder: Path) -> None:
    """Raise UsageError where no folder can be: something else stands there, or above."""
    there = next(filter(os.path.lexists, (folder, *folder.parents)), folder)
    if os.path.lexists(there) and not there.is_dir():
        what = "a link that leads to no folder" if there.is_symlink() else "no folder"
        raise UsageError(f"{folder}: {there} is {what}; name another place, or move that away")


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it; UsageError or MachineError where that cannot be."""
    refuse_blocked(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = MachineError(f"{folder}: cannot be made: {error.strerror}")
        raise of_machine(error) or told from error


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
