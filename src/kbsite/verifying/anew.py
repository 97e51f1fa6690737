"""A site made anew of what it publishes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kbsite.boards import board
from kbsite.check.known import Known
from kbsite.lookout import Lookout
from kbsite.lookout.noticed import Sighting
from kbsite.model.board import Board
from kbsite.model.published import Published, PublishedBoard
from kbsite.model.run import Run
from kbsite.pages.page import Site, attempt_of
from kbsite.reading import evidence, graded_floors
from kbsite.store.problems import PROBLEM, StoredProblem
from kbsite.store.runs import StoredRun
from kbsite.store.writing import json_text, write_text
from kbsite.verifying.mirror import SAFE


def site_anew(held: Published, runs: Mapping[str, StoredRun]) -> Site:
    """The site that follows from its runs, by id, and from what it says of everything else.

    Alarms are raised and quotes held against files anew; scores, verdicts, ranks and cells come
    from the runs alone.
    """
    problems = {
        one.id: StoredProblem(
            id=one.id, problem=one.problem, hash=one.hash, prompt=one.prompt,
            reference=one.reference,
        )
        for one in held.problems
    }  # fmt: skip
    site = Site(
        held.config, _of(held.runs, runs), problems, (), held.findings, held.prices,
        hardware=held.hardware, floor_runs=_of(held.floor_runs, runs),
    )  # fmt: skip
    on_none = others(held, site.runs)
    plain = _boards(site, held, on_none, Sighting())
    seen = Lookout().look([evidence(replace(site, boards=plain), one) for one in site.runs])
    boards = _boards(site, held, on_none, seen)
    return replace(site, boards=boards, alarms=seen.alarms, proofs=seen.proofs)


def _of(ids: Iterable[str], runs: Mapping[str, StoredRun]) -> tuple[StoredRun, ...]:
    return tuple(runs[run_id] for run_id in ids if run_id in runs)


def _boards(
    site: Site, held: Published, on_none: Sequence[StoredRun], seen: Sighting
) -> tuple[Board, ...]:
    """The boards; those that nobody declared have the runs alone that stand on no declared one."""
    hashes = {stored.id: stored.hash for stored in site.problems.values()}
    graded = graded_floors(site.floor_runs)
    declared = {one.id for one in held.config.boards}
    made = []
    for one in held.boards:
        mine = [
            attempt_of(stored, seen.alarms.get(stored.run.id, ()))
            for stored in (site.runs if one.config.id in declared else on_none)
            if _on(one, stored.run, held.boards)
        ]
        made.append(board(one.config, mine, [*one.told_floors, *graded], hashes))
    return tuple(made)


def others(held: Published, runs: Iterable[StoredRun]) -> list[StoredRun]:
    """The runs that stand on no board that kbsite.yaml declares."""
    declared = {one.id for one in held.config.boards}
    taken = [one for one in held.boards if one.config.id in declared]
    return [
        stored for stored in runs if not any(_on(one, stored.run, held.boards) for one in taken)
    ]


def _on(one: PublishedBoard, run: Run, every: Sequence[PublishedBoard]) -> bool:
    """Whether a run stands on a board, by its own account; by that of the site, where that is all.

    A run tells the last folder that it lies in, and boards may name others of the same name.
    """
    if not one.config.runs:
        return run.board == one.config.id
    own = _folders(one, run)
    elsewhere = any(run.id in other.runs and _folders(other, run) - own for other in every)
    return run.id in one.runs or (bool(own) and not elsewhere)


def _folders(one: PublishedBoard, run: Run) -> set[str]:
    """The folders of a board that a run may lie in."""
    return {folder for folder in one.config.runs if folder.rpartition("/")[2] == run.board}


def known_of(held: Published, problems: Path) -> Known:
    """What checks of runs have to know; the problems are written below a folder for them."""
    for one in held.problems:
        if SAFE.fullmatch(one.id):
            write_text(problems / one.id / PROBLEM, json_text(one.problem))
    leaks = frozenset(leak.id for leak in held.config.leaks)
    hashes = {one.id: one.hash for one in held.problems}
    return Known(hashes, leaks, held.hardware, problems, held.prices, held.config.own_metrics)
