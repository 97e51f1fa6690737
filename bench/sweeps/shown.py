"""A sweep as it stands, for whoever asks from another terminal."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from bench.grading.setting import Patience
from bench.sweeps.claims import claimed
from bench.sweeps.driver import WISH, Wish, slots_of, words
from bench.sweeps.ledger import Held, Ledger
from bench.sweeps.notes import notes
from bench.sweeps.plan import duration
from bench.sweeps.refusals import MOST_SHOWN
from bench.sweeps.room import short
from bench.sweeps.states import Kind, State
from bench.sweeps.tries import ERR, SILENT, Holder, alive, read_first
from kbsite.model.counts import number_of
from kbsite.model.finding import one_line

DRIVER = "driver"
"""Name under which the ledger holds the process that drives the sweep."""


def driver_of(ledger: Ledger) -> Holder | None:
    """The process that drives a sweep; None if none does on this host, as far as can be seen."""
    one = _noted(ledger)
    return one if one is not None and alive(one) else None


def _noted(ledger: Ledger) -> Holder | None:
    told = ledger.told(DRIVER)
    return None if told is None else Holder(**json.loads(told))


def note_driver(ledger: Ledger, one: Holder | None) -> None:
    """Tell others who drives a sweep; None for nobody."""
    ledger.tell(DRIVER, None if one is None else json.dumps(asdict(one)))


HEADINGS = ("contender", *(state.value for state in State))


def rows(ledger: Ledger) -> list[tuple[str, ...]]:
    """How many cells of each contender stand where; those that are asked for."""
    counts: dict[str, Counter[State]] = {}
    for one in ledger.cells():
        if one.wanted:
            counts.setdefault(one.cell.contender.label, Counter())[one.state] += 1
    return [(label, *(str(counts[label][state]) for state in State)) for label in sorted(counts)]


def lines(ledger: Ledger, now: float, board: Path, tries: Path | None = None) -> list[str]:
    """How far a sweep is, what is under way, what failed and why; `board` is its folder.

    `tries` is the folder of its tries: what grades under way told last is read there.
    """
    held = {one.cell.key: one for one in ledger.cells()}
    told = [f"{words(ledger.counts())}; {_driven(ledger)}", *filter(None, [short(board)])]
    driven = driver_of(ledger) is not None
    told += [one.words(now) if driven else one.left for one in notes(ledger)]
    told += list(_at_work(ledger, now, board, tries, driven=driven))
    wanted = [one for one in held.values() if one.wanted]
    told += list(_elsewhere(_in(wanted, State.WAITING) + _in(wanted, State.RAN), board))
    told += list(_put_off(wanted, now))
    told += [f"failed: {one.cell.label}: {one.detail}" for one in _in(wanted, State.FAILED)]
    gone = sum(1 for one in held.values() if not one.wanted)
    if gone:
        told.append(f"asked for before, and not any more: {number_of(gone, 'cell')}")
    return told


_JUST_NOW = 120.0
"""Seconds since which what a grade told last needs no time beside it."""
_MOST_ERR = 4096
_GRADE_SECONDS = Patience().whole

_DEAD = "; nothing works on it any more: `run` finds out what is left of it"


def _driven(ledger: Ledger) -> str:
    """Who drives a sweep, as far as this host can see."""
    who = driver_of(ledger)
    wish = ledger.told(WISH)
    if who is not None:
        asked = f", which was told to {Wish(wish).words}" if wish else ""
        return f"driven by process {who.pid} on {who.host}{asked}"
    noted = _noted(ledger)
    if noted is not None and noted.host != socket.gethostname():
        return f"driven from {noted.host}, where `status` tells whether it still is"
    return "nobody drives it; `run` goes on with it" if _open(ledger) else "nobody drives it"


def _open(ledger: Ledger) -> bool:
    counts = ledger.counts()
    return any(counts[state] for state in State if state not in (State.DONE, State.FAILED))


def _at_work(
    ledger: Ledger, now: float, board: Path, tries: Path | None, *, driven: bool
) -> Iterable[str]:
    """What is under way."""
    for one in ledger.open_tries():
        held = ledger.cell(one.cell)
        most = f" of {duration(_GRADE_SECONDS)} at most" if one.kind is Kind.GRADE else ""
        since = duration(max(0.0, now - one.begun))
        line = f"{held.state.value} for {since}{most}: {held.cell.label}"
        # A driver that is there finds out by itself, and an engine may not have started it yet.
        if not driven and not claimed(board, one.cell):
            yield f"{line}{_DEAD}"
        elif tries is not None:
            yield f"{line}{_sign_of_life(tries / one.id, one.kind, now)}"
        else:
            yield line


def _sign_of_life(folder: Path, kind: Kind, now: float) -> str:
    """What a grade told last, and when, unless that was just now; whether a try is being ended."""
    ended = "; told to end, as it gave no sign of life" if (folder / SILENT).exists() else ""
    if kind is Kind.AGENT:
        return ended  # supervisors tell nothing before its end
    path = folder / ERR
    try:
        status = path.lstat()
        said = read_first(path, _MOST_ERR, max(0, status.st_size - _MOST_ERR))
    except OSError:
        return ended
    last = one_line(said.decode("utf-8", "replace").strip().rpartition("\n")[2])[:MOST_SHOWN]
    silent = max(0.0, now - status.st_mtime)
    ago = f", {duration(silent)} ago" if silent >= _JUST_NOW else ""
    return f"; {last}{ago}{ended}" if last else f"{ago}{ended}"


def _elsewhere(wanted: Iterable[Held], board: Path) -> Iterable[str]:
    count = sum(claimed(board, one.cell.key) for one in wanted)
    if count:
        yield f"{count} waiting for another sweep, which works on them"


def _put_off(wanted: Iterable[Held], now: float) -> Iterable[str]:
    for one in wanted:
        if one.state in (State.WAITING, State.RAN) and one.due > now:
            tries = one.tally.spoilt + one.tally.lost
            wait = duration(one.due - now)
            yield f"again in {wait}, after {tries} failed: {one.cell.label}: {one.detail}"


def _in(wanted: Iterable[Held], state: State) -> list[Held]:
    return [one for one in wanted if one.state is state]


def as_data(ledger: Ledger) -> dict[str, object]:
    """The same for scripts: plain data."""
    who = driver_of(ledger)
    return {
        "counts": {state.value: count for state, count in ledger.counts().items()},
        "driver": asdict(who) if who else None,
        "down": [asdict(one) for one in notes(ledger)],
        "slots": _slots(ledger),
        "cells": [
            {
                "key": one.cell.key, "contender": one.cell.contender.label,
                "problem": one.cell.problem, "attempt": one.cell.attempt,
                "state": one.state.value, "wanted": one.wanted, "run": one.run,
                "spoilt": one.tally.spoilt, "lost": one.tally.lost, "detail": one.detail,
            }
            for one in ledger.cells()
        ],
    }  # fmt: skip


def _slots(ledger: Ledger) -> dict[str, dict[str, int]]:
    """Sessions that each provider is allowed now, and at most, as a driver noted it last."""
    named = sorted({one.cell.contender.provider for one in ledger.cells() if one.wanted})
    noted = {name: told for name in named if (told := ledger.told(slots_of(name))) is not None}
    return {
        name: dict(zip(("allowed", "most"), map(int, told.split(" of ")), strict=True))
        for name, told in noted.items()
    }
