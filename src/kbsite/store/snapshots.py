"""Snapshots of solution.py that the runner took: snapshots/<time>.py of a run directory.

The time is UTC in the name, as 20260102T030405Z.py or 20260102T030405.250Z.py. Other names are
read too; they tell no time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kbsite.model.snapshot import Recorded
from kbsite.store.files import Stored
from kbsite.store.run_folders import SNAPSHOTS, SOLUTION
from kbsite.store.runs import StoredRun

LONGEST = 500_000
"""Bytes of a copy from which it is not read: no solution that a person reads is larger."""

MOST = 1000
"""Copies that are read; of more, evenly spread ones."""

_TIME = re.compile(r"(\d{8})[T_](\d{6})(?:\.(\d{1,6}))?Z?\.py")


def recorded(stored: StoredRun) -> tuple[list[Recorded], list[str]]:
    """The copies under snapshots/ in order of name, and what was not read, with the reason."""
    files = [file for file in stored.files if file.name.startswith(SNAPSHOTS)]
    left_out = []
    if len(files) > MOST:
        kept = [files[number * (len(files) - 1) // (MOST - 1)] for number in range(MOST)]
        left_out.append(f"{SNAPSHOTS}: {len(files) - MOST} of {len(files)} copies, too many")
        files = kept
    found = []
    for file in files:
        if file.size > LONGEST:
            left_out.append(f"{file.name}: {file.size} bytes, too long")
        else:
            found.append(Recorded(file.name, _time(file.name), _text(file)))
    return found, left_out


def final(stored: StoredRun) -> Recorded | None:
    """solution.py as it was graded; None where there is none, or none that a person reads."""
    file = stored.file(SOLUTION)
    if file is None or file.size > LONGEST:
        return None
    return Recorded(SOLUTION, stored.run.ended, _text(file))


def _text(file: Stored) -> str:
    return file.read().decode("utf-8", "surrogateescape")


def _time(name: str) -> datetime | None:
    told = _TIME.fullmatch(name.rpartition("/")[2])
    if told is None:
        return None
    day, clock, fraction = told.groups()
    try:
        moment = datetime.strptime(f"{day}{clock}{(fraction or '0'):0<6}", "%Y%m%d%H%M%S%f")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC)
