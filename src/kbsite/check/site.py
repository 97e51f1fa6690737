"""Checks of kbsite.yaml and of everything that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from math import inf
from pathlib import Path, PurePosixPath

from kbsite.check.known import Known, known, runs_in
from kbsite.check.leaks import leak_remarks
from kbsite.check.problems import problems_findings
from kbsite.check.remarks import Remarks
from kbsite.check.runs import runs_findings
from kbsite.check.whole import CPU
from kbsite.engines import ENGINES
from kbsite.errors import InputError
from kbsite.model.config import SHARE, Allowed, BoardConfig
from kbsite.model.finding import Finding, nearest
from kbsite.model.run import Run
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.reading import is_reserved, lookout_of, read
from kbsite.redaction.titles import KNOWN
from kbsite.store.records import InvalidFileError, json_record
from kbsite.store.run_folders import RUN
from kbsite.store.runs import read_floors
from kbsite.store.settings import Settings
from kbsite.unmet import left_out, unread

_PLANNED = "assets"
"""A first part of addresses that the site will have for itself."""


def site_findings(settings: Settings) -> Iterator[Finding]:
    """What is wrong with a site's kbsite.yaml, its problems and its runs."""
    there = known(settings)
    folders = _run_folders(settings)
    yield from _config_remarks(settings, there, folders)
    yield from leak_remarks(settings, there)
    yield from _coverage(settings)
    yield from problems_findings(settings.problems)
    if settings.runs.is_dir():
        # Runs of no board that kbsite.yaml names are shown, too: on one called like their folder.
        boards = [folder for held in folders for folder in held]
        yield from runs_findings(settings.runs, there, boards)


def _coverage(settings: Settings) -> Iterator[Finding]:
    """Which boards have not all audits that are due; nothing where boards cannot be made."""
    try:
        site = read(settings, lookout_of(settings))
    except InputError:
        return  # told where its cause is checked
    yield from unread(site, settings.path)
    yield from left_out(site, settings)


def _run_folders(settings: Settings) -> list[list[Path]]:
    """The folders of runs that each board names."""
    boards = settings.config.boards
    return [[settings.runs / name for name in board.runs or (board.id,)] for board in boards]


def _config_remarks(settings: Settings, there: Known, folders: list[list[Path]]) -> list[Finding]:
    remarks = Remarks(settings.path)
    config = settings.config
    if not settings.runs.is_dir():
        remarks.error("runs", settings.no_runs)
    if not settings.problems.is_dir():
        remarks.warn("problems", f"there is no folder {settings.problems}")
    if config.engine and config.engine not in ENGINES:
        remarks.error("engine", f"expected one of {', '.join(ENGINES)}, got {config.engine!r}")
    _out_remarks(remarks, settings)
    _allow_remarks(remarks, config.redact.allow)
    first: dict[str, int] = {}
    every = sorted(settings.runs.glob("*"))
    for number, (board, held) in enumerate(zip(config.boards, folders, strict=True)):
        key = f"boards[{number}]"
        if first.setdefault(board.id, number) != number:
            remarks.error(f"{key}.id", f"boards[{first[board.id]}] has the same id, {board.id!r}")
        _board_remarks(remarks, key, board)
        if settings.runs_at is None or settings.runs.is_dir():
            _folder_remarks(remarks, key, board, held)
        _deck_remarks(remarks, key, board, there, held)
        _hardware_remark(remarks, f"{key}.hardware", board.hardware, there, [*held, *every])
    _title_remarks(remarks, config.boards)
    return [*settings.unknown, *remarks.findings()]


def _out_remarks(remarks: Remarks, settings: Settings) -> None:
    out = settings.out.resolve()
    for source in (settings.runs, settings.problems, settings.path):
        if source.resolve().is_relative_to(out):
            remarks.error("out", f"the site would be written over {source}")
    if out.exists() and not out.is_dir():
        remarks.error("out", f"{out} is a file; expected a folder, or a place for one")
    for what, folder in settings.input_folders.items():
        if out.is_relative_to(folder.resolve()):
            remarks.error("out", f"within {folder}: the site would be taken for {what}")


def _allow_remarks(remarks: Remarks, allow: Sequence[Allowed]) -> None:
    """Say which entries of what is no secret let nothing pass, whatever was meant by them."""
    for number, one in enumerate(allow):
        key = f"redact.allow[{number}]"
        if not (one.text or one.rule or one.file):
            remarks.warn(key, "lets nothing pass; expected what it is about: text, rule or file")
        elif one.rule and one.rule not in KNOWN:
            near = nearest(one.rule, KNOWN)
            cure = f"did you mean {near}?" if near else "builds name the rule of all they cover"
            remarks.warn(f"{key}.rule", f"lets nothing pass: no rule is called so; {cure}")


def _title_remarks(remarks: Remarks, boards: Sequence[BoardConfig]) -> None:
    first: dict[str, int] = {}
    for number, board in enumerate(boards):
        other = first.setdefault(board.title.strip(), number)
        if boards[other].id != board.id:
            message = f"boards[{other}] is called so; explore/ shows their runs as one board's"
            remarks.warn(f"boards[{number}].title", message)


def _board_remarks(remarks: Remarks, key: str, board: BoardConfig) -> None:
    if not is_slug(board.id):
        remarks.error(f"{key}.id", f"{SLUG_RULE}, got {board.id!r}")
    elif is_reserved(board.id) or board.id == _PLANNED:
        remarks.error(f"{key}.id", f"/{board.id}/ is a page of the site itself; choose another id")
    if not board.title.strip():
        remarks.error(f"{key}.title", "empty; expected the board's name")
    _metric(remarks, f"{key}.metric", board)
    if not 0 <= board.audit_threshold <= (1 if board.in_shares else inf):
        most = "0 to 1, as scores are" if board.in_shares else "0 or more"
        message = f"expected {most}, got {board.audit_threshold}"
        remarks.error(f"{key}.audit_threshold", message)
    if board.budget_seconds is not None and board.budget_seconds <= 0:
        message = f"expected more than 0 or null, got {board.budget_seconds}"
        remarks.error(f"{key}.budget_seconds", message)
    if board.hardware is not None and not is_slug(board.hardware):
        remarks.error(f"{key}.hardware", f"{SLUG_RULE}, got {board.hardware!r}")


def _hardware_remark(
    remarks: Remarks, key: str, named: str | None, there: Known, folders: Iterable[Path]
) -> None:
    """Say where a board is of hardware that nothing else knows: it refuses runs that come."""
    if named is None or not is_slug(named) or named in (CPU, *there.hardware):
        return
    known = set(there.hardware)
    for name in _made_on(folders):
        if name == named:
            return
        known.add(name)
    if known:
        every = sorted({CPU, *known})
        near = nearest(named, every)
        cure = f"did you mean {near}?" if near else f"known are {', '.join(every)}"
        remarks.warn(key, f"no hardware, and no run's or floor's, is called {named!r}; {cure}")


def _metric(remarks: Remarks, key: str, board: BoardConfig) -> None:
    """Say where a metric is none, or only nearly the one that has a ceiling."""
    plain = re.sub(r"[\W_]+", "_", board.metric.strip().lower())
    if not plain.strip("_"):
        remarks.error(key, "empty; expected what the score is")
    elif plain == SHARE and not board.in_shares:
        remarks.error(key, f"did you mean {SHARE}? {board.metric!r} is held against no ceiling")


def _folder_remarks(remarks: Remarks, key: str, board: BoardConfig, held: list[Path]) -> None:
    for number, (name, folder) in enumerate(zip(board.runs, held, strict=False)):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            remarks.error(f"{key}.runs[{number}]", f"expected a folder within runs, got {name!r}")
        elif not folder.is_dir():
            remarks.error(f"{key}.runs[{number}]", f"there is no folder {folder}")
    if not board.runs and not held[0].is_dir():
        remarks.error(f"{key}.id", f"there is no folder {held[0]} for the board's runs")


def _deck_remarks(
    remarks: Remarks, key: str, board: BoardConfig, there: Known, held: list[Path]
) -> None:
    named = dict(_named(board, key))
    unmet = {problem for problem in named.values() if problem not in (there.problems or {})}
    if unmet:
        unmet -= _worked_on(held)
    seen: set[str] = set()
    for place, problem in named.items():
        if problem in seen:
            remarks.error(place, f"{problem!r} is there twice")
        seen.add(problem)
        if not is_slug(problem):
            remarks.error(place, f"{SLUG_RULE}, got {problem!r}")
        elif problem in unmet:
            remarks.warn(place, f"no problem, and no run's problem, is called {problem!r}")
    _group_remarks(remarks, key, board)


def _group_remarks(remarks: Remarks, key: str, board: BoardConfig) -> None:
    if board.deck and board.groups:
        remarks.error(f"{key}.deck", "beside groups, which are the deck; drop one of both")
    for number, group in enumerate(board.groups):
        place = f"{key}.groups[{number}]"
        if not group.title.strip():
            remarks.error(f"{place}.title", "empty; expected what its problems are called together")
        if not group.problems:
            remarks.error(f"{place}.problems", "empty; expected the ids of problems")


def _named(board: BoardConfig, key: str) -> Iterator[tuple[str, str]]:
    """Each problem that a board names, with the place where it does."""
    for number, problem in enumerate(board.deck):
        yield f"{key}.deck[{number}]", problem
    for at, group in enumerate(board.groups):
        for number, problem in enumerate(group.problems):
            yield f"{key}.groups[{at}].problems[{number}]", problem


def _worked_on(held: list[Path]) -> set[str]:
    """The problems that the runs in some folders name."""
    return {run.problem for run in _runs_of(held)}


def _made_on(held: Iterable[Path]) -> Iterator[str]:
    """The hardware that the runs and floors in some folders name."""
    for folder in held:
        yield from (run.hardware for run in _runs_of([folder]) if run.hardware)
        with suppress(InvalidFileError):  # told where floors are checked
            yield from (floor.hardware for floor in read_floors(folder) if floor.hardware)


def _runs_of(held: Iterable[Path]) -> Iterator[Run]:
    """The runs in some folders; none of one that cannot be read, which is told by itself."""
    for folder in chain.from_iterable(map(runs_in, held)):
        with suppress(InvalidFileError):
            yield json_record(folder / RUN, Run)
