"""What a path given to `kbsite check` is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kbsite.errors import UsageError
from kbsite.store.problems import PROBLEM, problem_folders
from kbsite.store.run_folders import FLOORS, is_run, run_folders
from kbsite.store.settings import CONFIG, Settings


class Kind(Enum):
    """What can be checked."""

    SITE = "site"
    RUN = "run"
    RUNS = "runs"
    PROBLEM = "problem"
    PROBLEMS = "problems"
    HARDWARE = "hardware"


@dataclass(frozen=True, slots=True)
class Target:
    """A file or folder, and what it is."""

    kind: Kind
    path: Path


def target(path: Path, settings: Settings | None) -> Target:
    """What is to be checked at a path; UsageError if it is not there, or nothing that we know."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow a link)
    if not os.path.lexists(whole):
        raise UsageError(f"{path}: no such file or folder")
    kind = _kind_of_folder(whole, settings) if whole.is_dir() else _kind_of_file(whole)
    if kind is Kind.SITE and whole.is_dir():
        whole /= CONFIG
    if kind is not None:
        return Target(kind, _near(whole.parent if whole.name == FLOORS else whole))
    for folder in whole.parents:
        if is_run(folder):
            return Target(Kind.RUN, _near(folder))
        if (folder / PROBLEM).exists():
            return Target(Kind.PROBLEM, _near(folder))
    if _is_hardware(whole):
        return Target(Kind.HARDWARE, _near(whole))
    raise UsageError(f"{path}: neither a run, a problem, a folder of these, nor a {CONFIG}")


def _kind_of_file(path: Path) -> Kind | None:
    return {CONFIG: Kind.SITE, FLOORS: Kind.RUNS}.get(path.name)


def _kind_of_folder(folder: Path, settings: Settings | None) -> Kind | None:
    if is_run(folder):
        return Kind.RUN
    if (folder / PROBLEM).exists():
        return Kind.PROBLEM
    if settings is not None:
        named = {settings.runs.absolute(): Kind.RUNS, settings.problems.absolute(): Kind.PROBLEMS}
        if folder in named:
            return named[folder]
    if (folder / CONFIG).is_file():
        return Kind.SITE  # what was built lies there too, and has runs within it
    if any((below / PROBLEM).exists() for below in problem_folders(folder)):
        return Kind.PROBLEMS
    inside = any(is_run(above) for above in folder.parents)
    if not inside and ((folder / FLOORS).exists() or next(run_folders(folder), None)):
        return Kind.RUNS
    return None


def _is_hardware(path: Path) -> bool:
    """Whether a path is a folder called `hardware` with files of hardware, or one of these."""
    if path.is_dir():
        return path.name == "hardware" and next(path.glob("*.yaml"), None) is not None
    return path.parent.name == "hardware" and path.suffix == ".yaml"


def _near(path: Path) -> Path:
    """The path as seen from the folder that the command is given in, if it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path != here and path.is_relative_to(here) else path
