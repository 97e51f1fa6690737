"""Names of runs and problems that are safe as names of folders and in addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from kbsite.errors import UsageError
from kbsite.model.run import Run
from kbsite.model.slugs import SLUG_RULE, id_of_run, is_slug, slug
from kbsite.store.folders import PARTIAL, make_folder, new_run_folder, refuse_blocked, run_around
from kbsite.store.parsing import InvalidFileError
from kbsite.store.records import json_record
from kbsite.store.run_folders import RUN, run_folders

NO_PROBLEM = (
    "is no id of a problem; use letters, digits, hyphens and dots, and no .partial at its end"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@=-]{0,199}")


def is_safe(name: str) -> bool:
    """Whether a name can be a folder's name: no path, nothing hidden, of bounded length."""
    return _NAME.fullmatch(name) is not None and not name.endswith((PARTIAL, "."))


def free_run_id(
    board: Path, started: datetime | None, harness: str, model: str, problem: str
) -> str:
    """The id of a run that neither the board's folder nor one of another board holds yet."""
    return _free_id(board, started, harness, model, problem, [""])


def begun_run(
    board: Path, started: datetime | None, harness: str, model: str, problem: str
) -> tuple[str, Path]:
    """A free id of a run, and its fresh folder: `<run-id>.partial`, until it is whole.

    Of several imports at once each has an id of its own; so has one after another was broken off.
    """
    make_folder(board)
    name = ""
    while True:
        before, name = name, _free_id(board, started, harness, model, problem, ["", PARTIAL])
        try:
            return name, new_run_folder(board, name)
        except UsageError:
            # Somebody else took it a moment ago; whoever finds it free still is told what is wrong.
            if name == before:
                raise


def _free_id(
    board: Path, started: datetime | None, harness: str, model: str, problem: str,
    ends: Sequence[str],
) -> str:  # fmt: skip
    """A run's id that no folder has, with none of some ends of its name."""
    if not is_safe(problem):
        raise UsageError(f"{problem!r} {NO_PROBLEM}")
    base = id_of_run(started, harness, model, problem)
    boards = board.resolve().parent

    def named(number: int) -> str:
        return base if number == 1 else f"{base}-{number}"

    def taken(number: int) -> bool:
        name = named(number)
        at_boards = (any(boards.glob(f"*/{name}{end}")) for end in ends)
        return os.path.lexists(board / name) or any(at_boards)

    name = named(_free(taken))
    if not is_safe(name):
        raise UsageError(f"{name!r} is too long for the name of a run; shorten the problem's id")
    return name


def _free(taken: Callable[[int], bool]) -> int:
    """The first number that is free, from 1; behind a gap maybe, for of thousands few are asked."""
    below, free = 0, 1
    while taken(free):
        below, free = free, 2 * free
    while free - below > 1:
        middle = (below + free) // 2
        if taken(middle):
            below = middle
        else:
            free = middle
    return free


def board_name(out: Path, board: str | None = None) -> str:
    """The board that runs below `out` belong to: the one asked for, or named like the folder.

    UsageError where no kbsite.yaml could name it, and within a run, which is whole as it is.
    """
    refuse_blocked(out)
    run = run_around(out)
    if run is not None:
        raise UsageError(f"{out}: {run} is a run; name the folder of a board, as runs/mine")
    name = board or out.resolve().name
    if not is_slug(name):
        cure = f"call the folder {slug(name)}, say"
        raise UsageError(f"{name!r} is no id of a board: {SLUG_RULE}; {cure}")
    return name


def imported(out: Path) -> dict[str, Path]:
    """The runs below a folder by their origin, which names what each was imported from."""
    found = {}
    for folder in run_folders(out):
        try:
            told = json_record(folder / RUN, Run).origin
        except InvalidFileError:
            continue  # no run that could be one of these: it is named when the site is built
        if told is not None:
            found[told] = folder
    return found
