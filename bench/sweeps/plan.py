"""What a sweep will take, before it runs: what is there, what is missing, time and money."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.sweeps.cells import Cell, cells
from bench.sweeps.sheet import Contender
from bench.sweeps.shelf import OnShelf, Shelf, match
from bench.sweeps.works import Work
from kbsite.model.counts import number_of
from kbsite.model.price import PriceTable, cost
from kbsite.model.run import Run
from kbsite.store.parsing import InvalidFileError
from kbsite.store.records import json_record
from kbsite.store.run_folders import MANIFEST, RUN, run_folders

UNKNOWN = "unknown"

_HOUR, _MINUTE = 3600, 60


@dataclass(frozen=True, kw_only=True)
class Due:
    """What one contender still has to do."""

    contender: Contender
    cells: int
    there: int
    """Cells whose run lies on disk."""
    graded: int
    """Of them, those that are graded."""
    usual_seconds: float | None
    """Median of its earlier runs; None where there are none that tell."""
    usual_usd: float | None
    """The same of what they cost."""
    known: int
    """How many earlier runs tell what they cost."""

    @property
    def missing(self) -> int:
        """Sessions to come."""
        return self.cells - self.there

    @property
    def usd(self) -> float | None:
        """What the sessions to come will cost; None where nobody knows."""
        if not self.missing:
            return 0.0
        return None if self.usual_usd is None else self.usual_usd * self.missing


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A sweep before it runs."""

    due: tuple[Due, ...]
    surplus: int
    """Runs on disk beyond the attempts that are asked for."""
    unread: Mapping[str, str]
    """Runs that cannot be read, and why."""
    parallel: int
    """Sessions at once, at most, as far as the sweep itself says."""
    most_seconds: float
    """If each session takes all of its budget; without grades and further tries."""
    usual_seconds: float | None
    """If each takes as long as usual; None where a contender has no earlier run."""

    @property
    def missing(self) -> int:
        """Sessions to come."""
        return sum(one.missing for one in self.due)

    @property
    def usd(self) -> float | None:
        """What all will cost; None where nobody knows it of some contender."""
        costs = [one.usd for one in self.due]
        known = [each for each in costs if each is not None]
        return sum(known) if len(known) == len(costs) else None


def plan(work: Work, table: PriceTable) -> Plan:
    """What a sweep will take; nothing is started or written."""
    wanted = cells(work.sweep, work.hashes())
    shelf = Shelf(work.board)
    matched = match(work.sweep, wanted, shelf.look())
    earlier = list(_runs(work.places.runs))
    due = tuple(
        _due(who, wanted, matched.runs, [one for one in earlier if one.contender == who.row], table)
        for who in work.sweep.contenders
    )
    slots = {one.contender.provider: work.slots(one.contender.provider) for one in due}
    most = min(filter(None, (sum(slots.values()), work.sweep.max_parallel, _on_gpus(work))))
    budget = work.sweep.budget_seconds
    return Plan(
        due=due, surplus=len(matched.surplus), unread=dict(shelf.unread), parallel=most,
        most_seconds=_seconds(due, slots, most, lambda _: budget) or 0.0,
        usual_seconds=_seconds(due, slots, most, lambda one: one.usual_seconds),
    )  # fmt: skip


def _on_gpus(work: Work) -> int | None:
    """Sessions that the GPUs that the sweep names take at once; None where it names none."""
    named = work.sweep.executor.gpus
    return len(named) * work.sweep.executor.agents_per_gpu if named and work.gpus else None


def _due(
    who: Contender, wanted: Sequence[Cell], there: Mapping[str, OnShelf], earlier: Sequence[Run],
    table: PriceTable,
) -> Due:  # fmt: skip
    own = [cell.key for cell in wanted if cell.contender == who]
    found = [there[key] for key in own if key in there]
    costs = [each for run in earlier if (each := cost(run, table).usd) is not None]
    return Due(
        contender=who, cells=len(own), there=len(found),
        graded=sum(1 for one in found if one.graded),
        usual_seconds=_middle(run.elapsed_seconds for run in earlier),
        usual_usd=_middle(costs), known=len(costs),
    )  # fmt: skip


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _runs(runs: Path) -> Iterable[Run]:
    """All complete runs of contenders on any board; those that cannot be read are left out."""
    for folder in run_folders(runs):
        try:
            if not (folder / MANIFEST).is_file():
                continue
            run = json_record(folder / RUN, Run)
        except (InvalidFileError, OSError):
            continue
        if not run.is_floor:
            yield run


def _seconds(
    due: Sequence[Due], slots: Mapping[str, int], most: int, each: Callable[[Due], float | None]
) -> float | None:
    """How long the missing sessions take: as the busiest provider, and all together, let them."""
    open_due = [one for one in due if one.missing]
    took = [each(one) for one in open_due]
    known = [seconds for seconds in took if seconds is not None]
    if len(known) < len(took):
        return None
    by_provider = dict.fromkeys(slots, 0.0)
    for one, seconds in zip(open_due, known, strict=True):
        by_provider[one.contender.provider] += seconds * one.missing
    whole = sum(by_provider.values()) / most
    busiest = max((by_provider[name] / slots[name] for name in slots), default=0.0)
    # No session is cut in two: the last ones take their whole time.
    return max(whole, busiest, max(known, default=0.0))


HEADINGS = ("contender", "provider", "cells", "there", "graded", "missing", "cost")


def rows(made: Plan) -> list[tuple[str, ...]]:
    """A plan's table: what each contender has and needs."""
    return [
        (
            one.contender.label, one.contender.provider, str(one.cells), str(one.there),
            str(one.graded), str(one.missing), f"{_money(one.usd)}{_by(one)}",
        )
        for one in made.due
    ]  # fmt: skip


def lines(made: Plan) -> list[str]:
    """What all of a plan takes, as a person reads it."""
    sessions = number_of(made.missing, "session")
    told = [
        f"{sessions}, {made.parallel} at once at most: {duration(made.most_seconds)} "
        f"at most{_usual(made)}; grades and further tries come on top",
        f"cost in all: {_money(made.usd)}{_known_part(made)}",
    ]
    if made.surplus:
        runs = number_of(made.surplus, "run")
        told.append(f"there beyond the attempts that are asked for: {runs}")
    told += [f"not counted: {why}" for why in made.unread.values()]
    return told


def _usual(made: Plan) -> str:
    return "" if made.usual_seconds is None else f", {duration(made.usual_seconds)} as usual"


def _by(one: Due) -> str:
    if not one.missing or one.usual_usd is None:
        return ""
    return f" (median ${one.usual_usd:.2f} of {number_of(one.known, 'earlier run')})"


def _known_part(made: Plan) -> str:
    known = [one.usd for one in made.due if one.usd is not None]
    some = made.usd is None and any(known)
    return f"; at least ${sum(known):.2f} for the contenders with earlier runs" if some else ""


def _money(usd: float | None) -> str:
    return UNKNOWN if usd is None else f"${usd:.2f}"


def duration(seconds: float) -> str:
    """Such as "2 h 05 min"."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    hours, rest = divmod(round(seconds), _HOUR)
    minutes = f"{rest // _MINUTE:02d} min" if hours else f"{rest // _MINUTE} min"
    return f"{hours} h {minutes}" if hours else minutes


def as_data(made: Plan) -> dict[str, object]:
    """A plan for scripts: plain data; null for what nobody knows."""
    return {
        "missing": made.missing, "surplus": made.surplus, "parallel": made.parallel,
        "most_seconds": made.most_seconds, "usual_seconds": made.usual_seconds, "usd": made.usd,
        "contenders": [
            {
                "contender": one.contender.label, "provider": one.contender.provider,
                "cells": one.cells, "there": one.there, "graded": one.graded,
                "missing": one.missing, "usual_seconds": one.usual_seconds,
                "usual_usd": one.usual_usd, "usd": one.usd,
            }
            for one in made.due
        ],
    }  # fmt: skip
