"""Folders of runs: which they are, and what files of theirs are called."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from kbsite.model.finding import Finding, Severity
from kbsite.store.at_once import root
from kbsite.store.files import linked
from kbsite.store.folders import PARTIAL

RUN = "run.json"
METRICS = "metrics.json"
AUDIT = "audit.yaml"
MANIFEST = "manifest.json"
SOLUTION = "solution.py"
TRANSCRIPT = "transcript/"
SIDECARS = "files/"
SNAPSHOTS = "snapshots/"
FLOORS = "floors.json"
LOGS = ("check.log", "benchmark.log", "transcript/stderr.log")


def wrote_solution(names: Iterable[str]) -> bool:
    """Whether files of these names are of a run that has a solution, or had one once.

    Of one that its agent took away, the copies of its states tell.
    """
    return any(name == SOLUTION or name.startswith(SNAPSHOTS) for name in names)


def run_folders(runs: Path, still: Container[str] = frozenset()) -> Iterator[Path]:
    """Every folder below `runs` that is, or wants to be, a run directory, in order of path.

    None if `runs` is not there. Those that are `still` such folders are not looked into. One that
    cannot be listed, a board's too, is among them; OSError only where that is `runs` itself.
    """
    root(str(runs))
    waiting = _folders(runs, _names(runs))
    while waiting:
        folder = waiting.pop()
        if str(folder) in still:
            yield folder
            continue
        try:
            names = _names(folder)
        except OSError:
            yield folder  # whoever reads it tells of it; the others are read all the same
            continue
        if is_partial(folder) or not OWN.isdisjoint(names) or _is_left(names):
            yield folder
        else:
            waiting += _folders(folder, names)


def finished_folders(runs: Path) -> Iterator[Path]:
    """Those of `run_folders` that nobody writes any more; OSError as there."""
    return (folder for folder in run_folders(runs) if not is_partial(folder))


OWN = {RUN, MANIFEST, METRICS, AUDIT}
"""What a folder is a run's by."""


_TOLD = TRANSCRIPT.rstrip("/")
_LEFT = {SOLUTION, _TOLD, SIDECARS.rstrip("/"), SNAPSHOTS.rstrip("/"), "grades", "samples.jsonl",
         "prompt.txt", "order.json", "proxy.jsonl", "session.json", "sandbox.json",
         *LOGS}  # fmt: skip
"""Files and folders of a run, beside those that it is one by."""


def _is_left(names: Mapping[str, bool]) -> bool:
    """Whether parts of a run are all that a folder has, as where a copy of one was broken off."""
    return (SOLUTION in names or _TOLD in names) and names.keys() <= _LEFT


def are_lost(runs: Path, seen: Iterable[str]) -> bool:
    """Whether nothing is in the folder where runs were `seen`, by the paths of their files."""
    if runs.is_dir() and any(runs.iterdir()):
        return False
    return any(path.endswith(f"/{RUN}") for path in seen)


def vanished(seen: Iterable[str], runs: Path, folders: Iterable[Path]) -> set[Path]:
    """The folders below `runs` in which files of runs were `seen`, and that are none of `folders`.

    Those within one of these are among them.
    """
    home, own = f"{runs.absolute()}/", tuple(f"/{name}" for name in OWN)
    there = {path.rpartition("/")[0] for path in seen if path.endswith(own)}
    others = there.difference(str(folder.absolute()) for folder in folders)
    return {Path(path) for path in others if path.startswith(home)}


def _names(folder: Path) -> dict[str, bool]:
    """What is in a folder, by name, with whether it is a folder itself and no link."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except (NotADirectoryError, FileNotFoundError):
        return {}


def _folders(folder: Path, names: Mapping[str, bool]) -> list[Path]:
    """The folders in a folder, the last one first; no hidden ones."""
    below = (name for name, is_folder in names.items() if is_folder and not name.startswith("."))
    # Paths are compared by their parts, of which these have but one that is not the same.
    return [folder / name for name in sorted(below, reverse=True)]


def linked_runs(runs: Path, folders: Iterable[Path]) -> Iterator[Finding]:
    """The links to folders where runs lie: what they lead to is no run here.

    `folders` are those that `run_folders` gives: nobody looks into them.
    """
    theirs = set(map(str, folders))
    waiting = [str(runs)]
    while waiting:
        # A folder that cannot be listed is told where its runs are looked for.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            shown = sorted((one for one in entries if one.name[0] != "."), key=lambda one: one.name)
            yield from (linked(Path(e.path)) for e in shown if e.is_symlink() and e.is_dir())
            below = (one.path for one in reversed(shown) if one.is_dir(follow_symlinks=False))
            waiting += [path for path in below if path not in theirs]


def spelled(run_id: str) -> str:
    """What the ids have in common that some file systems take for one: they know no capitals."""
    return run_id.casefold()


def told_twice(run_id: str, first: Path) -> str:
    """What is wrong with a run of which another one has the id; `first` is that one's folder."""
    but = "" if first.name == run_id else " but for capitals, which some file systems take for one"
    return f"the run in {first} has the same id{but}; remove one of them, or import it anew"


def is_run(folder: Path) -> bool:
    """Whether a folder is, or wants to be, a run directory."""
    # A folder that may not be listed has others in it that may be.
    return is_partial(folder) or any(os.path.lexists(folder / name) for name in OWN)


def is_partial(folder: Path) -> bool:
    """Whether a folder holds a run that is still written, or was never completed."""
    return folder.name.endswith(PARTIAL)


_UNFINISHED = (
    "not completed, and left out: it is still written, or was broken off; let a sweep or"
    " an import go on with it, or delete the folder if none does"
)


def unfinished(folder: Path) -> Finding:
    """What there is to say of a folder that holds no whole run yet: nothing is wrong with it."""
    return Finding(Severity.WARNING, str(folder), _UNFINISHED)
