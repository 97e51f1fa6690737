"""Snapshots of a run: the replayed states of solution.py, held against the copies of it.

A replayed state is a guess: a call may do less than it says, and a command more than can be told.
A copy is exact. Where both say the same, the state is exact too; where they differ, both stand
there, and the copy says that it contradicts the replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from kbsite.model.snapshot import Recorded, Snapshot, Snapshots
from kbsite.model.trajectory import Point, PointKind, Trajectory

MOST = 1000
"""Snapshots that are kept; of more, the scored ones first, then evenly spread ones."""

LATE_SECONDS = 5
"""A copy that is taken this long after a call was over holds nothing new of it, where another call
was under way: whoever takes copies looks every second or so."""

SCORES = 4
"""Checks and benchmarks that are kept of one snapshot: the last ones."""


class _Place(Struct):
    """A snapshot while copies are held against it."""

    snapshot: Snapshot
    replayed: str | None
    """The text that the edits, replayed, give at this time; None where they give none."""
    state: int | None = None
    """Which state of the trajectory it is; None for a copy that is none of them."""
    begun: datetime | None = None
    """When the call that it came of began."""

    def under_way(self, at: datetime | None) -> bool:
        """Whether its call was under way at some time, and nothing but a copy can tell its text."""
        end = self.snapshot.at
        if self.replayed is not None or self.begun is None or at is None or end is None:
            return False
        return self.begun <= at < end


def snapshots(
    told: Trajectory | None,
    copies: Sequence[Recorded],
    final: Recorded | None,
    start: datetime | None,
) -> Snapshots:
    """The snapshots of a run; `start` is the moment from which its seconds count.

    Without a transcript nothing is told, and the copies are all there is.
    """
    states = _replayed(told) if told else ()
    places = [
        _Place(shown, shown.content, number, state.begun)
        for number, (shown, state) in enumerate(
            zip(states, told.states if told else (), strict=True)
        )
    ]
    last = -1
    for copy in copies:
        last = _hold_against(places, copy, last, start)
    if final is not None and places:
        _end_with(places, final, told.end if told else None)
    return _kept(places, len(told.states) if told else 0)


def _replayed(told: Trajectory) -> Iterator[Snapshot]:
    scores: dict[int, list[Point]] = {}
    for point in told.points:
        if point.state is not None and point.kind in (PointKind.CHECK, PointKind.BENCHMARK):
            scores.setdefault(point.state, []).append(point)
    for number, state in enumerate(told.states):
        yield Snapshot(
            anchor=state.anchor,
            at=state.at,
            elapsed=state.elapsed,
            content=state.content,
            text=state.text,
            scores=tuple(scores.get(number, [])[-SCORES:]),
        )


def _hold_against(places: list[_Place], copy: Recorded, last: int, start: datetime | None) -> int:
    """Take up a copy behind the place `last` of the one before; the place where it stands."""
    behind = range(last + 1, len(places))
    same = [n for n in behind if _says(places[n].snapshot, copy)]
    if same:
        found = _latest(places, same, copy, otherwise=same[0])
        places[found].snapshot = replace(places[found].snapshot, origin=copy.name)
        return found
    if last >= 0 and places[last].snapshot.content == copy.content:
        return last
    found = _latest(places, behind, copy, otherwise=last)
    number = _came_of(places, last, found, copy)
    if number is not None:
        return _taken_up(places, number, copy)
    elapsed = (copy.at - start).total_seconds() if copy.at and start else None
    places.insert(found + 1, _beside(places[: found + 1], copy, elapsed))
    return found + 1


def _came_of(places: Sequence[_Place], last: int, found: int, copy: Recorded) -> int | None:
    """The place of the call that made what a copy holds, of which nothing else tells the text.

    `found` is the last place that is not after the copy. None where no such call is known.
    """
    awaited = found if found > last and places[found].snapshot.content is None else None
    if awaited is not None and _just_over(places[found].snapshot, copy):
        return awaited
    running = [n for n in range(max(found, 0), len(places)) if places[n].under_way(copy.at)]
    return running[-1] if running else awaited


def _just_over(snapshot: Snapshot, copy: Recorded) -> bool:
    if snapshot.at is None or copy.at is None:
        return False
    return (copy.at - snapshot.at).total_seconds() < LATE_SECONDS


def _taken_up(places: list[_Place], number: int, copy: Recorded) -> int:
    """Take a copy for what a call under way had made; the place where it stands.

    A call may change the file again and again: then each copy stands there, the last one for it.
    """
    place = places[number]
    taken = replace(place.snapshot, content=copy.content, origin=copy.name)
    if not place.snapshot.exact:
        place.snapshot = taken
        return number
    places.insert(number + 1, _Place(taken, None, place.state, place.begun))
    place.snapshot, place.state = replace(place.snapshot, scores=()), None
    return number + 1


def _latest(
    places: Sequence[_Place], numbers: Iterable[int], copy: Recorded, *, otherwise: int
) -> int:
    """The last of some places that is not after a copy; `otherwise` where all are."""
    before = (number for number in numbers if _not_after(places[number].snapshot, copy))
    return max(before, default=otherwise)


def _says(snapshot: Snapshot, copy: Recorded) -> bool:
    return snapshot.content == copy.content and not snapshot.exact


def _not_after(snapshot: Snapshot, copy: Recorded) -> bool:
    return snapshot.at is not None and copy.at is not None and snapshot.at <= copy.at


def _beside(places: Sequence[_Place], copy: Recorded, elapsed: float | None) -> _Place:
    """A copy that is none of the states, behind the places before it."""
    replayed = places[-1].replayed if places else None
    snapshot = Snapshot(
        anchor="",
        at=copy.at,
        elapsed=elapsed,
        content=copy.content,
        text="no step tells of this change",
        origin=copy.name,
        contradicts=replayed is not None and replayed != copy.content,
    )
    return _Place(snapshot, replayed)


def _end_with(places: list[_Place], final: Recorded, end: float | None) -> None:
    """Hold what was graded against the last snapshot."""
    last = places[-1].snapshot
    if last.content == final.content or (last.content is None and not last.exact):
        origin = last.origin or final.name
        places[-1].snapshot = replace(last, content=final.content, origin=origin)
    else:
        places.append(_beside(places, final, end))


def _kept(places: Sequence[_Place], states: int) -> Snapshots:
    held: list[Snapshot] = []
    shows = [0] * states
    dropped: list[_Place] = []
    kept = _chosen(places)
    for number, place in enumerate(places):
        dropped.append(place)
        if number not in kept:
            continue
        for one in dropped:
            if one.state is not None:
                shows[one.state] = len(held)
        held.append(_summed([one.snapshot for one in dropped]))
        dropped = []
    return Snapshots(tuple(held), tuple(shows))


def _chosen(places: Sequence[_Place]) -> set[int]:
    """Which places are kept; the last one always is."""
    every = range(len(places))
    if len(places) <= MOST:
        return set(every)
    marked = [n for n in every if places[n].snapshot.scores or places[n].snapshot.contradicts]
    chosen = set(_spread(marked, MOST // 2))
    rest = [number for number in every if number not in chosen]
    return chosen | set(_spread(rest, MOST - len(chosen)))


def _spread(numbers: Sequence[int], most: int) -> Iterable[int]:
    """At most `most` of some numbers, evenly spread, with the first and the last of them."""
    if len(numbers) <= most:
        return numbers
    return [numbers[n * (len(numbers) - 1) // (most - 1)] for n in range(most)]


def _summed(several: Sequence[Snapshot]) -> Snapshot:
    """Changes in a row, as one."""
    last = several[-1]
    if len(several) == 1:
        return last
    scores = [score for snapshot in several for score in snapshot.scores]
    contradicts = any(snapshot.contradicts for snapshot in several)
    text = f"{len(several)} changes, the last one: {last.text}"
    return replace(
        last, text=text, scores=tuple(scores[-SCORES:]), contradicts=contradicts,
        changes=len(several),
    )  # fmt: skip
