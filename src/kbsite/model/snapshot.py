"""Snapshots: solution.py as it stood over time, as far as the transcript and the runner tell it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kbsite.model.trajectory import Point


class Recorded(Struct, frozen=True):
    """A copy of solution.py that was taken while the agent worked, or at the end."""

    name: str
    """The file of the run that holds it."""
    at: datetime | None
    """When it was taken; None where its name does not tell."""
    content: str


class Snapshot(Struct, frozen=True, kw_only=True):
    """solution.py as it stood after one change."""

    anchor: str
    """The step that changed it; empty where no step of the transcript tells of the change."""
    at: datetime | None
    elapsed: float | None
    """Seconds into the session."""
    content: str | None
    """Its text; None where that cannot be told, or where there was no file any more."""
    text: str
    """What changed it."""
    origin: str = ""
    """The file of the run that holds just this text; empty where the edits were replayed."""
    contradicts: bool = False
    """Whether the edits, replayed, give another text at this time than `origin` holds."""
    scores: tuple[Point, ...] = ()
    """What checks and benchmarks told of it."""
    changes: int = 1
    """How many changes in a row it stands for."""

    @property
    def exact(self) -> bool:
        """Whether the text was recorded; a guess otherwise, replayed from what calls asked for."""
        return bool(self.origin)


class Snapshots(Struct, frozen=True):
    """All snapshots of a run, in order."""

    held: tuple[Snapshot, ...]
    places: tuple[int, ...]
    """For each state of the trajectory, the place in `held` of the snapshot that shows it."""
    left_out: tuple[str, ...] = ()
    """Files of the run that were not read, and why."""

    @property
    def contradictions(self) -> int:
        """Number of snapshots that the replayed edits contradict."""
        return sum(snapshot.contradicts for snapshot in self.held)
