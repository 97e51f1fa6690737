"""What the pages of one run show of a site, for somebody who is not sent the whole of it.

All that a run's page depends on is named where it says so (`pages.run`): this is the same, in the
shape of a site that holds this one run and knows little of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct, structs

from kbsite.model.alarm import Alarm
from kbsite.model.board import Attempt
from kbsite.model.proof import Proof
from kbsite.pages.grade import floors_of
from kbsite.pages.neighbours import Neighbours
from kbsite.pages.page import Site
from kbsite.store.runs import StoredRun


class Excerpt(Struct, frozen=True):
    """A run, and what its pages show of others."""

    stored: StoredRun
    board: str | None
    """The id of the board that shows it."""
    beside: Neighbours | None
    refusal: str | None
    place: tuple[int, int]
    near: Sequence[str]
    rivals: Sequence[Attempt]
    """The best two of its problem; empty where there are no others."""
    alarms: tuple[Alarm, ...]
    proofs: tuple[Proof, ...]
    known: frozenset[str | None]
    """Those runs that it names and that have a page."""


def excerpt(site: Site, stored: StoredRun) -> Excerpt:
    """What the pages of a run show of a site."""
    run_id = stored.run.id
    board, alarms = site.board_of.get(run_id), site.alarms.get(run_id, ())
    named = [run_id, *(alarm.other for alarm in alarms)]
    named += [floor.run for floor in floors_of(site, stored) if floor.run]
    return Excerpt(
        stored=stored,
        board=board.config.id if board else None,
        beside=site.neighbours.get(run_id),
        refusal=site.refusals.get(run_id),
        place=site.places[run_id],
        near=site.near[run_id],
        rivals=site.rivals.get(run_id, ())[:2],
        alarms=alarms,
        proofs=site.proofs.get(run_id, ()),
        known=frozenset(one for one in named if one in site.known),
    )


def bare(site: Site) -> Site:
    """What the pages of all runs show of a site: no run is in it."""
    boards = tuple(structs.replace(board, rows=(), columns=(), refused=()) for board in site.boards)
    return Site(
        site.config, (), site.problems, boards, (), site.prices,
        hardware=site.hardware, extras=site.extras,
    )  # fmt: skip


def site_with(held: Site, told: Excerpt) -> Site:
    """A bare site with one run, which the pages of the run cannot tell from the whole one."""
    run_id = told.stored.run.id
    board = next((one for one in held.boards if one.config.id == told.board), None)
    site = replace(
        held, runs=(told.stored,), alarms={run_id: told.alarms}, proofs={run_id: told.proofs}
    )
    # What a site finds out from all of its runs when it is asked the first time: here it is told.
    vars(site).update(
        board_of={run_id: board} if board else {},
        neighbours={run_id: told.beside} if told.beside else {},
        refusals={} if told.refusal is None else {run_id: told.refusal},
        places={run_id: told.place},
        near={run_id: told.near},
        rivals={run_id: told.rivals} if told.rivals else {},
        known=told.known,
    )
    return site
