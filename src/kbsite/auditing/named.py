"""Runs as a person names them on a command line."""

from __future__ import annotations

from pathlib import Path

from kbsite.errors import UsageError
from kbsite.model.finding import one_line
from kbsite.store.folders import any_of
from kbsite.store.run_folders import finished_folders, is_run


def named_run(named: str, runs: Path) -> Path:
    """The folder of the run that is named: by its id, by a part that no other id has, or as folder.

    UsageError where that is no run, or could be several.
    """
    folders = list(finished_folders(runs))
    exact = [folder for folder in folders if folder.name == named]
    if exact:
        return _only(exact, named)
    here = Path(named)
    if here.is_dir() and is_run(here):
        return _as_listed(here, folders)
    parts = [folder for folder in folders if named and named in folder.name]
    if parts:
        return _only(parts, named)
    told = one_line(named)
    raise UsageError(f"{told}: no run in {runs} has this in its id, and it is no run's folder")


def _as_listed(here: Path, folders: list[Path]) -> Path:
    """A folder as the runs folder lists it; as it was named, where it lies elsewhere."""
    return next((folder for folder in folders if folder.samefile(here)), here)


def _only(found: list[Path], named: str) -> Path:
    if len(found) > 1:
        raise any_of(named, found)
    return found[0]
