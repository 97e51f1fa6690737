"""What lies on disk of a board: complete runs, what was broken off, and which cells they are of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sealed import METRICS, SOLUTION
from bench.sweeps.cells import Cell
from bench.sweeps.sheet import Sweep
from bench.sweeps.tries import ORDER, read_bounded
from kbsite.errors import InputError
from kbsite.model.finding import one_line
from kbsite.model.run import Contender, Run
from kbsite.model.status import EndReason, Status
from kbsite.store.files import digest
from kbsite.store.folders import BEGUN, PARTIAL
from kbsite.store.manifests import Manifest
from kbsite.store.parsing import InvalidFileError
from kbsite.store.records import json_record
from kbsite.store.run_folders import MANIFEST, RUN, SNAPSHOTS, wrote_solution


@dataclass(frozen=True, kw_only=True)
class OnShelf:
    """A complete run."""

    folder: Path
    run: Run
    cell: str | None
    """Key of the cell that ordered it; None where no sweep did, or nobody can say."""

    @property
    def name(self) -> str:
        """The folder's, which is the run's id."""
        return self.folder.name

    @property
    def counts(self) -> bool:
        """Whether it is the contender's own doing, and an attempt of the cell is thereby made."""
        return not self.run.is_floor and spoilt(self.run, self.folder) is None

    @property
    def graded(self) -> bool:
        """Whether it has a grade that its manifest knows; a grade that was broken off is none."""
        return grade_told(self.folder) is not None


def grade_told(folder: Path) -> str | None:
    """What a run's grade says of it, in a line; None without one that its manifest knows.

    A grade that was broken off is none.
    """
    path = folder / METRICS
    try:
        told = read_bounded(path)
        sealed = json_record(folder / MANIFEST, Manifest, any_text=True).files
        same = sealed.get(METRICS) == digest(path)
    except (InputError, InvalidFileError, OSError):
        return None
    said = (told.get("status"), told.get("detail"))
    if not same or said[0] in (Status.UNGRADED.value, Status.INFRA.value):
        return None
    return one_line(": ".join(one for one in said if isinstance(one, str)))


def spoilt(run: Run, folder: Path) -> str | None:
    """Why a run says nothing of its contender, and may be repeated; None if it does say something.

    Decided by what lies on disk alone, so that whoever comes later decides the same.
    """
    if run.end_reason is EndReason.SIGNAL:
        return "it was stopped from outside"
    there = [*folder.glob(SOLUTION), *(folder / SNAPSHOTS).glob("*.py")]
    files = (path.relative_to(folder).as_posix() for path in there if path.is_file())
    return run.broken_off(solution=wrote_solution(files))


class Shelf:
    """The folder of a board, looked at again and again; each run is read once."""

    def __init__(self, board: Path) -> None:
        self._board = board
        self._read: dict[str, OnShelf] = {}
        self._unread: dict[str, str] = {}
        self._partials: dict[str, str] = {}

    @property
    def board(self) -> Path:
        """The folder."""
        return self._board

    @property
    def unread(self) -> Mapping[str, str]:
        """Why some runs could not be read, by the names of their folders."""
        return self._unread

    def look(self) -> tuple[OnShelf, ...]:
        """The complete runs that lie there now, by name."""
        names = [path.name for path in self._folders() if not path.name.endswith(PARTIAL)]
        for gone in set(self._read) - set(names):
            del self._read[gone]
        self._unread = {}
        for name in names:
            if name not in self._read and (self._board / name / MANIFEST).is_file():
                self._add(name)
        return tuple(self._read[name] for name in sorted(self._read))

    def _add(self, name: str) -> None:
        folder = self._board / name
        try:
            run = json_record(folder / RUN, Run)
        except InvalidFileError as error:
            self._unread[name] = str(error)
        else:
            self._read[name] = OnShelf(folder=folder, run=run, cell=_cell(folder))

    def made(self, key: str) -> bool:
        """Whether a complete run that counts was ordered by a cell, as the disk says now."""
        for path in self._folders():
            whole = not path.name.endswith(PARTIAL) and (path / MANIFEST).is_file()
            if whole and _cell(path) == key:
                self._add(path.name)
                if path.name in self._read and self._read[path.name].counts:
                    return True
        return False

    def partials(self, key: str) -> list[Path]:
        """The runs of a cell that are being written, or were broken off."""
        there = [path for path in self._folders() if path.name.endswith(PARTIAL)]
        for path in there:
            # What has no order that can be read now is asked again.
            if path.name not in self._partials and (cell := _cell(path)) is not None:
                self._partials[path.name] = cell
        return [path for path in there if self._partials.get(path.name) == key]

    def abandoned(self, before: float) -> list[Path]:
        """Folders in which no run was begun, untouched since a time: who made one died then.

        They are hidden, with an order at most; those of an earlier bench are empty.
        """
        partials = [path for path in self._folders() if path.name.endswith(PARTIAL)]
        begun = sorted(self._board.glob(f".*{BEGUN}"))
        return [
            *(path for path in partials if _untouched(path, before, empty=True)),
            *(path for path in begun if _untouched(path, before)),
        ]

    def _folders(self) -> Iterator[Path]:
        try:
            with os.scandir(self._board) as entries:
                held = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        for entry in held:
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


def _untouched(folder: Path, before: float, *, empty: bool = False) -> bool:
    """Whether nothing changed in a folder since a time, and nothing is in one that has to be empty.

    One that is gone meanwhile was touched: who made it gave it its name.
    """
    try:
        return folder.stat().st_mtime < before and not (empty and any(folder.iterdir()))
    except FileNotFoundError:
        return False


def _cell(folder: Path) -> str | None:
    try:
        told = read_bounded(folder / ORDER).get("cell")
    except InputError:
        return None
    return told if isinstance(told, str) else None


def set_aside(folder: Path, aside: Path) -> Path:
    """Move a folder of a run out of its board, whole; where it lies then."""
    aside.mkdir(parents=True, exist_ok=True)
    number, target = 1, aside / folder.name
    while target.exists():
        number += 1
        target = aside / f"{folder.name}_{number}"
    folder.rename(target)
    return target


@dataclass(frozen=True, kw_only=True)
class Matched:
    """Which runs on disk are which attempts."""

    runs: Mapping[str, OnShelf]
    """By the keys of the cells that they make."""
    surplus: tuple[OnShelf, ...]
    """Runs that would count, had the sweep more attempts."""


def match(sweep: Sweep, cells: Sequence[Cell], there: Iterable[OnShelf]) -> Matched:
    """Find the cells that runs on disk make: their own first, then any of the same identity.

    Runs of the same contender on the same problem are equals, whoever ordered them.
    """
    counting = sorted((one for one in there if one.counts), key=lambda one: one.run.order)
    found = _own(cells, counting)
    taken = {one.name for one in found.values()}
    usual = {cell.contender.row: cell.contender.provider for cell in cells}
    free: dict[object, list[Cell]] = {_of_cell(sweep, cell): [] for cell in cells}
    for cell in cells:
        if cell.key not in found:
            free[_of_cell(sweep, cell)].append(cell)
    surplus = []
    for one in counting:
        same = None if one.name in taken else free.get(_of_run(one.run, usual))
        if same:
            found[same.pop(0).key] = one
        elif same is not None:
            surplus.append(one)
    return Matched(runs=found, surplus=tuple(surplus))


def _own(cells: Sequence[Cell], counting: Sequence[OnShelf]) -> dict[str, OnShelf]:
    """The first run that each cell ordered itself."""
    wanted = {cell.key for cell in cells}
    found: dict[str, OnShelf] = {}
    for one in counting:
        if one.cell in wanted:
            found.setdefault(one.cell, one)
    return found


def _of_cell(sweep: Sweep, cell: Cell) -> object:
    return (
        cell.contender.row, cell.contender.provider, cell.problem, cell.problem_hash,
        sweep.hardware, sweep.budget_seconds,
    )  # fmt: skip


def _of_run(run: Run, usual: Mapping[Contender, str]) -> object:
    """What a run is; where it does not name its provider, that of its contender in the sweep."""
    provider = run.provider or usual.get(run.contender)
    return (
        run.contender, provider, run.problem, run.problem_hash, run.hardware, run.budget_seconds
    )  # fmt: skip
