"""Checks of floors.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kbsite.check.known import Known, runs_in
from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.floor import Floor
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import FLOORS
from kbsite.store.runs import as_findings, read_floors


def floors_findings(board: Path, there: Known) -> Iterator[Finding]:
    """What is wrong with the floors of a board's folder."""
    try:
        floors = read_floors(board)
    except InvalidFileError as error:
        yield from as_findings(error)
        return
    remarks = Remarks(board / FLOORS)
    runs = [folder.name for folder in runs_in(board)] if floors else []
    seen: dict[tuple[str, str, str | None], int] = {}
    for number, floor in enumerate(floors):
        key = f"floors[{number}]"
        first = seen.setdefault((floor.kind.value, floor.problem, floor.hardware), number)
        if first != number:
            remarks.error(key, f"the same kernel, problem and hardware as floors[{first}]")
        _figures(remarks, key, floor)
        _problem(remarks, key, floor, there, runs)
    yield from remarks.findings()


def _figures(remarks: Remarks, key: str, floor: Floor) -> None:
    for name in ("peak_fraction", "ms"):
        value = getattr(floor, name)
        if value is not None and value <= 0:
            remarks.error(f"{key}.{name}", f"expected more than 0, got {value}")
    if floor.peak_fraction is not None and floor.peak_fraction > 1:
        remarks.warn(f"{key}.peak_fraction", f"{floor.peak_fraction} is above the ceiling")


def _problem(remarks: Remarks, key: str, floor: Floor, there: Known, runs: Sequence[str]) -> None:
    if not is_slug(floor.problem):
        remarks.error(f"{key}.problem", f"{SLUG_RULE}, got {floor.problem!r}")
    elif there.problems is not None:
        present = there.problems.get(floor.problem)
        if present is None and not any(name.endswith(f"_{floor.problem}") for name in runs):
            remarks.warn(f"{key}.problem", f"no problem is called {floor.problem!r}")
        elif present is not None and floor.problem_hash not in (None, present):
            message = "measured on another version of the problem than the present one"
            remarks.warn(f"{key}.problem_hash", message)
